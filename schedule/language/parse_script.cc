// Recursive descent over the tokens of one logical line a directive. A problem ends its line; the next line is still
// read, so that every problem of a file is reported at once.
#include <algorithm>
#include <set>
#include <sstream>

#include "schedule/language/script_lexer.h"
#include "schedule/language/script_text.h"

namespace polyte::schedule {

namespace {

struct Problem {
  std::string text;
};

const std::set<std::string> kStops = {"by", "into", "from",   "tail", "where", "as",
                                      "at", "in",   "layout", "pad",  "when",  "copy"};

class LineParser {
 public:
  explicit LineParser(const std::string& text) : text_(text), tokens_(tokenize(text)) {}

  std::vector<Operation> directive();
  NestTree node();
  std::vector<NestLoop> path();
  void expect_end() {
    if (peek().kind != Token::Kind::End) fail("'" + peek().text + "' is not expected here");
  }

 private:
  const std::string text_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;

  [[noreturn]] static void fail(const std::string& text) { throw Problem{text}; }
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool is(const std::string& text, std::size_t ahead = 0) const {
    return peek(ahead).kind != Token::Kind::End && peek(ahead).text == text;
  }
  bool accept(const std::string& text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  std::string shown() const {
    return peek().kind == Token::Kind::End ? "the end of the line" : "'" + peek().text + "'";
  }
  void expect(const std::string& text) {
    if (!accept(text)) fail("expected '" + text + "', got '" + peek().text + "'");
  }
  std::string name(const std::string& what) {
    if (peek().kind != Token::Kind::Name) fail("expected " + what + ", got " + shown());
    return tokens_[at_++].text;
  }
  // Raw text up to a comma, a closing bracket or a word that goes on with the directive.
  std::string raw(bool stop_at_comma = true) {
    const std::size_t first = at_;
    int depth = 0;
    for (; peek().kind != Token::Kind::End; ++at_) {
      const std::string& t = peek().text;
      if (t == "?") fail("a hole ('?') asks for a size: it has to be filled before the script is used");
      if (depth == 0 && (kStops.count(t) > 0 || t == ")" || t == "]" || t == "}" || t == "{" || t == ";")) break;
      if (depth == 0 && stop_at_comma && t == ",") break;
      if (t == "(" || t == "[") ++depth;
      if (t == ")" || t == "]") --depth;
    }
    if (first == at_) fail("a size is missing before " + shown());
    return text_.substr(tokens_[first].begin, tokens_[at_ - 1].end - tokens_[first].begin);
  }
  Size size() { return {raw()}; }

  LoopName loop_name() {
    std::string first = name("a loop");
    if (!accept(":")) return {"", first};
    return {first, name("a loop")};
  }
  std::string optional_selector() {
    if (peek().kind != Token::Kind::Name || !is(":", 1)) return "";
    const std::string selector = name("a statement");
    expect(":");
    return selector;
  }
  std::vector<std::string> names(const std::string& separator, const std::string& what) {
    std::vector<std::string> result = {name(what)};
    while (accept(separator)) result.push_back(name(what));
    return result;
  }
  Tail tail() {
    if (!accept("tail")) return Tail::Guard;
    const std::string word = name("a tail strategy");
    if (word == "guard") return Tail::Guard;
    if (word == "mask") return Tail::Mask;
    if (word == "cut") return Tail::Cut;
    fail("tail '" + word + "': expected guard, mask or cut");
  }
  std::vector<When> when() {
    std::vector<When> result;
    do {
      const bool first = accept("first");
      if (!first) expect("last");
      result.push_back({first, name("a loop")});
    } while (accept("and"));
    return result;
  }

  void params(std::vector<Operation>& into);
  void splits(std::vector<Operation>& into);
  Operation tile();
  Operation fuse();
  Operation stage(Stage::Form form);
  NestTree loop_node(const std::string& loop, LoopKind kind);
  NestTree leaf();
  template <class Kind>
  void kinds(std::vector<Operation>& into) {
    const std::string selector = optional_selector();
    do {
      LoopName loop = loop_name();
      if (loop.statement.empty()) loop.statement = selector;
      into.push_back(Kind{loop});
    } while (accept(","));
  }
  bool simple(const std::string& word, std::vector<Operation>& into);
  bool structural(const std::string& word, std::vector<Operation>& into);
};

void LineParser::params(std::vector<Operation>& into) {
  do {
    const std::string param = name("a parameter");
    expect("=");
    into.push_back(SetParam{param, size()});
    if (is("in")) fail("a domain of values ('in {..}') belongs to a tuning template: choose one value");
  } while (accept(","));
  if (accept("where")) into.push_back(Where{{raw(false)}});
}

void LineParser::splits(std::vector<Operation>& into) {
  std::string selector;
  const std::size_t first = into.size();
  do {
    if (const std::string own = optional_selector(); !own.empty()) selector = own;
    Split split;
    split.loop = {selector, name("a loop")};
    split.into = accept("into");
    if (!split.into) expect("by");
    split.factor = size();
    if (accept("from")) split.from = size();
    into.push_back(split);
  } while (accept(","));
  const Tail all = tail();
  for (std::size_t i = first; i < into.size(); ++i) std::get<Split>(into[i]).tail = all;
}

Operation LineParser::tile() {
  Tile tile;
  tile.statement = optional_selector();
  if (tile.statement.empty() && !is("(")) tile.statement = name("a statement");  // tile y (i, j) by ..
  expect("(");
  tile.loops = names(",", "a loop");
  expect(")");
  expect("by");
  expect("(");
  do tile.factors.push_back(size());
  while (accept(","));
  expect(")");
  tile.tail = tail();
  return tile;
}

Operation LineParser::fuse() {
  Fuse fuse;
  const std::string selector = optional_selector();
  fuse.outer = loop_name();
  expect(",");
  fuse.inner = loop_name();
  if (fuse.outer.statement.empty()) fuse.outer.statement = selector;
  if (fuse.inner.statement.empty()) fuse.inner.statement = fuse.outer.statement;
  expect("as");
  fuse.name = name("a name for the fused loop");
  return fuse;
}

Operation LineParser::stage(Stage::Form form) {
  Stage stage;
  stage.form = form;
  stage.tensor = name("a tensor");
  while (peek().kind != Token::Kind::End) {
    if (accept("at")) {
      stage.at = loop_name();
    } else if (accept("in")) {
      const std::string memory = name("a memory");
      if (memory == "register")
        stage.memory = Memory::Register;
      else if (memory == "stack")
        stage.memory = Memory::Stack;
      else if (memory == "heap")
        stage.memory = Memory::Heap;
      else
        fail("memory '" + memory + "': expected register, stack or heap");
    } else if (accept("layout")) {
      expect("(");
      stage.names = names(",", "a dimension's name");
      expect(")");
      expect("[");
      do stage.layout.push_back(raw());
      while (accept(","));
      expect("]");
    } else if (accept("pad")) {
      stage.pad = size();
    } else if (accept("when")) {
      expect("compile");
      stage.when_compile = true;
    } else if (accept("copy")) {
      stage.copy = node();
    } else {
      fail("'" + peek().text + "' is not expected in a stage (at, in, layout, pad, when compile, copy are)");
    }
  }
  return stage;
}

NestTree LineParser::leaf() {
  Leaf result;
  result.statement = name("a loop or a statement");
  if (accept("at")) result.at = name("a loop");
  if (is("once")) fail("'once per' (a sliding window) is not a placement of this version: 'at' alone recomputes");
  if (accept("when")) result.when = when();
  return std::make_shared<const NestNode>(NestNode{std::move(result)});
}

NestTree LineParser::loop_node(const std::string& loop, LoopKind kind) {
  if (!accept(">")) fail("expected '>' after loop " + loop + ", got '" + peek().text + "' (a nest ends in statements)");
  return std::make_shared<const NestNode>(NestNode{NestLoop{loop, kind, node()}});
}

NestTree LineParser::node() {
  if (is("...") || is("?")) fail("a hole ('" + peek().text + "') has to be filled before the script is used");
  if (accept("{")) {
    NestSequence sequence;
    do {
      if (is("}")) break;
      sequence.children.push_back(node());
    } while (accept(";"));
    expect("}");
    if (sequence.children.empty()) fail("'{ }' holds no statement");
    if (sequence.children.size() == 1) return sequence.children.front();
    return std::make_shared<const NestNode>(NestNode{std::move(sequence)});
  }
  if (is("par") && peek(1).kind == Token::Kind::Name) {
    ++at_;
    return loop_node(name("a loop"), LoopKind::Parallel);
  }
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
  if (peek().kind == Token::Kind::Name && is(">", 1)) return loop_node(name("a loop"), LoopKind::Serial);
  return leaf();
}

std::vector<NestLoop> LineParser::path() {
  std::vector<NestLoop> loops;
  do {
    NestLoop loop;
    if (accept("[")) {
      loop = {name("a loop"), LoopKind::Unrolled, nullptr};
      expect("]");
    } else if (accept("<")) {
      loop = {name("a loop"), LoopKind::Vector, nullptr};
      expect(">");
    } else {
      const bool parallel = is("par") && peek(1).kind == Token::Kind::Name && accept("par");
      loop = {name("a loop"), parallel ? LoopKind::Parallel : LoopKind::Serial, nullptr};
    }
    loops.push_back(std::move(loop));
  } while (accept(">"));
  expect_end();
  return loops;
}

// Directives that concern one loop or tensor.
bool LineParser::simple(const std::string& word, std::vector<Operation>& into) {
  if (word == "unroll") {
    kinds<Unroll>(into);
  } else if (word == "vectorize") {
    kinds<Vectorize>(into);
  } else if (word == "parallel") {
    kinds<Parallel>(into);
  } else if (word == "distribute") {
    into.push_back(Distribute{loop_name()});
  } else if (word == "compute_inline") {
    for (const std::string& tensor : names(",", "a tensor")) into.push_back(ComputeInline{tensor});
  } else if (word == "stage") {
    into.push_back(stage(Stage::Form::Stage));
  } else if (word == "cache_read") {
    into.push_back(stage(Stage::Form::CacheRead));
  } else if (word == "cache_write") {
    into.push_back(stage(Stage::Form::CacheWrite));
  } else if (word == "pack") {
    into.push_back(stage(Stage::Form::Pack));
  } else if (word == "param") {
    params(into);
  } else if (word == "where") {
    into.push_back(Where{{raw(false)}});
  } else if (word == "let") {
    const std::string defined = name("a name");
    expect("=");
    const std::size_t begin = peek().begin;
    if (peek().kind == Token::Kind::End) fail("let " + defined + " has no value");
    at_ = tokens_.size() - 1;
    into.push_back(Let{defined, text_.substr(begin)});
  } else {
    return false;
  }
  return true;
}

// Directives that edit the tree.
bool LineParser::structural(const std::string& word, std::vector<Operation>& into) {
  if (word == "split") {
    splits(into);
  } else if (word == "tile") {
    into.push_back(tile());
  } else if (word == "reorder") {
    const std::string selector = optional_selector();
    into.push_back(Reorder{selector, names(">", "a loop")});
  } else if (word == "order") {
    const std::string statement = name("a statement");
    expect(":");
    const bool has_path = peek().kind != Token::Kind::End;  // none: its loops in their order, as `nest S` has them
    into.push_back(Order{statement, has_path ? names(">", "a loop") : std::vector<std::string>{}});
  } else if (word == "fuse") {
    into.push_back(fuse());
  } else if (word == "merge") {
    const std::vector<std::string> statements = names(",", "a statement");
    expect("through");
    into.push_back(Merge{statements, name("a loop")});
  } else if (word == "compute_at") {
    const std::string producer = name("a tensor");
    accept("at");
    into.push_back(ComputeAt{producer, loop_name()});
  } else if (word == "reverse_compute_at") {
    const std::string consumer = name("a statement");
    accept("at");
    ReverseComputeAt d = {consumer, loop_name(), {}};
    if (accept("when")) d.when = when();
    into.push_back(d);
  } else if (word == "place") {
    const std::string statement = name("a statement");
    expect("when");
    into.push_back(Place{statement, when()});
  } else if (word == "nest") {
    const std::string nest_name = optional_selector();
    into.push_back(Nest{nest_name, node()});
  } else {
    return false;
  }
  return true;
}

std::vector<Operation> LineParser::directive() {
  std::vector<Operation> result;
  const std::string word = name("a directive");
  if (!simple(word, result) && !structural(word, result))
    fail("'" + word +
         "' is not a directive (param, where, let, split, tile, reorder, order, fuse, merge, distribute, unroll, "
         "vectorize, parallel, compute_inline, compute_at, reverse_compute_at, place, nest, stage, cache_read, "
         "cache_write, pack are)");
  expect_end();
  return result;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void parse_contract(const std::vector<std::string>& words, std::size_t at, Script& script) {
  if (words[at] == "exact" || words[at] == "unsafe") {
    script.contract = words[at] == "exact" ? Contract::Exact : Contract::Unsafe;
    if (at + 1 < words.size()) throw Problem{"'" + words[at + 1] + "' is not expected after " + words[at]};
    return;
  }
  if (words[at] != "reassoc")
    throw Problem{"'" + words[at] + "' is no type or contract (exact, reassoc LOOPS, unsafe)"};
  script.contract = Contract::Reassoc;
  std::string loops;
  for (std::size_t i = at + 1; i < words.size(); ++i) loops += words[i] + (words[i].back() == ',' ? "" : ",");
  std::istringstream stream(loops);
  for (std::string loop; std::getline(stream, loop, ',');)
    if (!loop.empty()) script.reassociable.push_back(loop);
  if (script.reassociable.empty()) throw Problem{"reassoc names the loops whose order may change"};
}

// schedule NAME/INT for NAME[@DIGEST] [on TARGET] [TYPE] [contract]
void parse_header(const std::string& text, Script& script) {
  const std::vector<std::string> words = words_of(text);
  if (words.size() < 4 || words[0] != "schedule" || words[2] != "for")
    throw Problem{"a script begins with: schedule NAME/1 for PROGRAM@DIGEST on CPU TYPE CONTRACT"};
  script.name = words[1];
  const std::size_t at_sign = words[3].find('@');
  script.program = words[3].substr(0, at_sign);
  if (at_sign != std::string::npos) script.digest = words[3].substr(at_sign + 1);
  std::size_t at = 4;
  if (at + 1 < words.size() && words[at] == "on") {
    script.target = words[at + 1];
    at += 2;
  }
  if (at < words.size()) {
    if (const auto dtype = dtype_from_string(words[at])) {
      script.dtype = *dtype;
      ++at;
    }
  }
  if (at < words.size()) parse_contract(words, at, script);
}

// The directives of a file: a stack of one for transactions.
class ScriptParser {
 public:
  explicit ScriptParser(const std::string& origin) : origin_(origin) {}

  Script run(std::string_view text) {
    const std::vector<LogicalLine> lines = logical_lines(text);
    if (lines.empty()) report(1, "the script is empty");
    for (std::size_t i = 0; i < lines.size(); ++i) {
      try {
        if (!lines[i].problem.empty()) throw Problem{lines[i].problem};
        if (i == 0)
          parse_header(lines[i].text, script_);
        else
          parse_line(lines[i]);
      } catch (const Problem& problem) {
        report(lines[i].line, problem.text);
      }
    }
    if (transaction_) report(transaction_->line, "'{' is not closed");
    if (!problems_.empty()) throw UserError(ExitStatus::InvalidInput, problems_);
    return script_;
  }

 private:
  const std::string& origin_;
  Script script_;
  std::optional<Directive> transaction_;
  std::vector<std::string> problems_;

  void report(int line, const std::string& text) {
    problems_.push_back(origin_ + ":" + std::to_string(line) + ": " + text);
  }

  void parse_line(const LogicalLine& line) {
    if (line.text == "{") {
      if (transaction_) throw Problem{"a transaction within a transaction"};
      transaction_ = Directive{Transaction{}, line.provenance, line.line};
      return;
    }
    if (line.text == "}") {
      if (!transaction_) throw Problem{"'}' without '{'"};
      if (line.provenance != Provenance::Person) transaction_->provenance = line.provenance;
      script_.directives.push_back(std::move(*transaction_));
      transaction_.reset();
      return;
    }
    LineParser parser(line.text);
    for (Operation& operation : parser.directive()) {
      Directive directive = {std::move(operation), line.provenance, line.line};
      if (transaction_)
        std::get<Transaction>(transaction_->operation).steps.push_back(std::move(directive));
      else
        script_.directives.push_back(std::move(directive));
    }
  }
};

}  // namespace

Result<std::vector<NestLoop>> parse_path(const std::string& text) {
  try {
    return LineParser(text).path();
  } catch (const Problem& problem) {
    return Decline{problem.text};
  }
}

bool is_path_text(const std::string& text) {
  const bool marked =
      text.find('>') != std::string::npos || text.find('[') != std::string::npos || text.rfind("par ", 0) == 0;
  const auto path = parse_path(text);
  return path && (marked || (*path).front().name.find('.') != std::string::npos);
}

Result<NestTree> parse_nest(const std::string& text) {
  try {
    LineParser parser(text);
    NestTree tree = parser.node();
    parser.expect_end();
    return tree;
  } catch (const Problem& problem) {
    return Decline{problem.text};
  }
}

Script parse_script(std::string_view text, const std::string& origin) { return ScriptParser(origin).run(text); }

}  // namespace polyte::schedule
