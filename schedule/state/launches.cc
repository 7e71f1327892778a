#include "schedule/state/launches.h"

#include <algorithm>

#include "ir/intrinsics.h"
#include "ir/shared_matrix.h"
#include "schedule/state/digits.h"
#include "schedule/state/fragments.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

using ir::kMostThreads;

// What a tree with loops of a GPU may look like, from the outside in:
//
//   serial loops            run by the host: a launch per iteration
//   block loops             the axes of the grid: at most three, each directly within the other
//   serial loops            run by all threads of a block together, with barriers between regions
//   thread, or warp > lane  a region: iteration i runs on thread i
//   serial, unrolled or vector loops of one thread
//
// Every loop and every buffer that breaks this is reported.
class LaunchChecker {
 public:
  LaunchChecker(const State& state, const Machine& machine) : state_(state), machine_(machine) {}

  std::vector<std::string> problems() {
    visit(state_.tree);
    for (const StagedBuffer& buffer : state_.staged)
      if (!buffer.at_compile_time) check_memory(buffer);
    check_shared_bytes();
    return std::move(problems_);
  }

 private:
  const State& state_;
  const Machine& machine_;
  std::vector<const Loop*> above_;
  std::vector<std::string> problems_;

  // A text once: a loop that several statements share would repeat it.
  void report(const std::string& text) {
    if (std::ranges::find(problems_, text) == problems_.end()) problems_.push_back(text);
  }

  void visit(const Tree& tree) {
    if (const auto* sequence = std::get_if<Sequence>(&tree->op))
      for (const Tree& child : sequence->children) {
        check_alone(child);
        visit(child);
      }
    const auto* loop = std::get_if<Loop>(&tree->op);
    if (!loop) return;
    check_place(*loop);
    if (ir::is_of_threads(loop->kind)) check_numbers(*loop);
    above_.push_back(loop);
    visit(loop->body);
    above_.pop_back();
  }

  template <class Test>
  const Loop* innermost_above(Test test) const {
    const auto found = std::ranges::find_if(above_.rbegin(), above_.rend(),
                                            [&](const Loop* l) { return test(l->kind); });
    return found == above_.rend() ? nullptr : *found;
  }

  static std::string text(const Loop& loop) { return print_loop(loop.name, loop.kind); }

  // Lanes stand in a warp, where lane l of warp w is thread 32*w + l. Other loops of threads do
  // not nest: the outer one's iterations are the threads already, and none is left for an
  // iteration of the inner one. Fused, the two are one loop of threads.
  void check_place(const Loop& loop) {
    const Loop* const threads =
        innermost_above([](LoopKind kind) { return ir::is_of_threads(kind); });
    const Loop* const blocks =
        innermost_above([](LoopKind kind) { return kind == LoopKind::Block; });
    if (loop.kind == LoopKind::Parallel)
      report(text(loop) + ": a GPU has blocks and threads, expected one of them");
    if (loop.kind == LoopKind::Block) return check_block(loop);
    if (!ir::is_of_threads(loop.kind)) return;
    if (!blocks) report(text(loop) + " is outside of blocks: bind a loop around it to block");
    if (loop.kind == LoopKind::Lane) {
      if (!threads || threads->kind != LoopKind::Warp)
        report(text(loop) +
               " is no lane of a warp: bind the loop around it to warp, or this one to thread");
    } else if (threads) {
      report(text(loop) + " is inside " + text(*threads) +
             ", whose iterations are threads already: fuse the two");
    }
  }

  // block i > { A; block j > B }: the launch of i has started when j is reached, so a loop of
  // blocks must not stand in a sequence inside another one.
  void check_alone(const Tree& tree) {
    const auto* loop = std::get_if<Loop>(&tree->op);
    const Loop* const blocks =
        innermost_above([](LoopKind kind) { return kind == LoopKind::Block; });
    if (loop && blocks && loop->kind == LoopKind::Block)
      report(text(*loop) + " stands beside others inside " + text(*blocks) +
             ": blocks start at the launch, expected loops of blocks directly within each other");
  }

