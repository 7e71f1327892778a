#include "ir/loop_cursor.h"

#include <cctype>
#include <charconv>

namespace polyte::ir::loop_text {
namespace {

bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

void fail(std::string message) { throw Failure{std::move(message)}; }

void Cursor::enter() {
  if (++depth_ > kDeepest) fail("the expression is nested too deeply");
}

void Cursor::skip_spaces() {
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
}

bool Cursor::at_end() {
  skip_spaces();
  return at_ == text_.size();
}

char Cursor::peek() {
  skip_spaces();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Cursor::next_is(std::string_view token) {
  skip_spaces();
  return std::string_view(text_).substr(at_, token.size()) == token;
}

// Signs only: of `format` it would take `for`. Words go through `accept_word`.
bool Cursor::accept(std::string_view token) {
  if (!next_is(token)) return false;
  at_ += token.size();
  return true;
}

void Cursor::expect(std::string_view token) {
  if (!accept(token)) fail("expected '" + std::string(token) + "' at '" + text_.substr(at_) + "'");
}

// The whole name is compared, so that `in` is not found at the start of `index`.
bool Cursor::accept_word(std::string_view word) {
  const std::size_t before = at_;
  if (is_name_start(peek()) && name() == word) return true;
  at_ = before;
  return false;
}

std::string Cursor::name() {
  skip_spaces();
  const std::size_t begin = at_;
  if (!is_name_start(peek())) fail("expected a name at '" + text_.substr(at_) + "'");
  while (at_ < text_.size() && (is_name_part(text_[at_]) || is_inner_dot())) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::int64_t Cursor::integer() {
  skip_spaces();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("expected an integer at '" + text_.substr(at_) + "'");
  at_ = static_cast<std::size_t>(end - text_.data());
  return value;
}

double Cursor::real() {
  skip_spaces();
  double value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("expected a number at '" + text_.substr(at_) + "'");
  at_ = static_cast<std::size_t>(end - text_.data());
  return value;
}

// As many characters of signs as there are: `<=` is not `<` followed by `=`.
std::string Cursor::operator_token() {
  skip_spaces();
  const std::size_t begin = at_;
  while (at_ < text_.size() &&
         std::string_view("+-*/%<>=!&|^").find(text_[at_]) != std::string_view::npos)
    ++at_;
  return text_.substr(begin, at_ - begin);
}

// `m.o` is one name; in `m..n` the dots are those of a range.
bool Cursor::is_inner_dot() const {
  return text_[at_] == '.' && at_ + 1 < text_.size() && is_name_part(text_[at_ + 1]);
}

}  // namespace polyte::ir::loop_text
