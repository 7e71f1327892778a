// Recursive descent over the tokens of one logical line: words, names, sizes, paths and nests,
// from which each directive's own syntax is built (directive_table.h). A problem ends its line
// by throwing LineProblem.
#pragma once

#include <algorithm>

#include "schedule/script/holes.h"
#include "schedule/script/script_lexer.h"

namespace polyte::schedule {

struct LineProblem {
  std::string text;
};

// True for a word with which a directive goes on behind a size: `tail` in `split m by 8 tail cut`.
bool ends_size(const std::string& word);

class LineParser {
 public:
  explicit LineParser(const std::string& text) : text_(text), tokens_(tokenize(text)) {}

  [[noreturn]] static void fail(const std::string& text) { throw LineProblem{text}; }
  bool at_end() const { return peek().kind == Token::Kind::End; }
  bool is(const std::string& text, std::size_t ahead = 0) const;
  bool is_name(std::size_t ahead = 0) const { return peek(ahead).kind == Token::Kind::Name; }
  bool accept(const std::string& text);
  void expect(const std::string& text);
  void expect_end();
  std::string shown() const;  // what comes next, for messages
  std::string rest();         // of the line, consumed

  std::string name(const std::string& what);
  std::vector<std::string> names(const std::string& separator, const std::string& what);
  // Raw text up to a comma, a closing bracket or a word that goes on with the directive.
  std::string raw(bool stop_at_comma = true);
  Size size() { return {raw()}; }
  Size size_or_hole() { return accept("?") ? Size{kSizeHole} : size(); }
  LoopName loop_name();             // k, acc.update:k
  LoopName selected_loop();         // the same, or a pattern: all:*.i
  LoopName named_loop();            // `acc:k`, or k: no pattern
  std::string optional_selector();  // `acc:` before a loop, or empty
  Tail tail();                      // `tail round`, or the default
  Tail tail_strategy();             // after the word
  std::vector<When> when();         // after the word `when`
  std::string once_per();           // `once per LOOP`, or empty
  Memory memory();

  NestTree node();
  NestPath path();  // to the end of the line

 private:
  const std::string text_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;  // of nodes of a nest

  // Beyond the last token: the End token, however far.
  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  std::string loop_pattern();
  NestTree bare_node();
  LoopKind kind_before_name();
  NestTree sequence();
  NestTree loop_node(const std::string& loop, LoopKind kind);
  NestTree leaf();
};

}  // namespace polyte::schedule
