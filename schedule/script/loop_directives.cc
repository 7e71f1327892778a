#include "schedule/script/directive_table.h"
#include "schedule/script/print_words.h"

namespace polyte::schedule {

namespace {

// split acc: m by Mr, n by Nr, y: n into 4 from 2   tail cut
//
// One directive per loop. A selector holds for the loops behind it, until the next one; the
// tail, at the end, is that of all.
void parse_split(LineParser& line, std::vector<Operation>& into) {
  std::string selector;
  const std::size_t first = into.size();
  do {
    if (const std::string own = line.optional_selector(); !own.empty()) selector = own;
    Split split;
    split.loop = {selector, line.name("a loop")};
    split.into = line.accept("into");
    if (!split.into && !line.accept("by"))
      LineParser::fail("expected 'by' or 'into', got " + line.shown());
    split.factor = line.size_or_hole();
    if (line.accept("from")) split.from = line.size();
    into.push_back(split);
  } while (line.accept(","));
  const Tail all = line.tail();
  for (std::size_t i = first; i < into.size(); ++i) std::get<Split>(into[i]).tail = all;
}

// y (i, j) by (8, 8)
template <class Tiled>
Tiled tiled_loops(LineParser& line) {
  Tiled tile;
  tile.statement = line.optional_selector();
  if (tile.statement.empty() && !line.is("(")) tile.statement = line.name("a statement");
  line.expect("(");
  tile.loops = line.names(",", "a loop");
  line.expect(")");
  line.expect("by");
  line.expect("(");
  do tile.factors.push_back(line.size_or_hole());
  while (line.accept(","));
  line.expect(")");
  return tile;
}

void parse_tile(LineParser& line, std::vector<Operation>& into) {
  Tile tile = tiled_loops<Tile>(line);
  tile.tail = line.tail();
  into.push_back(std::move(tile));
}

// gpu_tile y (i, j) by (16, 16) as t
void parse_gpu_tile(LineParser& line, std::vector<Operation>& into) {
  DeviceTile tile = tiled_loops<DeviceTile>(line);
  if (line.accept("as")) tile.name = line.name("a name for the loop of threads");
  into.push_back(std::move(tile));
}

void parse_reorder(LineParser& line, std::vector<Operation>& into) {
  const std::string selector = line.optional_selector();
  into.push_back(Reorder{selector, line.names(">", "a loop")});
}

void parse_order(LineParser& line, std::vector<Operation>& into) {
  const std::string statement = line.name("a statement");
  line.expect(":");
  // No path: its loops in their order, as `nest S` has them.
  into.push_back(
      Order{statement, line.at_end() ? std::vector<std::string>{} : line.names(">", "a loop")});
}

// Two at a time from the outermost: `fuse i, j, k as t` is `fuse i, j as t`, then `fuse t, k as t`.
// A line with one loop only renames it.
void parse_fuse(LineParser& line, std::vector<Operation>& into) {
  const std::string selector = line.optional_selector();
  std::vector<LoopName> loops;
  do {
    loops.push_back(line.loop_name());
    if (loops.back().statement.empty())
      loops.back().statement = loops.size() == 1 ? selector : loops[0].statement;
  } while (line.accept(","));
  line.expect("as");
  const std::string name = line.name("a name for the fused loop");
  if (loops.size() == 1) into.push_back(Rename{loops[0], name});
  for (std::size_t i = 1; i < loops.size(); ++i) {
    into.push_back(Fuse{loops[0], loops[i], name});
    loops[0].loop = name;
  }
}

// merge a, b through i with i+1, j-2: the loops of b are shifted before. A shift is kept as it is
// written behind its loop, with the sign.
void parse_merge(LineParser& line, std::vector<Operation>& into) {
  const std::vector<std::string> statements = line.names(",", "a statement");
  line.expect("through");
  Merge merge{statements, line.name("a loop"), {}};
  if (line.accept("with")) {
    do {
      Merge::Shift shift{line.name("a loop"), {}};
      const std::string sign = line.is("-") ? "-" : "+";
      line.expect(sign);
      shift.by = {sign + line.size().text};
      merge.with.push_back(shift);
    } while (line.accept(","));
  }
  into.push_back(merge);
}

void parse_distribute(LineParser& line, std::vector<Operation>& into) {
  into.push_back(Distribute{line.loop_name()});
}

// unroll acc: m.i, n.i by 4: `by` is of the one loop in front of it
void parse_unroll(LineParser& line, std::vector<Operation>& into) {
  const std::string selector = line.optional_selector();
  do {
    Unroll unroll{line.selected_loop(), {}};
    if (unroll.loop.statement.empty()) unroll.loop.statement = selector;
    if (line.accept("by")) unroll.by = line.size_or_hole();
    into.push_back(unroll);
  } while (line.accept(","));
}

void parse_unroll_and_jam(LineParser& line, std::vector<Operation>& into) {
  UnrollAndJam jam{line.named_loop(), {}};
  line.expect("by");
  jam.by = line.size_or_hole();
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
void parse_cut(LineParser& line, std::vector<Operation>& into) {
  Cut cut{line.named_loop(), {}};
  line.expect("at");
  cut.at = line.size();
  cut.parts = part_names(line);
  into.push_back(cut);
}

// peel i, peel i last 2, peel i last as body, end
void parse_peel(LineParser& line, std::vector<Operation>& into) {
  Peel peel{line.named_loop(), true, {}};
  peel.first = !line.accept("last");
  if (peel.first) line.accept("first");
  if (!line.at_end() && !line.is("as")) peel.count = line.size();
  peel.parts = part_names(line);
  into.push_back(peel);
}

// tail acc:m.i round
void parse_tail(LineParser& line, std::vector<Operation>& into) {
  const LoopName loop = line.loop_name();
  into.push_back(SetTail{loop, line.tail_strategy()});
}

// tensorize acc.update: n.i with NAME
void parse_tensorize(LineParser& line, std::vector<Operation>& into) {
  Tensorize tensorize{line.named_loop(), {}};
  line.expect("with");
  tensorize.intrinsic = line.name("an intrinsic");
  into.push_back(tensorize);
}

// all: *.i, n.o: the statement in front holds for every loop that has none of its own.
std::vector<LoopName> selected_loops(LineParser& line) {
  const std::string selector = line.optional_selector();
  std::vector<LoopName> loops;
  do {
    loops.push_back(line.selected_loop());
    if (loops.back().statement.empty()) loops.back().statement = selector;
  } while (line.accept(","));
  return loops;
}

// Vectorize and Parallel: one directive per loop, each proved by itself.
template <class Kind>
void parse_kind(LineParser& line, std::vector<Operation>& into) {
  for (const LoopName& loop : selected_loops(line)) into.push_back(Kind{loop});
}

// bind m.o, n.o to block
void parse_bind(LineParser& line, std::vector<Operation>& into) {
  const std::vector<LoopName> loops = selected_loops(line);
  line.expect("to");
  const std::string word = line.name("block, thread, warp or lane");
  const auto kind = kind_of_word(word);
  if (!kind || !ir::is_of_device(*kind))
    line.fail("'" + word + "': expected block, thread, warp or lane");
  for (const LoopName& loop : loops) into.push_back(Bind{loop, *kind});
}

// --- printing

std::string print_split(const Split& d) {
  return "split " + selector(d.loop.statement) + split_item(d) + tail_text(d.tail);
}

template <class Tiled>
std::string tiled_text(const Tiled& d) {
  return selector(d.statement) + "(" + list(d.loops, ", ") + ") by (" + list(d.factors) + ")";
}

std::string print_tile(const Tile& d) { return "tile " + tiled_text(d) + tail_text(d.tail); }

std::string print_gpu_tile(const DeviceTile& d) {
  return "gpu_tile " + tiled_text(d) + named(d.name);
}

std::string print_reorder(const Reorder& d) {
  return "reorder " + selector(d.statement) + list(d.loops, " > ");
}

std::string print_order(const Order& d) {
  return "order " + d.statement + ":" + (d.loops.empty() ? "" : " " + list(d.loops, " > "));
}

std::string print_fuse(const Fuse& d) {  // the statement once, as it is read
  const bool is_same = d.inner.statement == d.outer.statement;
  return "fuse " + print(d.outer) + ", " + (is_same ? d.inner.loop : print(d.inner)) + " as " +
         d.name;
}

std::string print_merge(const Merge& d) {
  std::string text = "merge " + list(d.statements, ", ") + " through " + d.through;
  for (const Merge::Shift& shift : d.with)
    text += (&shift == &d.with.front() ? " with " : ", ") + shift.loop + shift.by.text;
  return text;
}

std::string print_distribute(const Distribute& d) { return "distribute " + print(d.loop); }

std::string print_set_tail(const SetTail& d) {
  return "tail " + print(d.loop) + " " + print(d.tail);
}

std::string print_unroll(const Unroll& d) {
  return "unroll " + print(d.loop) + (d.by.text.empty() ? "" : " by " + d.by.text);
}

std::string print_unroll_and_jam(const UnrollAndJam& d) {
  return "unroll_and_jam " + print(d.loop) + " by " + d.by.text;
}

std::string print_cut(const Cut& d) {
  return "cut " + print(d.loop) + " at " + d.at.text + parts(d.parts);
}

std::string print_peel(const Peel& d) {
  return "peel " + print(d.loop) + (d.first ? " first" : " last") +
         (d.count.text.empty() ? "" : " " + d.count.text) + parts(d.parts);
}

std::string print_tensorize(const Tensorize& d) {
  return "tensorize " + print(d.loop) + " with " + d.intrinsic;
}

std::string print_vectorize(const Vectorize& d) { return "vectorize " + print(d.loop); }

std::string print_bind(const Bind& d) {
  return "bind " + print(d.loop) + " to " + to_string(d.kind);
}

std::string print_parallel(const Parallel& d) { return "parallel " + print(d.loop); }

Applied vectorize(const State& state, const Vectorize& d, const PrimitiveContext& context) {
  return set_kinds(state, d.loop, LoopKind::Vector, context);
}

Applied parallel(const State& state, const Parallel& d, const PrimitiveContext& context) {
  return set_kinds(state, d.loop, LoopKind::Parallel, context);
}

Applied bind(const State& state, const Bind& d, const PrimitiveContext& context) {
  return set_kinds(state, d.loop, d.kind, context);
}

}  // namespace

const std::vector<DirectiveRow>& loop_directives() {
  static const std::vector<DirectiveRow> kTable = {
      directive<Split, print_split, split>("split", parse_split),
      directive<Tile, print_tile, tile>("tile", parse_tile),
      directive<Reorder, print_reorder, reorder>("reorder", parse_reorder),
      directive<Order, print_order, order>("order", parse_order),
      directive<Fuse, print_fuse, fuse>("fuse", parse_fuse),
      directive<Merge, print_merge, merge>("merge", parse_merge),
      directive<Distribute, print_distribute, distribute>("distribute", parse_distribute),
      directive<SetTail, print_set_tail, set_tail>("tail", parse_tail),
      directive<Unroll, print_unroll, unroll>("unroll", parse_unroll, idle_kind),
      directive<UnrollAndJam, print_unroll_and_jam, unroll_and_jam>("unroll_and_jam",
                                                                    parse_unroll_and_jam),
      directive<Cut, print_cut, cut>("cut", parse_cut, idle_cut),
      directive<Peel, print_peel, peel>("peel", parse_peel, idle_peel),
      directive<Tensorize, print_tensorize, tensorize>("tensorize", parse_tensorize),
      directive<Vectorize, print_vectorize, vectorize>("vectorize", parse_kind<Vectorize>,
                                                       idle_kind),
      directive<Parallel, print_parallel, parallel>("parallel", parse_kind<Parallel>, idle_kind),
      directive<Bind, print_bind, bind>("bind", parse_bind, idle_kind),
      directive<DeviceTile, print_gpu_tile, gpu_tile>("gpu_tile", parse_gpu_tile),
  };
  return kTable;
}

}  // namespace polyte::schedule
