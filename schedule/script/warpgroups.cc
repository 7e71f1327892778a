#include "schedule/script/warpgroups.h"

#include <algorithm>

#include "ir/facts.h"
#include "ir/shared_matrix.h"
#include "schedule/script/primitives/edit.h"
#include "schedule/script/tensorized.h"
#include "schedule/state/digits.h"
#include "schedule/state/fragments.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

const char* const kGroup = "group";  // no loop's name: of four warps

// One instruction of a warpgroup. wgmma computes 64 rows, 16 per warp, and reads 64 by K of the
// left operand and K by N of the right one from shared memory. What is checked are addresses:
// each element of the tile must lie where the hardware's descriptor of the matrix would look
// for it.
class Checker {
 public:
  Checker(const State& state, const TensorizedLoop& tensorized, const ir::Intrinsic& row,
          const ir::WarpMatch& match)
      : state_(state),
        row_(row),
        match_(match),
        loop_(*find_loop(state.tree, tensorized.loop)),
        s_(state.at(statements_below(state.tree, tensorized.loop).front())) {}

  std::vector<std::string> problems() {
    for (const Loop* loop : path_to(state_.tree, s_.body.name)) {
      if (loop->id == loop_.id) break;
      if (loop->kind == LoopKind::Warp) warp_ = loop;
    }
    if (!warp_) return {};  // which is said of every instruction of warps
    check_group();
    if (problems_.empty())
      for (std::size_t operand = 0; operand < 2; ++operand) check_operand(operand);
    return std::move(problems_);
  }

 private:
  const State& state_;
  const ir::Intrinsic& row_;
  const ir::WarpMatch& match_;
  const Loop& loop_;
  const ScheduledStatement& s_;
  const Loop* warp_ = nullptr;
  ir::Ranges whole_;  // of all loops, where no size cuts them short
  std::vector<std::string> problems_;

  void report(const std::string& text) { problems_.push_back(text); }

  // An instruction of a warpgroup needs its four warps, all of them whole.
  void check_group() {
    const auto count = tile_extent(state_, s_, warp_->name);
    if (!count || *count % ir::kWarpsOfGroup != 0)
      return report(row_.name + " is an instruction of four warps side by side: " + warp_->name +
                    " runs " +
                    (count ? std::to_string(*count) + " times" : "an unknown number of times") +
                    ", expected a multiple of 4");
    whole_ = loop_ranges(state_, s_);
    whole_[warp_->name] = {0, *count - 1};
    whole_[kGroup] = {0, *count / ir::kWarpsOfGroup - 1};
    for (std::size_t i = 0; i < match_.loops.size(); ++i)
      whole_[match_.loops[i]] = {0, match_.extents[i] - 1};
    for (const ir::Constraint& c : loop_constraints(s_)) {
      const ir::Constraint simple{ir::simplified(c.expr, whole_), c.equality};
      if (!simple.expr.uses(warp_->name) || ir::truth_of(simple, whole_) == ir::Truth::True)
        continue;
      return report(
          row_.name +
          " is an instruction of four warps side by side, and not all of them run where " +
          ir::to_string(simple) + " fails: expected sizes that their rows divide");
    }
  }

  // Memory, length of a line, swizzle, place, zeros beyond the end of the sum: each is looked at
  // only where those before it are right.
  void check_operand(std::size_t operand) {
    const std::string& buffer = match_.operands[operand].buffer;
    const std::string shown = buffer + " (operand " + row_.program.buffers[operand].name + ")";
    const auto b = std::ranges::find(state_.staged, buffer, &StagedBuffer::name);
    if (b == state_.staged.end() || b->memory != Memory::Shared)
      return report(row_.name + " reads " + shown + " from shared memory: stage it in shared");
    const std::int64_t bytes = size_in_bytes(b->dtype), line = ir::kSharedLine / bytes;
    const std::int64_t length = b->shape.empty() ? 1 : b->shape.back();
    if (length != line)
      return report(row_.name + " reads " + shown +
                    " in lines of 128 bytes, and its last dimension has " + std::to_string(length) +
                    " elements: expected " + std::to_string(line));
    if (b->swizzle != ir::matrix_swizzle(bytes))
      return report(row_.name + " reads " + shown + " swizzled by 16 bytes: say `swizzle " + b->of +
                    " by " + std::to_string(ir::kSwizzledChunk / bytes) + "`");
    if (!lies_as_read(operand, *b))
      return report(row_.name + " does not find " + shown + " in shared memory: expected its " +
                    (operand == 0 ? "64 rows" : std::to_string(match_.extents[1]) + " columns") +
                    " in lines of their terms, [.., " + std::to_string(line) +
                    " terms], or lines of " + std::to_string(line) + " of them, [.., terms, " +
                    std::to_string(line) + "]" +
                    (operand == 0 ? ", 16 rows per warp" : ", the same ones for the four warps"));
    if (!match_.conditions.empty() && !zero_filled(state_).contains(buffer))
      report("sizes cut tiles of " + shown + " short, and " + row_.name +
             " reads all of it: pad fills it with zeros");
  }

