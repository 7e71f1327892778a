// Program text as lines of tokens: comments dropped, `;` splits a line, and a line continues the
// one before while a bracket is open or where it starts with `for`, `if`, `when` or an infix sign.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/tokens.h"

namespace polyte::ir::text {

enum class TokenKind { Name, Integer, Real, Sign, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;
  int line = 0;
};

struct Line {
  int number = 0;
  int indent = 0;
  std::vector<Token> tokens;  // ends in an End token
};

// A fault at a line; collected, so that all are reported at once.
struct Fault {
  int line = 0;
  std::string message;
};

std::vector<Line> split_lines(std::string_view text, std::vector<Fault>& faults);

// One line's tokens, read from left to right. expect() and fail() throw a Fault.
class Cursor : public TokenCursor<Token> {
 public:
  explicit Cursor(const Line& line) : TokenCursor(line.tokens) {}
  void expect(std::string_view text);
  std::string expect_name(const std::string& what);  // "a buffer"
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void fail_expected(const std::string& what) const;  // "expected what, got ..."
  int line() const { return peek().line; }
};

bool is_name(std::string_view text);      // letters, digits, _ and inner dots; not reserved
bool is_reserved(std::string_view name);  // for, if, when, in, else, and, or, true, ...

}  // namespace polyte::ir::text