  // The loops above one of blocks: serial ones of the host, then blocks without a loop between
  // them.
  void check_block(const Loop& loop) {
    const auto is_block = [](const Loop* above) { return above->kind == LoopKind::Block; };
    for (const Loop* above : above_)
      if (above->kind != LoopKind::Serial && above->kind != LoopKind::Block)
        report(text(loop) + " is inside " + text(*above) +
               ": loops around blocks are serial, a launch per iteration");
    const auto first = std::ranges::find_if(above_, is_block);
    if (const auto between = std::find_if_not(first, above_.end(), is_block);
        between != above_.end())
      report(text(loop) + " is inside " + text(**between) + ", which is inside " + text(**first) +
             ": blocks start at the launch, expected loops of blocks directly within each other");
    if (first != above_.end() && is_cut(loop))
      report(text(loop) + " runs in parts inside " + text(**first) +
             ": blocks start at the launch, expected the outermost of them cut, or none");
    if (std::ranges::count_if(above_, is_block) == kMostBlockLoops)
      report(text(loop) + " is inside " + std::to_string(kMostBlockLoops) +
             " loops of blocks, as many as a grid has axes: fuse two");
  }

  // Whether a `cut` makes the loop run in parts. These are launches one after the other, which
  // the inner axis of a grid cannot be.
  bool is_cut(const Loop& loop) const {
    return std::ranges::any_of(
        statements_below(state_.tree, loop.id), [&](const std::string& statement) {
          const auto& rows = state_.at(statement).rows;
          const auto row = std::ranges::find(rows, loop.name, &LoopRow::loop);
          return row != rows.end() && !row->cuts.empty();
        });
  }

  // Iteration i runs on thread i: iterations are numbered from 0, and how many there are is
  // known when the kernel is compiled. A block has at most 1024 threads, which are 32 warps of
  // 32 lanes.
  void check_numbers(const Loop& loop) {
    const ir::Ranges ranges = loop_ranges(state_, statements_below(state_.tree, loop.id));
    const auto range = ranges.find(loop.name);
    if (range == ranges.end()) return;  // nothing runs there
    if (!range->second.min || !range->second.max)
      return report(
          text(loop) +
          " has as many iterations as a size says: threads are counted when the kernel is "
          "compiled; split it and bind the inner loop");
    const std::int64_t first = *range->second.min, last = *range->second.max;
    if (first < 0)
      return report(text(loop) + " begins at " + std::to_string(first) +
                    ", and threads at 0: shift it");
    const bool is_lane = loop.kind == LoopKind::Lane, is_warp = loop.kind == LoopKind::Warp;
    const std::int64_t most = is_lane   ? ir::kLanes
                              : is_warp ? kMostThreads / ir::kLanes
                                        : kMostThreads;
    if (last >= most)
      report(text(loop) + " runs up to " + std::to_string(last) + ": " +
             (is_lane   ? "a warp has 32 lanes"
              : is_warp ? "a block has 32 warps"
                        : "a block has 1024 threads") +
             " at the most; split it");
  }

