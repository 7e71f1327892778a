// Copies, moves and the end of a large value type, compiled in one file. A type of many strings and
// vectors has kilobytes of them, and every file that returns one would compile them again: for the
// types that most files pass about, a third of what the sources compile to.
//
//   struct State {                          // state.h
//     POLYTE_OUT_OF_LINE(State);
//     std::vector<Rewrite> rewrites;
//   };
//   POLYTE_OUT_OF_LINE_DEFAULTS(State)      // state.cc
#pragma once

// NOLINTBEGIN(bugprone-macro-parentheses): the name of a type
#define POLYTE_OUT_OF_LINE(Type)    \
  Type();                           \
  Type(const Type&);                \
  Type(Type&&) noexcept;            \
  Type& operator=(const Type&);     \
  Type& operator=(Type&&) noexcept; \
  ~Type()

#define POLYTE_OUT_OF_LINE_DEFAULTS(Type)           \
  Type::Type() = default;                           \
  Type::Type(const Type&) = default;                \
  Type::Type(Type&&) noexcept = default;            \
  Type& Type::operator=(const Type&) = default;     \
  Type& Type::operator=(Type&&) noexcept = default; \
  Type::~Type() = default;
// NOLINTEND(bugprone-macro-parentheses)
