#include "schedule/script/affine_expr.h"

#include <algorithm>

#include "schedule/script/script_lexer.h"
#include "support/checked.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

constexpr int kDeepestAffine = 200;  // brackets and signs within each other

// Recursive descent over the tokens:
//
//   sum      product (`+` | `-`) ..
//   product  factor (`*` factor | (`/` | `//` | `%`) constant) ..
//   factor   `-` factor | ( sum ) | a number | a symbol | a param
//
// Of a product one side has to be constant. The first problem is kept, and every step after it
// returns 0.
class AffineParser {
 public:
  AffineParser(const std::string& text, const std::vector<std::string>& symbols,
               const std::string& what, const std::map<std::string, std::int64_t>& values)
      : text_(text), symbols_(symbols), what_(what), values_(values), tokens_(tokenize(text)) {}

  Result<Affine> run() {
    const Affine value = sum();
    if (peek().kind != Token::Kind::End) fail("'" + peek().text + "' is not expected here");
    if (!problem_.empty()) return Decline{problem_};
    return value;
  }

 private:
  const std::string& text_;
  const std::vector<std::string>& symbols_;
  const std::string& what_;
  const std::map<std::string, std::int64_t>& values_;
  const std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string problem_;

  const Token& peek() const { return tokens_[at_]; }
  void fail(const std::string& why) {
    if (problem_.empty()) problem_ = "'" + text_ + "': " + why;
  }
  bool accept(const std::string& symbol) {
    if (peek().kind != Token::Kind::Symbol || peek().text != symbol) return false;
    ++at_;
    return true;
  }

  Affine sum() {
    Affine value = product();
    while (problem_.empty()) {
      if (accept("+"))
        value = value + product();
      else if (accept("-"))
        value = value - product();
      else
        break;
    }
    return value;
  }

  Affine product() {
    Affine value = factor();
    while (problem_.empty()) {
      if (accept("*")) {
        value = times(value, factor());
      } else if (accept("/")) {
        value = accept("/") ? ir::floor_div(value, divisor()) : exact(value, divisor());
      } else if (accept("%")) {
        value = ir::mod(value, divisor());
      } else {
        break;
      }
    }
    return value;
  }

  Affine times(const Affine& a, const Affine& b) {
    if (b.is_constant()) return a * b.constant();
    if (a.is_constant()) return b * a.constant();
    fail("a product of two " + what_ + " is not affine");
    return 0;
  }

  // A positive constant, in which params count as constants: floor(e / d) is affine only then.
  std::int64_t divisor() {
    const Affine d = factor();
    if (!problem_.empty()) return 1;
    if (d.is_constant() && d.constant() > 0) return d.constant();
    fail("a division is by a positive number");
    return 1;
  }

  // `/` says that nothing is left, as in sizes (size_expr.cc). Of loops nobody knows.
  Affine exact(const Affine& value, std::int64_t d) {
    if (!problem_.empty()) return 0;
    if (!value.is_constant()) {
      fail("/ says that nothing is left: write //, which rounds down");
    } else if (floor_mod(value.constant(), d) != 0) {
      fail(std::to_string(value.constant()) + " / " + std::to_string(d) +
           " is no whole number (// rounds down)");
    }
    return ir::floor_div(value, d);
  }

  Affine factor() {
    if (depth_ == kDeepestAffine && problem_.empty())  // not with the text, which may be long
      problem_ = "'" + text_.substr(0, 20) + "...': it is nested more than " +
                 std::to_string(kDeepestAffine) + " deep";
    if (!problem_.empty()) return 0;
    ++depth_;
    const Affine value = bare_factor();
    --depth_;
    return value;
  }

  Affine bare_factor() {
    if (accept("-")) return -factor();
    if (accept("(")) {
      const Affine value = sum();
      if (!accept(")")) fail("a bracket is not closed");
      return value;
    }
    const Token token = peek();
    if (token.kind == Token::Kind::Number) return number(token);
    if (token.kind == Token::Kind::Name) return name(token);
    fail(token.kind == Token::Kind::End ? "it ends too early"
                                        : "'" + token.text + "' is not expected here");
    return 0;
  }

  Affine number(const Token& token) {
    ++at_;
    // Below 10^15, so that std::stoll cannot overflow.
    if (token.text.size() > 15) {
      fail("'" + token.text + "' is too large");
      return 0;
    }
    return std::stoll(token.text);
  }

  Affine name(const Token& token) {
    ++at_;
    if (std::ranges::find(symbols_, token.text) != symbols_.end())
      return Affine::symbol(token.text);
    const auto value = values_.find(token.text);
    if (value != values_.end()) return value->second;
    std::string known;
    for (const std::string& symbol : symbols_) known += (known.empty() ? "" : ", ") + symbol;
    fail(token.text + " is not known (" + what_ + " are " + (known.empty() ? "none" : known) + ")");
    return 0;
  }
};

}  // namespace

Result<Affine> parse_affine(const std::string& text, const std::vector<std::string>& symbols,
                            const std::string& what,
                            const std::map<std::string, std::int64_t>& values) {
  return AffineParser(text, symbols, what, values).run();
}

}  // namespace polyte::schedule