  // Where each memory exists:
  //   shared    within blocks, outside of threads: one copy per block
  //   heap      outside of blocks: memory of the device, allocated around whole launches
  //   register  within blocks; an element outside of threads belongs to the one thread that
  //             touches it (Prover::check_owners)
  //   stack     within threads: one copy per thread
  void check_memory(const StagedBuffer& buffer) {
    const std::vector<const Loop*> around = loops_around(buffer);
    const bool in_block =
        std::ranges::any_of(around, [](const Loop* l) { return l->kind == LoopKind::Block; });
    const bool in_thread =
        std::ranges::any_of(around, [](const Loop* l) { return ir::is_of_threads(l->kind); });
    const std::string where = buffer.name + " is kept in " + to_string(buffer.memory) + " ";
    if (buffer.memory == Memory::Shared && (!in_block || in_thread))
      report(where + (in_thread ? "inside a loop of threads" : "outside of blocks") +
             ": shared memory belongs to a block, stage it between the two");
    if (buffer.memory == Memory::Heap && in_block)
      report(where +
             "inside blocks: memory of the device is allocated for a whole launch; stage it in "
             "shared or "
             "register, or outside of blocks");
    if (buffer.memory == Memory::Register && !in_block)
      report(where + "outside of blocks: registers end with the launch, stage it inside");
    if (buffer.memory == Memory::Stack && !in_thread)
      report(where +
             "outside of threads: a stack belongs to one thread, stage it in shared or register");
  }

  // The loops in whose bodies the allocation lies, that of the buffer's site included.
  std::vector<const Loop*> loops_around(const StagedBuffer& buffer) const {
    const LoopId at = buffer.allocated_at();
    std::vector<const Loop*> result;
    if (at == kKernel) return result;
    for (const Loop* loop : all_loops(state_.tree))
      if (loop->id == at || find_loop(loop->body, at)) result.push_back(loop);
    return result;
  }

  // Buffers of all launches are added up: more than one block needs where there are several
  // launches, never less. Operands of a warpgroup's instructions begin at multiples of
  // kMatrixAlignment, for which so many bytes are set aside.
  void check_shared_bytes() {
    if (!machine_.gpu) return;
    std::int64_t bytes = 0;
    std::string names;
    for (const StagedBuffer& buffer : state_.staged) {
      if (buffer.memory != Memory::Shared) continue;
      std::int64_t own = size_in_bytes(buffer.dtype);
      for (const std::int64_t extent : buffer.shape) own = checked_mul(own, extent);
      bytes = checked_add(bytes, own);
      names += (names.empty() ? "" : ", ") + buffer.name + " " + std::to_string(own);
    }
    const bool is_aligned =
        std::ranges::any_of(state_.tensorized, [](const TensorizedLoop& tensorized) {
          return ir::find_intrinsic(tensorized.intrinsic)->scope == ir::Scope::Warpgroup;
        });
    if (is_aligned)
      bytes += ir::kMatrixAlignment, names += ", alignment " + std::to_string(ir::kMatrixAlignment);
    if (bytes > machine_.gpu->shared_block_bytes)
      report("shared memory of " + std::to_string(bytes) + " bytes (" + names +
             "): " + machine_.cpu + " has " + std::to_string(machine_.gpu->shared_block_bytes) +
             " for a block");
  }
};

// For a CPU: a tree without any loop of a GPU has no blocks, whose memory `shared` is.
std::vector<std::string> shared_without_blocks(const State& state) {
  std::vector<std::string> problems;
  for (const StagedBuffer& buffer : state.staged)
    if (buffer.memory == Memory::Shared)
      problems.push_back(
          buffer.name +
          " is kept in shared memory, which the blocks of a GPU have: no loop is bound to " +
          "block; expected register, stack or heap");
  return problems;
}

}  // namespace

bool is_for_device(const Tree& tree) {
  return tree && std::ranges::any_of(all_loops(tree),
                                     [](const Loop* loop) { return ir::is_of_device(loop->kind); });
}

std::optional<Refusal> check_launches(const State& state, const Machine& machine) {
  std::vector<std::string> problems = is_for_device(state.tree)
                                          ? LaunchChecker(state, machine).problems()
                                          : shared_without_blocks(state);
  for (std::string& problem : fragment_problems(state)) problems.push_back(std::move(problem));
  if (problems.empty()) return std::nullopt;
  Refusal refusal;
  refusal.kind = RefusalKind::Malformed;
  for (const std::string& problem : problems)
    refusal.headline += (refusal.headline.empty() ? "" : "\n  ") + problem;
  return refusal;
}

}  // namespace polyte::schedule
