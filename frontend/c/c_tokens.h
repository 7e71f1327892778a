// A C file as tokens: comments dropped, lines joined at a backslash, #define lines kept as macros,
// `#pragma scop` and `#pragma endscop` as tokens of their own. Other directives are tokens too, so
// that those inside a scop can be refused.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace polyte::frontend::c {

enum class TokenKind { Name, Number, Text, Sign, Scop, EndScop, Directive, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;
  int line = 0, column = 0;
};

// At a place of the file; collected, so that all are reported at once.
struct Fault {
  int line = 0, column = 0;
  std::string message;
};
[[noreturn]] void fail(const Token& at, const std::string& message);  // throws a Fault

struct Macro {
  bool is_function = false;
  std::vector<std::string> parameters;
  std::vector<Token> body;
  bool ambiguous = false;  // defined twice, not alike
};

struct TokenFile {
  std::vector<Token> tokens;  // ends in an End token
  std::map<std::string, Macro> macros;
};
TokenFile split_tokens(std::string_view text, std::vector<Fault>& faults);

// With the file's macros replaced, in which `#` and `##` are not known. What comes of a macro has
// the place of its use.
std::vector<Token> expand(const std::vector<Token>& tokens,
                          const std::map<std::string, Macro>& macros, std::vector<Fault>& faults);

}  // namespace polyte::frontend::c
