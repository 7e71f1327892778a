#include "schedule/script/directive_syntax.h"

namespace polyte::schedule {

namespace {

void split(LineParser& line, std::vector<Operation>& into) {
  std::string selector;
  const std::size_t first = into.size();
  do {
    if (const std::string own = line.optional_selector(); !own.empty()) selector = own;
    Split split;
    split.loop = {selector, line.name("a loop")};
    split.into = line.accept("into");
    if (!split.into && !line.accept("by")) LineParser::fail("expected 'by' or 'into', got " + line.shown());
    split.factor = line.size();
    if (line.accept("from")) split.from = line.size();
    into.push_back(split);
  } while (line.accept(","));
  const Tail all = line.tail();
  for (std::size_t i = first; i < into.size(); ++i) std::get<Split>(into[i]).tail = all;
}

void tile(LineParser& line, std::vector<Operation>& into) {
  Tile tile;
  tile.statement = line.optional_selector();
  if (tile.statement.empty() && !line.is("(")) tile.statement = line.name("a statement");  // tile y (i, j) by ..
  line.expect("(");
  tile.loops = line.names(",", "a loop");
  line.expect(")");
  line.expect("by");
  line.expect("(");
  do tile.factors.push_back(line.size());
  while (line.accept(","));
  line.expect(")");
  tile.tail = line.tail();
  into.push_back(tile);
}

void reorder(LineParser& line, std::vector<Operation>& into) {
  const std::string selector = line.optional_selector();
  into.push_back(Reorder{selector, line.names(">", "a loop")});
}

void order(LineParser& line, std::vector<Operation>& into) {
  const std::string statement = line.name("a statement");
  line.expect(":");
  // No path: its loops in their order, as `nest S` has them.
  into.push_back(Order{statement, line.at_end() ? std::vector<std::string>{} : line.names(">", "a loop")});
}

void fuse(LineParser& line, std::vector<Operation>& into) {
  Fuse fuse;
  const std::string selector = line.optional_selector();
  fuse.outer = line.loop_name();
  line.expect(",");
  fuse.inner = line.loop_name();
  if (fuse.outer.statement.empty()) fuse.outer.statement = selector;
  if (fuse.inner.statement.empty()) fuse.inner.statement = fuse.outer.statement;
  line.expect("as");
  fuse.name = line.name("a name for the fused loop");
  into.push_back(fuse);
}

void merge(LineParser& line, std::vector<Operation>& into) {
  const std::vector<std::string> statements = line.names(",", "a statement");
  line.expect("through");
  Merge merge{statements, line.name("a loop"), {}};
  if (line.accept("with")) {
    do {
      Merge::Shift shift{line.name("a loop"), {}};
      const bool minus = line.accept("-");
      if (!minus) line.expect("+");
      const std::string text = line.size().text;
      const bool is_sum = text.find_first_of("+-", 1) != std::string::npos && text.front() != '(';
      shift.by = {(minus ? "-" : "") + (minus && is_sum ? "(" + text + ")" : text)};
      merge.with.push_back(shift);
    } while (line.accept(","));
  }
  into.push_back(merge);
}

void distribute(LineParser& line, std::vector<Operation>& into) { into.push_back(Distribute{line.loop_name()}); }

// unroll acc: m.i, n.i by 4
void unroll(LineParser& line, std::vector<Operation>& into) {
  const std::string selector = line.optional_selector();
  do {
    Unroll unroll{line.selected_loop(), {}};
    if (unroll.loop.statement.empty()) unroll.loop.statement = selector;
    if (line.accept("by")) unroll.by = line.size();
    into.push_back(unroll);
  } while (line.accept(","));
}

LoopName selected_loop(LineParser& line) {
  const std::string selector = line.optional_selector();
  return {selector, line.name("a loop")};
}

void unroll_and_jam(LineParser& line, std::vector<Operation>& into) {
  UnrollAndJam jam{selected_loop(line), {}};
  line.expect("by");
  jam.by = line.size();
  into.push_back(jam);
}

// as lo, hi
std::vector<std::string> part_names(LineParser& line) {
  if (!line.accept("as")) return {};
  std::vector<std::string> parts = {line.name("a loop")};
  line.expect(",");
  parts.push_back(line.name("a loop"));
  return parts;
}

// cut i at 4, cut i at 4 as lo, hi
void cut(LineParser& line, std::vector<Operation>& into) {
  Cut cut{selected_loop(line), {}};
  line.expect("at");
  cut.at = line.size();
  cut.parts = part_names(line);
  into.push_back(cut);
}

// peel i, peel i last 2, peel i last as body, end
void peel(LineParser& line, std::vector<Operation>& into) {
  Peel peel{selected_loop(line), true, {}};
  peel.first = !line.accept("last");
  if (peel.first) line.accept("first");
  if (!line.at_end() && !line.is("as")) peel.count = line.size();
  peel.parts = part_names(line);
  into.push_back(peel);
}

// tail acc:m.i round
void tail(LineParser& line, std::vector<Operation>& into) {
  const LoopName loop = line.loop_name();
  into.push_back(SetTail{loop, line.tail_strategy()});
}

// tensorize acc.update: n.i with NAME
void tensorize(LineParser& line, std::vector<Operation>& into) {
  Tensorize tensorize{selected_loop(line), {}};
  line.expect("with");
  tensorize.intrinsic = line.name("an intrinsic");
  into.push_back(tensorize);
}

template <class Kind>
void kind(LineParser& line, std::vector<Operation>& into) {
  const std::string selector = line.optional_selector();
  do {
    LoopName loop = line.selected_loop();
    if (loop.statement.empty()) loop.statement = selector;
    into.push_back(Kind{loop});
  } while (line.accept(","));
}

}  // namespace

const std::vector<DirectiveSyntax>& loop_syntax() {
  static const std::vector<DirectiveSyntax> kTable = {{"split", split},
                                                      {"tile", tile},
                                                      {"reorder", reorder},
                                                      {"order", order},
                                                      {"fuse", fuse},
                                                      {"merge", merge},
                                                      {"distribute", distribute},
                                                      {"tail", tail},
                                                      {"unroll", unroll},
                                                      {"unroll_and_jam", unroll_and_jam},
                                                      {"cut", cut},
                                                      {"peel", peel},
                                                      {"tensorize", tensorize},
                                                      {"vectorize", kind<Vectorize>},
                                                      {"parallel", kind<Parallel>}};
  return kTable;
}

}  // namespace polyte::schedule
