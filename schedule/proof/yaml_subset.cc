// A lexer for all of the text, then a parser by recursive descent. Indentation is no token: each
// token has its column, and a block goes on as long as its keys or dashes stand in one column:
//
//   domain: "{ S[i] }"          a map at column 0, its keys `domain` and `child`
//   child:
//     sequence:
//     - filter: "{ S[i] }"      a dash may stand in the column of its key, as isl prints it;
//       child: ...              this map is at the column of `filter`
#include "schedule/proof/yaml_subset.h"

#include <algorithm>
#include <cctype>

#include "support/error.h"

namespace polyte::schedule {
namespace {

// Each level is a recursive call of the parser.
constexpr int kDeepest = 200;

struct YamlToken {
  enum class Kind { Mark, Quoted, Word, End } kind = Kind::End;
  std::string text;  // of a Mark one of { } [ ] , : -
  int line = 1, column = 0;

  bool is(char mark) const { return kind == Kind::Mark && text.front() == mark; }
  bool is_text() const { return kind == Kind::Quoted || kind == Kind::Word; }
};

class Lexer {
 public:
  Lexer(const std::string& text, const std::string& origin) : text_(text), origin_(origin) {}

  [[noreturn]] void fail(int line, const std::string& what) const {
    throw UserError(ExitStatus::InvalidInput, origin_ + ":" + std::to_string(line) + ": " + what);
  }

  std::vector<YamlToken> all() {
    std::vector<YamlToken> tokens;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        begin_of_line_ = ++at_;
        // No tabs: YAML has none in indentation.
      } else if (c == ' ' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        tokens.push_back(next());
      }
    }
    tokens.push_back({YamlToken::Kind::End, "the end", line_, -1});
    return tokens;
  }

 private:
  const std::string& text_;
  const std::string& origin_;
  std::size_t at_ = 0, begin_of_line_ = 0;
  int line_ = 1;

  YamlToken next() {
    YamlToken token{YamlToken::Kind::Mark, std::string(1, text_[at_]), line_,
                    static_cast<int>(at_ - begin_of_line_)};
    if (std::string("{}[],:-").find(text_[at_]) != std::string::npos) {
      ++at_;
      return token;
    }
    if (text_[at_] == '"') {
      // No escapes: sets and maps have none. A string may run over several lines, and the columns
      // of what follows it count from the last newline within the quotes.
      const std::size_t close = text_.find('"', at_ + 1);
      if (close == std::string::npos) fail(line_, "a quote is not closed");
      token = {YamlToken::Kind::Quoted, text_.substr(at_ + 1, close - at_ - 1), line_,
               token.column};
      line_ += static_cast<int>(std::ranges::count(token.text, '\n'));
      if (const std::size_t newline = text_.rfind('\n', close);
          newline != std::string::npos && newline > at_)
        begin_of_line_ = newline + 1;
      at_ = close + 1;
      return token;
    }
    std::size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
      ++end;
    if (end == at_) fail(line_, "expected a key, a string in quotes, a bracket or a number");
    token = {YamlToken::Kind::Word, text_.substr(at_, end - at_), line_, token.column};
    at_ = end;
    return token;
  }
};

class Parser {
 public:
  Parser(const std::string& text, const std::string& origin)
      : lexer_(text, origin), tokens_(lexer_.all()) {}

  Yaml run() {
    Yaml root = value();
    if (here().kind != YamlToken::Kind::End)
      fail("expected the end, or a key in line with those above");
    return root;
  }

 private:
  Lexer lexer_;
  std::vector<YamlToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;

  const YamlToken& here() const { return tokens_[at_]; }
  const YamlToken& after() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }

  [[noreturn]] void fail(const std::string& what) const {
    lexer_.fail(here().line, what + ", got " + here().text);
  }

  void take(char mark) {
    if (!here().is(mark)) fail(std::string("expected ") + mark);
    ++at_;
  }

  Yaml value() {
    if (++depth_ > kDeepest)
      lexer_.fail(here().line, "more than " + std::to_string(kDeepest) + " levels");
    Yaml result;
    result.line = here().line;
    if (here().is('{'))
      result.value = flow_map();
    else if (here().is('['))
      result.value = flow_sequence();
    else if (here().is('-'))
      result.value = block_sequence();
    // A word is a key if a colon is behind it; the same word alone is a value.
    else if (here().is_text() && after().is(':'))
      result.value = block_map();
    else if (here().is_text())
      result.value = tokens_[at_++].text;
    else
      fail("expected a value");
    --depth_;
    return result;
  }

  std::string key() {
    if (!here().is_text()) fail("expected a key");
    std::string name = tokens_[at_++].text;
    take(':');
    return name;
  }

  // { a: x, b: [ 1, 0 ] }, in which columns mean nothing; a comma may stand before the closing
  // brace.
  Yaml::Map flow_map() {
    Yaml::Map map;
    for (take('{'); !here().is('}'); here().is('}') ? void() : take(',')) {
      std::string name = key();
      map.push_back({std::move(name), value()});
    }
    take('}');
    return map;
  }

  Yaml::Sequence flow_sequence() {
    Yaml::Sequence all;
    for (take('['); !here().is(']'); here().is(']') ? void() : take(',')) all.push_back(value());
    take(']');
    return all;
  }

  // Keys in one column. The value of a key stands behind it in its line, or below it and further
  // in; the dashes of a sequence may stand in the column of the key itself. `a: b: c` in one line
  // is no YAML: a map that is a value begins on a line of its own.
  Yaml::Map block_map() {
    Yaml::Map map;
    const int column = here().column;
    while (here().column == column && here().is_text() && after().is(':')) {
      const int line = here().line;
      std::string name = key();
      const bool is_below = here().line > line;
      const bool is_inside = here().is('-') ? here().column >= column : here().column > column;
      if (is_below && !is_inside) fail("expected what belongs to '" + name + "', further in");
      if (!is_below && here().is_text() && after().is(':')) fail("expected a line of its own");
      map.push_back({std::move(name), value()});
    }
    if (here().column > column) fail("expected a key in line with those above");
    return map;
  }

  // `- x` below `- y`, dashes in one column; a map behind a dash has the column of its first key.
  Yaml::Sequence block_sequence() {
    Yaml::Sequence all;
    const int column = here().column;
    while (here().column == column && here().is('-')) {
      ++at_;
      all.push_back(value());
    }
    return all;
  }
};

}  // namespace

const Yaml* Yaml::find(const std::string& key) const {
  if (const Map* all = map())
    for (const auto& [name, inner] : *all)
      if (name == key) return &inner;
  return nullptr;
}

Yaml parse_yaml(const std::string& text, const std::string& origin) {
  return Parser(text, origin).run();
}

}  // namespace polyte::schedule
