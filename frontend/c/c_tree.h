// Expressions of C as trees, by precedence climbing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/c/c_tokens.h"
#include "support/tokens.h"

namespace polyte::frontend::c {

enum class TreeKind { Number, Name, Element, Call, Cast, Unary, Binary, Choice };

struct Tree;
using TreePtr = std::shared_ptr<const Tree>;
struct Tree {
  TreeKind kind;
  Token at;                    // number, name or sign; of a cast its first word
  std::vector<TreePtr> parts;  // operands, subscripts, arguments
  std::vector<Token> type;     // of a cast
};

// A position among tokens. expect() and what reads throw a Fault.
class Cursor : public TokenCursor<Token> {
 public:
  using TokenCursor::TokenCursor;
  void expect(std::string_view text);
  std::string expect_name(const std::string& what);
  [[noreturn]] void fail_expected(const std::string& what) const;
};

TreePtr parse_expression(Cursor& cursor);    // no comma, no assignment
bool is_type_word(const std::string& text);  // int, double, const, int32_t, DATA_TYPE, ...

}  // namespace polyte::frontend::c
