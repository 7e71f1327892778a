// gpu_tile (i, j) by (16, 16):
//   i > j > body   ->   block i.o > block j.o > thread t > body,   t = 16 * i.i + j.i.
// The splits, the order with tiles outside, a fuse of the points and two kinds in one step, proved
// together: the order of all instances, and that iterations of blocks and threads are independent.
// The loops, in the order in which they are named, are a perfect nest; what stands between them
// goes between blocks and threads. That the loops around and below leave room for a launch is
// refused here in the words of check_launches, which sees the whole tree at the end.
#include <algorithm>

#include "schedule/script/primitives/edit.h"
#include "schedule/state/launches.h"

namespace polyte::schedule {

namespace {

// `around`: the loops outside of the tiled ones. `chain`: all loops from the outermost tiled one to
// the innermost, others between them included. `statement`: one below them.
struct MeantLoops {
  std::vector<const Loop*> around, chain;
  std::string statement;
};

std::optional<Refusal> check_line(const DeviceTile& directive, const PrimitiveContext& context) {
  const std::size_t count = directive.loops.size();
  if (count != directive.factors.size())
    return malformed("gpu_tile has " + std::to_string(count) + " loops and " +
                     std::to_string(directive.factors.size()) + " sizes");
  for (auto loop = directive.loops.begin(); loop != directive.loops.end(); ++loop)
    if (std::find(directive.loops.begin(), loop, *loop) != loop)
      return malformed("gpu_tile names " + *loop + " twice");
  std::int64_t threads = 1;
  std::string product;
  for (const Size& factor : directive.factors) {
    const auto size = evaluate(factor, context);
    if (!size) return size.error();
    if (*size < 1)
      return malformed("the size is " + std::to_string(*size) + ", expected 1 or more");
    product += (product.empty() ? "" : " * ") + std::to_string(*size);
    // Beyond the limit it no longer matters by how much.
    threads = threads > ir::kMostThreads / *size ? ir::kMostThreads + 1 : threads * *size;
  }
  if (threads > ir::kMostThreads)
    return malformed("a tile has " + product + " points, a thread each: a block has " +
                     std::to_string(ir::kMostThreads) + " threads at the most");
  return std::nullopt;
}

Result<MeantLoops, Refusal> meant_loops(const State& state, const DeviceTile& directive) {
  std::vector<const Loop*> tiled;
  for (const std::string& name : directive.loops) {
    const auto loop = the_loop(state, {directive.statement, name});
    if (!loop) return loop.error();
    tiled.push_back(*loop);
  }
  const Loop* innermost = *std::ranges::min_element(
      tiled, {}, [&](const Loop* loop) { return statements_below(state.tree, loop->id).size(); });
  MeantLoops meant;
  meant.statement = statements_below(state.tree, innermost->id).front();
  const std::vector<const Loop*> path = path_to(state.tree, meant.statement);
  for (const Loop* loop : tiled)
    if (std::ranges::find(path, loop) == path.end())
      return malformed(no_loop_text(state, meant.statement, loop->name));
  std::size_t found = 0;
  for (const Loop* loop : path) {
    if (std::ranges::find(tiled, loop) != tiled.end()) ++found;
    (found == 0 ? meant.around : meant.chain).push_back(loop);
    if (found == tiled.size()) break;
    if (found > 0 && !std::holds_alternative<Loop>(loop->body->op))
      return malformed(loop->name + " holds more than one loop: gpu_tile takes a perfect nest");
  }
  return meant;
}

// Blocks start at the launch, so that what is around them is the host's, or blocks as well.
std::optional<Refusal> check_around(const MeantLoops& meant, std::size_t tiled) {
  const std::string& outermost = meant.chain.front()->name;
  std::vector<const Loop*> blocks;
  for (const Loop* loop : meant.around) {
    const std::string text = print_loop(loop->name, loop->kind);
    if (loop->kind != LoopKind::Serial && loop->kind != LoopKind::Block)
      return malformed(outermost + " is inside " + text +
                       ": loops around blocks are serial, a launch per iteration");
    if (loop->kind == LoopKind::Block) blocks.push_back(loop);
    if (blocks.empty()) continue;
    const std::string outside = print_loop(blocks.front()->name, LoopKind::Block);
    if (loop->kind == LoopKind::Serial)
      return malformed(outermost + " is inside " + text + ", which is inside " + outside +
                       ": expected loops of blocks directly within each other");
    if (!std::holds_alternative<Loop>(loop->body->op))
      return malformed(outermost + " stands beside others inside " + text +
                       ": expected loops of blocks directly within each other");
  }
  if (blocks.size() + tiled > kMostBlockLoops)
    return malformed(
        "a grid has " + std::to_string(kMostBlockLoops) + " axes, got " + std::to_string(tiled) +
        " loops" +
        (blocks.empty() ? "" : " inside " + std::to_string(blocks.size()) + " of blocks") +
        ": fuse two before");
  return std::nullopt;
}

// The tiled loops have to be serial so far, and no loop below may be one of threads or cores.
std::optional<Refusal> check_kinds(const MeantLoops& meant) {
  for (const Loop* loop : meant.chain)
    if (loop->kind != LoopKind::Serial)
      return malformed(print_loop(loop->name, loop->kind) +
                       " has its kind already: gpu_tile takes serial loops");
  for (const Loop* loop : all_loops(meant.chain.back()->body))
    if (ir::is_threaded(loop->kind))
      return malformed(print_loop(loop->name, loop->kind) + " is inside " +
                       meant.chain.back()->name + ", whose iterations would be threads already");
  return std::nullopt;
}

// Refuses statements that are placed in an iteration of a loop that goes, and a name for the loop
// of threads that is taken.
std::optional<Refusal> check_names(const State& state, const DeviceTile& directive,
                                   const MeantLoops& meant, const std::string& threads) {
  for (const std::string& statement : statements_below(state.tree, meant.chain.back()->id)) {
    for (const Loop* loop : meant.chain)
      if (is_pinned(leaf_of(state, statement), *loop))
        return malformed(statement + " is placed in an iteration of " + loop->name +
                         ": gpu_tile comes before");
    for (const Loop* loop : path_to(state.tree, statement))
      if (loop->name == threads && !has(directive.loops, threads))
        return malformed(statement + " has a loop " + threads +
                         " already: give the loop of threads a name, as NAME");
  }
  return std::nullopt;
}

// block i.o > block j.o > between > i.i > j.i, the points one loop.
Applied tiled_nest(const State& state, const DeviceTile& directive, const MeantLoops& meant,
                   const std::string& threads, const PrimitiveContext& structure) {
  Applied next = tile(state, {directive.statement, directive.loops, directive.factors}, structure);
  std::vector<std::string> order, points;
  for (const std::string& loop : directive.loops) {
    order.push_back(tiles_of(loop));
    points.push_back(within_tile(loop));
  }
  for (const Loop* loop : meant.chain)
    if (!has(directive.loops, loop->name)) order.push_back(loop->name);
  std::ranges::copy(points, std::back_inserter(order));
  const std::string& owner = meant.statement;
  if (next && points.size() > 1) next = reorder(*next, {owner, order}, structure);
  std::string fused = points.front();
  for (std::size_t i = 1; next && i < points.size(); ++i) {
    next = fuse(*next, {{owner, fused}, {owner, points[i]}, threads}, structure);
    fused = threads;
  }
  if (next && fused != threads) next = rename(*next, {{owner, fused}, threads}, structure);
  for (std::size_t i = 0; next && i < points.size(); ++i)
    next = set_kind(*next, {owner, order[i]}, LoopKind::Block, structure);
  if (next) next = set_kind(*next, {owner, threads}, LoopKind::Thread, structure);
  return next;
}

}  // namespace

Applied gpu_tile(const State& state, const DeviceTile& directive, const PrimitiveContext& context) {
  if (auto refusal = check_line(directive, context)) return *refusal;
  const auto meant = meant_loops(state, directive);
  if (!meant) return meant.error();
  if (auto refusal = check_kinds(*meant)) return *refusal;
  if (auto refusal = check_around(*meant, directive.loops.size())) return *refusal;
  const std::string by_itself =
      directive.loops.size() == 1 ? within_tile(directive.loops.front()) : "t";
  const std::string threads = directive.name.empty() ? by_itself : directive.name;
  if (auto refusal = check_names(state, directive, *meant, threads)) return *refusal;
  const PrimitiveContext structure = {context.environment, nullptr};
  Applied next = tiled_nest(state, directive, *meant, threads, structure);
  if (!next) return next;
  const std::vector<std::string> below = statements_below(state.tree, meant->chain.front()->id);
  if (auto refusal = check_moved(*next, below, context)) return *refusal;
  if (auto refusal = check_races(*next, below, context)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
