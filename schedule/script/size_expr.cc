#include "schedule/script/size_expr.h"

#include <algorithm>
#include <cctype>

#include "schedule/script/script_lexer.h"
#include "support/checked.h"

namespace polyte::schedule {

namespace {

constexpr int kDeepestSize = 200;  // brackets and signs within each other

// Recursive descent over the text, evaluating as it goes; from the weakest operator to the
// strongest:
//
//   disjunction   conjunction `or` ..             1 or 0
//   conjunction   comparison `and` ..             1 or 0
//   comparison    sum (`<=` .. `>` sum)?          1 or 0; does not chain
//   sum           product (`+` | `-`) ..
//   product       factor (`*` | `//` | `/` | `%`) ..
//   factor        `-` factor, ( .. ), min(a, b), max(a, b), a number, a name
//
// The first problem is kept. What is read after it returns some value that nobody uses;
// checked_add and the like throw where 64 bits do not hold the result (evaluate_size).
class SizeParser {
 public:
  SizeParser(const std::string& text, const std::map<std::string, std::int64_t>& values)
      : text_(text), values_(values) {}

  Result<std::int64_t> run() {
    const std::int64_t value = disjunction();
    skip_space();
    if (at_ < text_.size()) fail("'" + text_.substr(at_) + "' is not understood");
    if (!problem_.empty()) return Decline{problem_};
    return value;
  }

 private:
  const std::string& text_;
  const std::map<std::string, std::int64_t>& values_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string problem_;

