#include "ir/foreign_notation.h"

#include <algorithm>
#include <array>
#include <map>

#include "support/is_among.h"

namespace polyte::ir::text {
namespace {

// One look at the tokens from a position on; a position beyond the end is the End token.
class At {
 public:
  At(const std::vector<Token>& line, std::size_t at) : line_(line), at_(at) {}
  const Token& token(std::size_t ahead = 0) const {
    return line_[std::min(at_ + ahead, line_.size() - 1)];
  }
  const std::string& text(std::size_t ahead = 0) const { return token(ahead).text; }
  bool is(std::string_view text, std::size_t ahead = 0) const {
    return token(ahead).kind != TokenKind::End && this->text(ahead) == text;
  }
  bool is_name(std::size_t ahead = 0) const {
    return token(ahead).kind == TokenKind::Name && !is_reserved(text(ahead));
  }
  bool is_number(std::size_t ahead = 0) const {
    return token(ahead).kind == TokenKind::Integer || token(ahead).kind == TokenKind::Real;
  }
  // What can only stand where a value begins.
  bool begins_value(std::size_t ahead) const {
    return is_name(ahead) || is_number(ahead) || is("(", ahead);
  }
  bool is_first() const { return at_ == 0 || (at_ == 2 && line_[1].text == ":"); }
  // Of the text, whose lines may go on with the one before.
  bool begins_line() const { return is_first() || line_[at_ - 1].line < token().line; }
  bool is_second() const { return at_ == 1; }
  bool is_last() const { return at_ + 2 == line_.size(); }
  // Of the words before: whether a statement has begun.
  bool is_behind_equals() const {
    return std::any_of(line_.begin(), line_.begin() + static_cast<std::ptrdiff_t>(at_),
                       [](const Token& t) { return t.text.ends_with('='); });
  }
  // Behind the bracket that closes the one here, if that is not far: a hostile text has many.
  std::size_t behind_bracket(std::size_t ahead) const {
    constexpr std::size_t kFar = 64;
    int depth = 0;
    for (std::size_t i = ahead; i < ahead + kFar && at_ + i < line_.size(); ++i) {
      if (is("(", i) || is("[", i)) ++depth;
      if ((is(")", i) || is("]", i)) && --depth == 0) return i + 1;
    }
    return line_.size();
  }

 private:
  const std::vector<Token>& line_;
  std::size_t at_;
};

std::string reduction_hint(const std::string& word, const std::string& over) {
  return (word == "sum" ? "a sum" : "'" + word + "'") + " over " + over + " is written " + word +
         "[" + over + "] ...";
}

// sum(k) x[k], sum_k x[k], sum_{k} x[k]
std::string reduction(const At& at) {
  constexpr std::array<std::string_view, 6> kWords{"sum", "prod", "product", "min", "max", "mean"};
  if (!at.is_name()) return "";
  const std::string& text = at.text();
  const std::size_t cut = text.find('_');
  const std::string word = text.substr(0, cut);
  if (std::ranges::find(kWords, word) == kWords.end()) return "";
  if (cut == std::string::npos && at.is("(", 1) && at.is_name(2) && at.is(")", 3) &&
      at.begins_value(4))
    return reduction_hint(word, at.text(2));
  if (cut == std::string::npos) return "";
  if (cut + 1 == text.size())  // sum_{k}
    return at.is("{", 1) ? reduction_hint(word, at.is_name(2) ? at.text(2) : "k") : "";
  return at.begins_value(1) && !at.is("(", 1) ? reduction_hint(word, text.substr(cut + 1)) : "";
}

// mean[j] x[i, j]; an element of a tensor called `mean` has no value behind it.
std::string mean(const At& at) {
  const bool is_mean = at.is("mean") || at.is("average") || at.is("avg");
  if (!is_mean || !at.is("[", 1) || !at.begins_value(at.behind_bracket(1))) return "";
  return "a mean over " + at.text(2) +
         " is a sum divided by the extent, in two statements: " + "s[...] = sum[" + at.text(2) +
         "] ..., then s[...] / N";
}

// C(m, n) = .. and C[m][n]
std::string subscripts(const At& at) {
  if (at.is_first() && at.is_name() && at.is("(", 1)) {
    std::string names;
    for (std::size_t i = 2; i + 1 < at.behind_bracket(1); ++i)
      names += at.is(",", i) ? ", " : at.text(i);
    return "elements are in brackets: " + at.text() + "[" + names + "]";
  }
  if (at.is("]") && at.is("[", 1)) return "subscripts are separated by commas: C[m, n]";
  return "";
}

// range(N), range(1, N)
std::string range(const At& at) {
  if (!at.is("range") || !at.is("(", 1)) return "";
  const auto is_word = [&](std::size_t i) { return at.is_name(i) || at.is_number(i); };
  if (is_word(2) && at.is(")", 3)) return "a range is written 0.." + at.text(2);
  if (is_word(2) && at.is(",", 3) && is_word(4) && at.is(")", 5))
    return "a range is written " + at.text(2) + ".." + at.text(4);
  return "a range is written BEGIN..END";
}

// for i ..: y[i] = ..; in a file such a line continues the one before.
std::string leading_clause(const At& at) {
  const bool is_clause = at.is("if") || at.is("for");
  if (!is_clause || !at.begins_line() || at.is_behind_equals()) return "";
  if (at.is("if"))
    return "a condition follows its statement: y[i] = ... when x[i] > 0, or of iterators alone, "
           "y[i] = ... if i > 0";
  return "ranges follow their statement: y[i] = ... for i in 0..N; a loop in order is "
         "loop t in 0..T, its statements below it";
}

std::string signs(const At& at) {
  if (at.is("&") && at.is("&", 1)) return "conditions are joined by 'and'";
  if (at.is("|") && at.is("|", 1)) return "conditions are joined by 'or'";
  if (at.is(":") && at.is("=", 1)) return "a value is given with '='";
  // S1: alone is a label without its statement.
  if (at.is(":") && at.is_last() && !at.is_second()) return "no line ends in ':'";
  if (at.is_number() && (at.is("f", 1) || at.is("F", 1)))
    return "a number has no suffix: it is of the tensors' type";
  return "";
}

// `a // b` divides; two words in a row are no value.
std::string comment(const At& at) {
  const bool is_block = at.is("/") && at.is("*", 1);
  const bool is_prose = at.is("//") && (at.is_first() || (at.is_name(1) && at.is_name(2)));
  return is_block || is_prose ? "a comment begins with '#'" : "";
}

// Of a word behind `//` that is not known.
std::string unknown_comment(const std::vector<Token>& line, const std::string& message) {
  for (std::size_t i = 0; i + 1 < line.size(); ++i)
    if (line[i].text == "//" && message.starts_with("'" + line[i + 1].text + "' is no"))
      return "a comment begins with '#'";
  return "";
}

// Empty where the line has nothing of another language. Only what no correct line has is looked
// for, so that the advice is right whatever the fault.
std::string foreign_hint(const std::vector<Token>& line) {
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const At at(line, i);
    for (const auto& look : {reduction, mean, subscripts, range, leading_clause, signs, comment})
      if (std::string hint = look(at); !hint.empty()) return hint;
  }
  return "";
}

}  // namespace

