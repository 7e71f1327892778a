#include "ir/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "ir/foreign_notation.h"

namespace polyte::ir::text {
namespace {

class Scanner {
 public:
  Scanner(std::string_view text, std::vector<Fault>& faults) : text_(text), faults_(faults) {}

  std::vector<Line> run() {
    while (at_ < text_.size()) scan_line();
    for (Line& line : lines_) line.tokens.push_back({TokenKind::End, "", line.tokens.back().line});
    return std::move(lines_);
  }

 private:
  std::string_view text_;
  std::vector<Fault>& faults_;
  std::vector<Line> lines_;
  std::size_t at_ = 0;
  int number_ = 1;
  int open_ = 0;  // brackets

  char look(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void scan_line() {
    int indent = 0;
    for (; look() == ' ' || look() == '\t' || look() == '\r'; ++at_) {
      if (look() == '\t') faults_.push_back({number_, "a tab in the indentation: use spaces"});
      ++indent;
    }
    // The bracket was forgotten: the fault stays with its line.
    if (open_ > 0 && starts_anew()) open_ = 0;
    // Inside brackets a line goes on with the one before, whatever it begins with.
    bool fresh = open_ == 0;
    while (at_ < text_.size() && look() != '\n') {
      if (look() == '#') {
        while (at_ < text_.size() && look() != '\n') ++at_;
      } else if (look() == ';') {
        ++at_;
        fresh = true;
      } else if (std::isspace(static_cast<unsigned char>(look())) != 0) {
        ++at_;
      } else {
        add(scan_token(), indent, fresh);
        fresh = false;
      }
    }
    ++at_;
    ++number_;
  }

  // `out y: ...` and the like never continue a line.
  bool starts_anew() const {
    constexpr std::array<std::string_view, 6> kWords{"program ", "loop ",  "const ",
                                                     "out ",     "inout ", "temp "};
    return std::ranges::any_of(
        kWords, [&](std::string_view word) { return text_.substr(at_, word.size()) == word; });
  }

  void add(const Token& token, int indent, bool fresh) {
    if (token.kind == TokenKind::End) return;
    if (lines_.empty() || (fresh && !continues(token))) lines_.push_back({number_, indent, {}});
    lines_.back().tokens.push_back(token);
  }

  // A statement goes on in the next line where that begins with a clause or with a sign that no
  // statement can begin with; `(` can, as in `(v, p)[i] = ..`.
  static bool continues(const Token& token) {
    if (token.kind == TokenKind::Name)
      return token.text == "for" || token.text == "if" || token.text == "when";
    return token.kind == TokenKind::Sign && token.text != "(";
  }

  // In UTF-8, as far as the text has it.
  std::size_t character_size() const {
    const auto lead = static_cast<unsigned char>(look());
    const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    for (std::size_t i = 1; i < size; ++i)
      if ((static_cast<unsigned char>(look(i)) & 0xc0U) != 0x80) return 1;
    return size;
  }

  Token scan_token() {
    if (is_name_start(look())) return scan_name();
    if (is_digit(look()) || (look() == '.' && is_digit(look(1)))) return scan_number();
    return scan_sign();
  }

  Token scan_name() {
    const std::size_t begin = at_;
    while (is_name_char(look()) || (look() == '.' && is_name_char(look(1)))) ++at_;
    return {TokenKind::Name, std::string(text_.substr(begin, at_ - begin)), number_};
  }

  Token scan_number() {
    const std::size_t begin = at_;
    TokenKind kind = TokenKind::Integer;
    while (is_digit(look())) ++at_;
    if (look() == '.' && look(1) != '.') {  // "0..N" is a range
      kind = TokenKind::Real;
      for (++at_; is_digit(look());) ++at_;
    }
    // An exponent needs a digit: in `2e` the letter begins a name.
    const std::size_t sign = look(1) == '+' || look(1) == '-' ? 1 : 0;
    if ((look() == 'e' || look() == 'E') && is_digit(look(1 + sign))) {
      kind = TokenKind::Real;
      for (at_ += 1 + sign; is_digit(look());) ++at_;
    }
    return {kind, std::string(text_.substr(begin, at_ - begin)), number_};
  }

  Token scan_sign() {
    // Longest match: `//` is not two divisions.
    constexpr std::array<std::string_view, 11> kPairs{
        "..", "+=", "-=", "*=", "==", "!=", "<=", ">=", "<<", ">>", "//"};
    constexpr std::string_view kSingles = "+-*/%()[]{}=<>&|^,:";
    const std::string_view pair = text_.substr(at_, 2);
    const bool is_pair = std::ranges::find(kPairs, pair) != kPairs.end();
    const std::string text(text_.substr(at_, is_pair ? 2 : character_size()));
    at_ += text.size();
    if (text == "(" || text == "[") ++open_;
    if ((text == ")" || text == "]") && open_ > 0) --open_;
    if (is_pair || kSingles.find(text[0]) != std::string_view::npos)
      return {TokenKind::Sign, text, number_};
    faults_.push_back(
        {number_, "unexpected character '" + text + "'" + foreign_character_hint(text)});
    return {};
  }
};

}  // namespace

std::vector<Line> split_lines(std::string_view text, std::vector<Fault>& faults) {
  return Scanner(text, faults).run();
}

void Cursor::expect(std::string_view text) {
  if (!accept(text)) fail_expected("'" + std::string(text) + "'");
}

std::string Cursor::expect_name(const std::string& what) {
  if (peek().kind != TokenKind::Name) fail_expected(what);
  if (is_reserved(peek().text)) fail("'" + peek().text + "' is a reserved word, expected " + what);
  return next().text;
}

void Cursor::fail(const std::string& message) const { throw Fault{line(), message}; }

void Cursor::fail_expected(const std::string& what) const {
  fail("expected " + what + ", got " +
       (at_end() ? "the end of the line" : "'" + peek().text + "'"));
}

// By the lexer itself, so that the two cannot disagree: the text has to be exactly one Name
// token.
bool is_name(std::string_view text) {
  std::vector<Fault> faults;
  const std::vector<Line> lines = split_lines(text, faults);
  return faults.empty() && lines.size() == 1 && lines[0].tokens[0].kind == TokenKind::Name &&
         lines[0].tokens[0].text == text && !is_reserved(text);
}

bool is_reserved(std::string_view name) {
  constexpr std::array<std::string_view, 14> kWords{"for", "if",  "when",    "in",    "else",
                                                    "and", "or",  "loop",    "where", "true",
                                                    "inf", "nan", "program", "false"};
  return std::ranges::find(kWords, name) != kWords.end();
}

}  // namespace polyte::ir::text
