#include "schedule/script/line_parser.h"

#include <algorithm>
#include <set>

#include "schedule/script/script_text.h"

namespace polyte::schedule {

namespace {

// Words with which a directive goes on behind a size: `tail` in `split m by 2*Mr tail cut`.
// Sizes are kept as written (Size::text) and evaluated at replay, so that here only their end
// has to be found.
const std::set<std::string> kStops = {"by",   "into",  "from",  "tail",   "where",  "as",   "at",
                                      "in",   "for",   "with",  "layout", "pad",    "when", "copy",
                                      "fold", "level", "along", "every",  "updates"};

}  // namespace

bool ends_size(const std::string& word) { return kStops.contains(word); }

bool LineParser::is(const std::string& text, std::size_t ahead) const {
  return peek(ahead).kind != Token::Kind::End && peek(ahead).text == text;
}

bool LineParser::accept(const std::string& text) {
  if (!is(text)) return false;
  ++at_;
  return true;
}

void LineParser::expect(const std::string& text) {
  if (!accept(text)) fail("expected '" + text + "', got " + shown());
}

void LineParser::expect_end() {
  if (!at_end()) fail("'" + peek().text + "' is not expected here");
}

std::string LineParser::shown() const {
  return at_end() ? "the end of the line" : "'" + peek().text + "'";
}

// The text as it stands, with its blanks: a value of a Program or a condition has a parser of
// its own.
std::string LineParser::rest() {
  const std::size_t begin = peek().begin;
  if (at_end()) return "";
  at_ = tokens_.size() - 1;
  return text_.substr(begin);
}

std::string LineParser::name(const std::string& what) {
  if (!is_name()) fail("expected " + what + ", got " + shown());
  return tokens_[at_++].text;
}

// A comma after a path is the usual slip: `reorder m > k, n`.
std::vector<std::string> LineParser::names(const std::string& separator, const std::string& what) {
  std::vector<std::string> result = {name(what)};
  while (accept(separator)) result.push_back(name(what));
  if (separator == ">" && is(","))
    fail("expected '>' between loops, from the outer to the inner, got ','");
  return result;
}

// Ends at a stop word, a comma or a bracket that closes, where these are not within brackets of the
// size itself. The comma of `min` is part of the first size here, that behind it is not:
//
//   tile (m, n) by (min(8, M), 2*L)   tail cut
std::string LineParser::raw(bool stop_at_comma) {
  const std::size_t first = at_;
  int depth = 0;
  for (; peek().kind != Token::Kind::End; ++at_) {
    const std::string& t = peek().text;
    if (t == "?")
      fail(
          "a hole ('?') stands for the whole size of a split, a tile or an unroll; elsewhere it "
          "needs a name to be "
          "filled by: param F = ? on a line before, and F here");
    if (depth == 0 && (ends_size(t) || t == ")" || t == "]" || t == "}" || t == "{" || t == ";"))
      break;
    if (depth == 0 && stop_at_comma && t == ",") break;
    if (t == "(" || t == "[") ++depth;
    if (t == ")" || t == "]") --depth;
  }
  if (first == at_) fail("a size is missing before " + shown());
  return text_.substr(tokens_[first].begin, tokens_[at_ - 1].end - tokens_[first].begin);
}

LoopName LineParser::loop_name() {
  std::string first = name("a loop");
  if (!accept(":")) return {"", first};
  return {first, name("a loop")};
}

LoopName LineParser::named_loop() {
  const std::string statement = optional_selector();
  return {statement, name("a loop")};
}

// `acc: *.i` or `*.i`; the tokens of a pattern are joined by loop_pattern.
LoopName LineParser::selected_loop() {
  if (is_name() && is(":", 1)) {
    const std::string statement = name("a statement");
    expect(":");
    return {statement, loop_pattern()};
  }
  return {"", loop_pattern()};
}

// m.i, *, *.i, m.*: names and stars without spaces between.
std::string LineParser::loop_pattern() {
  if (!is_name() && !is("*")) fail("expected a loop, got " + shown());
  std::string pattern = tokens_[at_].text;
  for (std::size_t end = tokens_[at_++].end;
       peek().begin == end && (is("*") || is(".") || is_name()); ++at_) {
    pattern += peek().text;
    end = peek().end;
  }
  return pattern;
}

// Reads nothing unless a name and a colon stand here: `acc: m` but not `m > k`.
std::string LineParser::optional_selector() {
  if (!is_name() || !is(":", 1)) return "";
  const std::string selector = name("a statement");
  expect(":");
  return selector;
}

Tail LineParser::tail() { return accept("tail") ? tail_strategy() : Tail::Guard; }

Tail LineParser::tail_strategy() {
  const std::string word = name("a tail strategy");
  if (word == "guard") return Tail::Guard;
  if (word == "mask") return Tail::Mask;
  if (word == "cut") return Tail::Cut;
  if (word == "round") return Tail::Round;
  if (word == "shift") return Tail::Shift;
  fail("tail '" + word + "': expected guard, mask, cut, round or shift");
}

Memory LineParser::memory() {
  const std::string word = name("a memory");
  const auto* memory =
      std::ranges::find_if(ir::kMemories, [&](Memory m) { return to_string(m) == word; });
  if (memory == std::end(ir::kMemories))
    fail("memory '" + word + "': expected register, stack, shared or heap");
  return *memory;
}

// first k.o and last j
std::vector<When> LineParser::when() {
  std::vector<When> result;
  do {
    const bool first = accept("first");
    if (!first && !accept("last")) fail("expected 'first' or 'last', got " + shown());
    result.push_back({first, name("a loop")});
  } while (accept("and"));
  return result;
}

std::string LineParser::once_per() {
  if (!accept("once")) return "";
  expect("per");
  return name("a loop or root");
}

// acc.init at u.i once per u.o when first k.o and last j
NestTree LineParser::leaf() {
  NestLeaf result;
  result.statement = name("a loop or a statement");
  if (accept("at")) result.at = name("a loop");
  result.per = once_per();
  if (!result.per.empty() && result.at.empty())
    fail("'once per' goes with 'at': S at LOOP once per " + result.per);
  if (accept("when")) result.when = when();
  return std::make_shared<const NestNode>(NestNode{std::move(result)});
}

NestTree LineParser::loop_node(const std::string& loop, LoopKind kind) {
  if (!accept(">"))
    fail("expected '>' after loop " + loop + ", got " + shown() + " (a nest ends in statements)");
  return nest_path({{loop, kind}}, node());
}

// Behind the `{`, to its `}`; a last `;` in front of that is allowed.
NestTree LineParser::sequence() {
  std::vector<NestTree> children;
  do {
    if (is("}")) break;
    children.push_back(node());
  } while (accept(";"));
  expect("}");
  if (children.empty()) fail("'{ }' holds no statement");
  return nest_sequence(std::move(children));
}

// A limit of depth, as recursion would overflow the stack on text such as {{{{..
NestTree LineParser::node() {
  constexpr int kDeepest = 200;  // loops and braces within each other
  if (depth_ == kDeepest) fail("the nest is more than " + std::to_string(kDeepest) + " deep");
  ++depth_;
  NestTree tree = bare_node();
  --depth_;
  return tree;
}

//   node = `{` node `;` .. `}`  |  loop `>` node  |  leaf
//   loop = NAME  |  KIND NAME  |  `[` NAME `]`  |  `<` NAME `>`      unrolled, vector
// Either may be the hole `...`. A name is a loop where `>` follows, else a statement.
NestTree LineParser::bare_node() {
  if (is("?")) fail("a hole of a nest is written '...', and '?' asks for a size");
  if (accept(kRestHole))
    return is(">") ? loop_node(kRestHole, LoopKind::Serial) : nest_statement(kRestHole);
  if (accept("{")) return sequence();
  if (const LoopKind kind = kind_before_name(); kind != LoopKind::Serial)
    return loop_node(name("a loop"), kind);
  if (accept("[")) {
    const std::string loop = name("a loop");
    expect("]");
    return loop_node(loop, LoopKind::Unrolled);
  }
  if (accept("<")) {
    const std::string loop = name("a loop");
    expect(">");
    return loop_node(loop, LoopKind::Vector);
  }
  if (peek().kind == Token::Kind::Name && is(">", 1))
    return loop_node(name("a loop"), LoopKind::Serial);
  return leaf();
}

// par n, block n: the word is read where a name stands after it; it may be a loop's own name,
// or a statement's.
LoopKind LineParser::kind_before_name() {
  // `par when first k` is a statement called par, `par at > S` a parallel loop called at.
  const bool is_leaf = (is("when", 1) || is("at", 1)) && !is(">", 2);
  if (is_leaf || peek().kind != Token::Kind::Name || peek(1).kind != Token::Kind::Name)
    return LoopKind::Serial;
  const auto kind = kind_of_word(peek().text);
  if (kind) ++at_;
  return kind.value_or(LoopKind::Serial);
}

// Loops alone, as a fragment has them: [m.i] > <n.i>.
NestPath LineParser::path() {
  NestPath loops;
  do {
    NestLoop loop;
    if (accept("[")) {
      loop = {name("a loop"), LoopKind::Unrolled};
      expect("]");
    } else if (accept("<")) {
      loop = {name("a loop"), LoopKind::Vector};
      expect(">");
    } else {
      const LoopKind kind = kind_before_name();
      loop = {name("a loop"), kind};
    }
    loops.push_back(std::move(loop));
  } while (accept(">"));
  expect_end();
  return loops;
}

Result<NestPath> parse_path(const std::string& text) {
  try {
    return LineParser(text).path();
  } catch (const LineProblem& problem) {
    return Decline{problem.text};
  }
}

// A fragment of a path if it parses as one and shows it: `[m.i] > <n.i>`, `par m`, or a dotted
// name, m.i, which no size has. A bare `m` stays a size.
bool is_path_text(const std::string& text) {
  const bool marked =
      text.find('>') != std::string::npos || text.find('[') != std::string::npos ||
      (text.find(' ') != std::string::npos && kind_of_word(text.substr(0, text.find(' '))));
  const auto path = parse_path(text);
  return path && (marked || (*path).front().name.find('.') != std::string::npos);
}

}  // namespace polyte::schedule