  void fail(const std::string& why) {
    if (problem_.empty()) problem_ = "size '" + text_ + "': " + why;
  }
  // Goes to the end of the text, so that every open level of the recursion stops at once.
  std::int64_t too_deep() {
    if (problem_.empty())  // not with the text, which may be long
      problem_ = "size '" + text_.substr(0, 20) + "...': it is nested more than " +
                 std::to_string(kDeepestSize) + " deep";
    at_ = text_.size();
    return 0;
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  // A word has to end where the token does: `or` is not the beginning of `order`. Of two signs
  // that begin alike the longer one is asked for first: <= before <, // before /.
  bool accept(const std::string& token) {
    skip_space();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    const bool is_word = std::isalpha(static_cast<unsigned char>(token.front())) != 0;
    const std::size_t end = at_ + token.size();
    if (is_word && end < text_.size() &&
        (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
      return false;
    at_ = end;
    return true;
  }

  std::int64_t disjunction() {
    std::int64_t value = conjunction();
    while (accept("or")) value = (conjunction() != 0 || value != 0) ? 1 : 0;
    return value;
  }
  std::int64_t conjunction() {
    std::int64_t value = comparison();
    while (accept("and")) value = (comparison() != 0 && value != 0) ? 1 : 0;
    return value;
  }
  std::int64_t comparison() {
    const std::int64_t a = sum();
    if (accept("<=")) return a <= sum() ? 1 : 0;
    if (accept(">=")) return a >= sum() ? 1 : 0;
    if (accept("==")) return a == sum() ? 1 : 0;
    if (accept("!=")) return a != sum() ? 1 : 0;
    if (accept("<")) return a < sum() ? 1 : 0;
    if (accept(">")) return a > sum() ? 1 : 0;
    return a;
  }
  std::int64_t sum() {
    std::int64_t value = product();
    while (true) {
      if (accept("+"))
        value = checked_add(value, product());
      else if (accept("-"))
        value = checked_sub(value, product());
      else
        return value;
    }
  }
  std::int64_t product() {
    std::int64_t value = factor();
    while (true) {
      if (accept("*")) {
        value = checked_mul(value, factor());
      } else if (accept("//")) {
        value = divided(value, factor(), false);
      } else if (accept("/")) {
        value = exact(value, factor());
      } else if (accept("%")) {
        value = divided(value, factor(), true);
      } else {
        return value;
      }
    }
  }
  // Rounds down, as Program text and affine expressions do: -7 // 2 is -4, -7 % 2 is 1.
  std::int64_t divided(std::int64_t a, std::int64_t b, bool remainder) {
    if (b <= 0) {
      fail("division by " + std::to_string(b));
      return 0;
    }
    return remainder ? floor_mod(a, b) : floor_div(a, b);
  }
  // `/` says that the division leaves nothing: Nr/L for a width in vectors. 20/16 is an error
  // and no 1.
  std::int64_t exact(std::int64_t a, std::int64_t b) {
    if (b > 0 && floor_mod(a, b) != 0)
      fail(std::to_string(a) + " / " + std::to_string(b) + " is no whole number (// rounds down)");
    return divided(a, b, false);
  }
  std::int64_t factor() {
    if (depth_ == kDeepestSize) return too_deep();
    ++depth_;
    const std::int64_t value = bare_factor();
    --depth_;
    return value;
  }
  std::int64_t bare_factor() {
    skip_space();
    if (at_ >= text_.size()) {
      fail("a number or name is missing");
      return 0;
    }
    if (accept("-")) return checked_sub(0, factor());
    if (accept("(")) {
      const std::int64_t value = disjunction();
      if (!accept(")")) fail("')' is missing");
      return value;
    }
    if (accept("min")) return extreme(true);
    if (accept("max")) return extreme(false);
    if (std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    return name();
  }
  std::int64_t extreme(bool least) {
    if (!accept("(")) fail("'(' is missing");
    const std::int64_t a = disjunction();
    if (!accept(",")) fail("',' is missing");
    const std::int64_t b = disjunction();
    if (!accept(")")) fail("')' is missing");
    return least ? std::min(a, b) : std::max(a, b);
  }
  std::int64_t number() {
    std::int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])))
      value = checked_add(checked_mul(value, 10), text_[at_++] - '0');
    return value;
  }
  std::int64_t name() {
    std::string word;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      word += text_[at_++];
    const auto found = values_.find(word);
    if (word.empty()) {
      fail("'" + text_.substr(at_, 1) + "' is not understood");
      at_ = text_.size();
      return 0;
    }
    if (found != values_.end()) return found->second;
    std::string known;
    for (const auto& [known_name, value] : values_)
      known += (known.empty() ? "" : ", ") + known_name;
    fail("'" + word + "' is not known (known are " + known + ")");
    return 0;
  }
};

}  // namespace

namespace {

// The parts between the words `at` (`and`, `or`) outside of parentheses, without these words.
std::vector<std::string> parts_of(const std::vector<Token>& tokens, const std::string& text,
                                  const std::string& at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (const Token& token : tokens) {
    depth += token.text == "(" ? 1 : token.text == ")" ? -1 : 0;
    const bool divides = depth == 0 && token.kind != Token::Kind::End && token.text == at;
    if (!divides && token.kind != Token::Kind::End) continue;
    parts.push_back(text.substr(begin, token.begin - begin));
    begin = token.end;
  }
  return parts;
}

// "38 <= 30" for a single comparison; empty for anything else.
std::string sides_of(const std::string& text, const std::map<std::string, std::int64_t>& values) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth != 0 || std::string("<>=!").find(text[i]) == std::string::npos) continue;
    const std::size_t length = i + 1 < text.size() && text[i + 1] == '=' ? 2 : 1;
    const auto left = evaluate_size(text.substr(0, i), values),
               right = evaluate_size(text.substr(i + length), values);
    if (!left || !right) return "";
    return std::to_string(*left) + " " + text.substr(i, length) + " " + std::to_string(*right);
  }
  return "";
}

}  // namespace

// Of a conjunction only the first part that fails is explained; a disjunction fails as a whole,
// and no side of it is the reason.
//
//   (Mr + 1) * 2 <= registers and Mr < 20   ->   "38 <= 32 where Mr = 18, registers = 32"
std::string why_false(const std::string& text, const std::map<std::string, std::int64_t>& values) {
  std::string failing = text;
  const bool is_one_of = parts_of(tokenize(text), text, "or").size() > 1;
  if (!is_one_of)
    for (const std::string& part : parts_of(tokenize(text), text, "and"))
      if (const auto value = evaluate_size(part, values); value && *value == 0) {
        failing = part;
        break;
      }
  std::string known;
  for (const auto& [name, value] : values) {
    const std::vector<Token> tokens = tokenize(failing);
    const bool used =
        std::ranges::any_of(tokens, [&, n = name](const Token& t) { return t.text == n; });
    if (used) known += (known.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  }
  const std::string sides = is_one_of ? std::string() : sides_of(failing, values);
  return sides + (sides.empty() || known.empty() ? "" : " where ") + known;
}

Result<std::int64_t> evaluate_size(const std::string& text,
                                   const std::map<std::string, std::int64_t>& values) {
  try {
    return SizeParser(text, values).run();
  } catch (const UserError& error) {  // more than 63 bits
    return Decline{"size '" + text + "': " + error.what()};
  }
}

}  // namespace polyte::schedule
