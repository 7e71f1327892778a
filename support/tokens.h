// What readers of text have in common: which characters names are made of, and a position among
// tokens. A Token has a `text` and a `kind`, of which Name, Sign and End are some; the tokens end
// in an End.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace polyte {

inline bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
inline bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
inline bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

template <class Token>
class TokenCursor {
 public:
  explicit TokenCursor(const std::vector<Token>& tokens, std::size_t at = 0)
      : tokens_(&tokens), at_(at) {}

  const Token& peek(std::size_t ahead = 0) const {
    return (*tokens_)[std::min(at_ + ahead, tokens_->size() - 1)];
  }
  bool at_end() const { return peek().kind == Kind::End; }
  Token next() {
    Token token = peek();
    if (!at_end()) ++at_;
    return token;
  }
  bool is(std::string_view text, std::size_t ahead = 0) const {  // a name or sign of this text
    const Token& token = peek(ahead);
    return (token.kind == Kind::Name || token.kind == Kind::Sign) && token.text == text;
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  std::size_t position() const { return at_; }
  void rewind(std::size_t position) { at_ = position; }

 private:
  using Kind = decltype(Token::kind);
  const std::vector<Token>* tokens_;
  std::size_t at_;
};

}  // namespace polyte
