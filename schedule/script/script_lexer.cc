#include "schedule/script/script_lexer.h"

#include <algorithm>
#include <cctype>

namespace polyte::schedule {

namespace {

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return std::string(text);
}

void take_provenance(std::string_view mark, LogicalLine& line) {
  const std::string word = trimmed(mark);
  if (word == "template")
    line.provenance = Provenance::Template;
  else if (word == "isl")
    line.provenance = Provenance::Isl;
  else if (word == "tile-model")
    line.provenance = Provenance::TileModel;
  else if (word != "person")
    line.problem = "provenance '" + word + "': expected person, template, isl or tile-model";
}

int open_brackets(const std::string& text) {
  int open = 0;
  for (char c : text) {
    if (c == '{' || c == '(' || c == '[') ++open;
    if (c == '}' || c == ')' || c == ']') --open;
  }
  return open;
}

}  // namespace

// A dot belongs to a name only where a name goes on behind it: `m.i` is one token, but of `m.*`
// the dot and the star are tokens of their own, and `...` is one.
std::vector<Token> tokenize(const std::string& text) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    Token::Kind kind = Token::Kind::Symbol;
    if (is_name_start(text[at])) {
      kind = Token::Kind::Name;
      while (at < text.size() &&
             (is_name_part(text[at]) ||
              (text[at] == '.' && at + 1 < text.size() && is_name_part(text[at + 1]))))
        ++at;
    } else if (std::isdigit(static_cast<unsigned char>(text[at]))) {
      kind = Token::Kind::Number;
      while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
    } else if (text.compare(at, 3, "...") == 0) {
      at += 3;
    } else {
      ++at;
    }
    tokens.push_back({kind, text.substr(begin, at - begin), begin, at});
  }
  tokens.push_back({Token::Kind::End, "end of line", text.size(), text.size()});
  return tokens;
}

// Comments are cut off each line before lines are joined; a mark `#:` on any of them counts for the
// directive that they make, and between directives it has none to count for:
//
//   nest par n.o > {        #: template
//     acc.init; acc.update }
std::vector<LogicalLine> logical_lines(std::string_view text) {
  std::vector<LogicalLine> lines;
  LogicalLine open;
  int number = 0;
  const auto close = [&] {
    if (!open.text.empty()) lines.push_back(open);
    open = {};
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view physical = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const std::size_t comment = std::min(physical.find('#'), physical.size());
    const bool is_marked = physical.substr(comment).starts_with("#:");
    const std::string part = trimmed(physical.substr(0, comment));
    if (is_marked && part.empty() && open.text.empty()) {
      lines.push_back(LogicalLine{"", number, 0, Provenance::Person,
                                  "'#:' says who chose the directive in front of it, and there is "
                                  "none: a comment begins with '# '"});
      continue;
    }
    if (is_marked) take_provenance(physical.substr(comment + 2), open);
    if (part.empty()) continue;
    if (open.text.empty()) {
      open.line = number;
      open.indent = static_cast<int>(physical.find_first_not_of(" \t"));
    }
    open.text += (open.text.empty() ? "" : " ") + part;
    // A brace of its own opens or closes a transaction.
    if (open.text == "{" || open.text == "}" || open_brackets(open.text) <= 0) close();
  }
  close();
  return lines;
}

}  // namespace polyte::schedule
