// Expressions of C as trees, by precedence climbing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/c/c_tokens.h"

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
class Cursor {
 public:
  explicit Cursor(const std::vector<Token>& tokens, std::size_t at = 0) : tokens_(&tokens), at_(at) {}
  const Token& peek(std::size_t ahead = 0) const;
  Token next();
  bool is(std::string_view text, std::size_t ahead = 0) const;
  bool accept(std::string_view text);
  void expect(std::string_view text);
  std::string expect_name(const std::string& what);
  [[noreturn]] void fail_expected(const std::string& what) const;
  std::size_t position() const { return at_; }
  void rewind(std::size_t at) { at_ = at; }

 private:
  const std::vector<Token>* tokens_;
  std::size_t at_;
};

TreePtr parse_expression(Cursor& cursor);    // no comma, no assignment
bool is_type_word(const std::string& text);  // int, double, const, int32_t, DATA_TYPE, ...

}  // namespace polyte::frontend::c