void add_foreign_hints(const std::vector<Line>& lines, std::vector<Fault>& faults) {
  for (const Line& line : lines) {
    // Its tokens may be of several lines of the text.
    const int last = line.tokens.back().line;
    const auto fault = std::ranges::find_if(
        faults, [&](const Fault& one) { return one.line >= line.number && one.line <= last; });
    if (fault == faults.end()) continue;
    std::string hint = foreign_hint(line.tokens);
    if (hint.empty()) hint = unknown_comment(line.tokens, fault->message);
    if (!hint.empty() && fault->message.find("; ") == std::string::npos)
      fault->message += "; " + hint;
  }
}

std::string foreign_function_hint(const std::string& name) {
  constexpr std::pair<const char*, const char*> kTheirs[] = {
      {"relu", "max(x, 0)"},
      {"square", "x * x"},
      {"silu", "x * sigmoid(x)"},
      {"swish", "x * sigmoid(x)"},
      {"fabs", "abs(x)"},
      {"rsqrt", "1 / sqrt(x)"},
      {"where", "select(condition, a, b)"},
      {"power", "pow(x, y)"},
      {"maximum", "max(a, b)"},
      {"minimum", "min(a, b)"},
      {"gelu", "0.5 * x * (1 + erf(x / sqrt(2)))"},
      {"leaky_relu", "select(x > 0, x, 0.01 * x)"},
      {"clamp", "min(max(x, low), high)"},
      {"clip", "min(max(x, low), high)"},
      {"reciprocal", "1 / x"},
      {"exp2", "pow(2, x)"},
      {"log2", "log(x) / log(2)"},
      {"softplus", "log(1 + exp(x))"},
      {"dot", "sum[k] x[k] * y[k]"},
      {"matmul", "sum[k] A[m, k] * B[k, n]"},
      {"mean", "a sum divided by the extent: s[i] = sum[j] x[i, j], then s[i] / N"},
      {"softmax",
       "four statements: m[i] = max[j] x[i, j]; e[i, j] = exp(x[i, j] - m[i]); "
       "s[i] = sum[j] e[i, j]; y[i, j] = e[i, j] / s[i]"}};
  for (const auto& [theirs, ours] : kTheirs)
    if (name == theirs) return "; " + name + " is " + ours;
  return "";
}

std::string foreign_character_hint(std::string_view character) {
  constexpr std::pair<std::string_view, std::string_view> kHints[] = {
      {"?", "a choice is select(condition, a, b)"},
      {"!", "the opposite of a condition is not(...)"},
      {"~", "the opposite of a condition is not(...)"},
      {"@", "a matrix product is C[m, n] = sum[k] A[m, k] * B[k, n]"},
      {"\u03a3", "a sum over k is written sum[k] ..."},
      {"\u2211", "a sum over k is written sum[k] ..."},
      {"\u220f", "a product over k is written prod[k] ..."},
      {"\u00b7", "a product is written *"},
      {"\u00d7", "a product is written *"},
      {"\u2212", "a minus is written -"},
      {"\u2264", "it is written <="},
      {"\u2265", "it is written >="},
      {"\u2260", "it is written !="},
      {"\u221a", "a root is sqrt(x)"}};
  for (const auto& [foreign, hint] : kHints)
    if (character == foreign) return "; " + std::string(hint);
  return "";
}

}  // namespace polyte::ir::text
