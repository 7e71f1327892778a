#include "frontend/c/c_tokens.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "support/tokens.h"

namespace polyte::frontend::c {
namespace {

class Scanner {
 public:
  Scanner(std::string_view text, std::vector<Fault>& faults) : text_(text), faults_(faults) {}

  TokenFile run() {
    while (skip_space()) {
      if (look() == '#' && fresh_line_) {
        scan_directive();
      } else {
        file_.tokens.push_back(scan_token());
        fresh_line_ = false;
      }
    }
    file_.tokens.push_back({TokenKind::End, "", line_, column_});
    return std::move(file_);
  }

 private:
  std::string_view text_;
  std::vector<Fault>& faults_;
  TokenFile file_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
  bool fresh_line_ = true;

  char look(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  // Lines and columns count from 1; a column is a byte.
  void advance(std::size_t count = 1) {
    for (; count > 0 && at_ < text_.size(); --count, ++at_) {
      ++column_;
      if (text_[at_] != '\n') continue;
      ++line_;
      column_ = 1;
    }
  }

  // To the next character that is neither space nor comment; within a line where `in_line`. False
  // at the end.
  bool skip_space(bool in_line = false) {
    while (at_ < text_.size()) {
      if (look() == '\\' && (look(1) == '\n' || (look(1) == '\r' && look(2) == '\n'))) {
        advance(look(1) == '\n' ? 2 : 3);
      } else if (look() == '\n') {
        if (in_line) return false;
        advance();
        fresh_line_ = true;
      } else if (std::isspace(static_cast<unsigned char>(look())) != 0) {
        advance();
      } else if (look() == '/' && look(1) == '/') {
        while (at_ < text_.size() && look() != '\n') advance();
      } else if (look() == '/' && look(1) == '*') {
        skip_comment();
      } else {
        return true;
      }
    }
    return false;
  }

  void skip_comment() {
    const int line = line_, column = column_;
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos)
      faults_.push_back({line, column, "the comment is not closed"});
    advance(end == std::string_view::npos ? text_.size() : end + 2 - at_);
  }

  Token scan_token() {
    Token token{TokenKind::Sign, "", line_, column_};
    const std::size_t begin = at_;
    if (is_name_start(look())) {
      token.kind = TokenKind::Name;
      while (is_name_char(look())) advance();
    } else if (is_digit(look()) || (look() == '.' && is_digit(look(1)))) {
      // A preprocessing number (C11, 6.4.8): more than the numbers that there are, `0x1p3` or
      // `1.5f`; what it means is decided where it is used.
      token.kind = TokenKind::Number;
      while (is_name_char(look()) || look() == '.' || is_exponent_sign()) advance();
    } else if (look() == '"' || look() == '\'') {
      token.kind = TokenKind::Text;
      skip_quoted(look());
    } else {
      advance(sign_length());
    }
    token.text = std::string(text_.substr(begin, at_ - begin));
    return token;
  }

  // The sign in 1e-3 belongs to the number.
  bool is_exponent_sign() const {
    return (look() == '+' || look() == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
  }

  void skip_quoted(char quote) {
    const int line = line_, column = column_;
    // An escaped quote does not end the text.
    for (advance(); at_ < text_.size() && look() != quote && look() != '\n'; advance())
      if (look() == '\\') advance();
    if (look() != quote) faults_.push_back({line, column, "the quotation is not closed"});
    if (look() == quote) advance();
  }

  std::size_t sign_length() const {
    // The longest first: `<<=` begins with `<<`.
    constexpr std::array<std::string_view, 22> kSigns{
        "<<=", ">>=", "...", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
        "++",  "--",  "->",  "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    for (const std::string_view sign : kSigns)
      if (text_.substr(at_, sign.size()) == sign) return sign.size();
    return 1;
  }

  void scan_directive() {
    // A directive is a whole line, joined at backslashes; its `#` has to be the first thing on
    // it.
    Token directive{TokenKind::Directive, "#", line_, column_};
    advance();
    std::vector<Token> line;
    while (skip_space(true)) {
      // C11, 6.10.3: `#define F(x)` has parameters, `#define F (x)` a body that begins with a
      // bracket. Spaces are gone from the tokens, so the bracket is marked.
      const bool close =
          look() == '(' && line.size() == 2 && text_[at_ - 1] != ' ' && text_[at_ - 1] != '\t';
      line.push_back(scan_token());
      if (close) line.back().text = "(args";  // no space before it: a macro with parameters
    }
    const auto is = [&](std::size_t i, std::string_view text) {
      return i < line.size() && line[i].text == text;
    };
    // Other directives go on as one token with their text. #include and #if before the scop are
    // then passed over like any other token, those inside are refused.
    if (is(0, "define") && line.size() > 1) return define(line);
    if (is(0, "pragma") && is(1, "scop")) directive.kind = TokenKind::Scop;
    if (is(0, "pragma") && is(1, "endscop")) directive.kind = TokenKind::EndScop;
    for (const Token& token : line)
      directive.text += (directive.text == "#" ? "" : " ") + token.text;
    file_.tokens.push_back(std::move(directive));
  }

  // `line` is `define NAME ..`. The file is read without its conditions, so both branches of an
  // #if may define a name: alike does no harm, else the macro is refused where it is used.
  void define(const std::vector<Token>& line) {
    Macro macro;
    std::size_t at = 2;
    if (at < line.size() && line[at].text == "(args") {
      macro.is_function = true;
      for (++at; at < line.size() && line[at].text != ")"; ++at)
        if (line[at].text != ",") macro.parameters.push_back(line[at].text);
      ++at;
    }
    for (; at < line.size(); ++at) macro.body.push_back(line[at]);
    const auto same = [](const Macro& a, const Macro& b) {
      return a.parameters == b.parameters &&
             std::ranges::equal(a.body, b.body,
                                [](const Token& s, const Token& t) { return s.text == t.text; });
    };
    const auto [entry, fresh] = file_.macros.try_emplace(line[1].text, macro);
    if (!fresh && !same(entry->second, macro)) entry->second.ambiguous = true;
  }
};

}  // namespace

void fail(const Token& at, const std::string& message) { throw Fault{at.line, at.column, message}; }

TokenFile split_tokens(std::string_view text, std::vector<Fault>& faults) {
  return Scanner(text, faults).run();
}

}  // namespace polyte::frontend::c