  // Compares linear places in the buffer with those that the instruction reads, element by element:
  // of the tile of one group relative to its beginning, and then where tiles begin.
  bool lies_as_read(std::size_t operand, const StagedBuffer& b) const {
    const Affine place = linear(match_.operands[operand], b);
    const std::vector<std::size_t> loops = ir::loops_of_operand(row_, operand);
    const std::string& side = match_.loops[loops[operand == 0 ? 0 : 1]];
    const std::string& sum = match_.loops[loops[operand == 0 ? 1 : 0]];
    const std::int64_t rows = match_.extents[loops[operand == 0 ? 0 : 1]];
    const auto at = [&](std::int64_t i, std::int64_t k, std::int64_t warp) {
      return value_at(place, {{side, i}, {sum, k}, {warp_->name, warp}});
    };
    const std::int64_t first = at(0, 0, 0);
    // The right operand is common to the four warps.
    if (operand == 1)
      for (std::int64_t warp = 1; warp < ir::kWarpsOfGroup; ++warp)
        if (at(0, 0, warp) != first) return false;
    const auto matrix = ir::shared_matrix(
        operand == 0 ? rows * ir::kWarpsOfGroup : rows, match_.extents[2], size_in_bytes(b.dtype),
        [&](std::int64_t i, std::int64_t k) { return at(i % rows, k, i / rows) - first; });
    return matrix &&
           begins_well(
               ir::simplified(
                   ir::substitute(place,
                                  {{side, 0}, {sum, 0}, {warp_->name, Affine::symbol(kGroup) * 4}}),
                   whole_),
               matrix->across, size_in_bytes(b.dtype));
  }

  // Whether each tile begins at a multiple of eight lines, where the swizzle's pattern begins
  // (kMatrixAlignment), or behind it within the first line, by whole chunks, and ends in that line.
  // A tile whose terms lie across lines has to begin at the multiple itself.
  bool begins_well(const Affine& base, bool across, std::int64_t bytes) const {
    const std::int64_t together = ir::kMatrixAlignment / bytes, line = ir::kSharedLine / bytes;
    Affine within = base.constant() % together;  // a line
    for (const ir::Term& term : base.terms()) {
      if (term.coefficient % together == 0) continue;
      if (across || term.atom.div || term.coefficient % (ir::kSwizzledChunk / bytes) != 0)
        return false;
      within = within + Affine::symbol(term.atom.symbol) * term.coefficient;
    }
    const ir::Interval range = ir::range_of(within, whole_);
    return range.min && *range.min >= 0 && range.max &&
           *range.max + match_.extents[2] <= (across ? match_.extents[2] : line);
  }

  // Row-major: the sum of subscript times stride, from the innermost dimension out.
  static Affine linear(const ir::WarpMatch::Operand& operand, const StagedBuffer& b) {
    Affine sum = 0;
    std::int64_t stride = 1;
    for (std::size_t d = b.shape.size(); d-- > 0; stride *= b.shape[d])
      sum = sum + (*operand.indices)[d].affine * stride;
    return sum;
  }

  // Loops that the point does not name are 0: only differences between elements matter.
  static std::int64_t value_at(const Affine& e, const std::map<std::string, std::int64_t>& point) {
    std::set<std::string> symbols;
    e.collect_symbols(symbols);
    ir::Values values;
    for (const std::string& symbol : symbols) {
      const auto given = point.find(symbol);
      values[symbol] = given == point.end() ? 0 : given->second;
    }
    return ir::evaluate(e, values);
  }
};

}  // namespace

// Only once the script is complete: swizzle and pad may come behind tensorize.
std::optional<Refusal> check_warpgroups(const State& state) {
  std::vector<std::string> problems;
  for (const TensorizedLoop& tensorized : state.tensorized) {
    const ir::Intrinsic& row = *ir::find_intrinsic(tensorized.intrinsic);
    if (row.scope != ir::Scope::Warpgroup) continue;
    const auto nest = point_nest(state, *find_loop(state.tree, tensorized.loop), may_be_cut(row));
    if (!nest) return nest.error();
    const auto match = ir::match_warp(row, *nest);
    if (!match) continue;
    for (std::string& problem : Checker(state, tensorized, row, *match).problems())
      problems.push_back(std::move(problem));
  }
  if (problems.empty()) return std::nullopt;
  std::string all;
  for (const std::string& problem : problems) all += (all.empty() ? "" : "\n  ") + problem;
  return malformed(all);
}

}  // namespace polyte::schedule
