#include "schedule/script/hints.h"

#include <algorithm>
#include <cstdlib>

#include "schedule/script/primitives/lift.h"

namespace polyte::schedule {

namespace {

const StagedBuffer* staged(const State& state, const std::string& buffer) {
  for (const StagedBuffer& b : state.staged)
    if (b.name == buffer) return &b;
  return nullptr;
}

// The reads of the buffer by statements below the loop.
std::vector<BoxAccess> reads_below(const State& state, const Loop& loop,
                                   const std::string& buffer) {
  std::vector<BoxAccess> result;
  for (const Leaf* leaf : leaves_of(loop.body))
    for (const AccessRef& ref : accesses_of(state.at(leaf->statement)))
      if (!ref.write && ref.access.buffer == buffer)
        result.push_back({&state.at(leaf->statement), ref.access.indices});
  return result;
}

// The loops down to the hint's, which have one value while an iteration of it runs; loops of vector
// lanes left out, as all their iterations run at once.
LoopNames standing(const State& state, const std::string& statement, LoopId below) {
  LoopNames names;
  for (const Loop* loop : path_to(state.tree, statement)) {
    if (loop->kind != LoopKind::Vector) names.insert(loop->name);
    if (loop->id == below) break;
  }
  return names;
}

// Storage that begins anew within the counted loop does not exist ahead of its iteration, and
// cannot be brought near.
std::optional<Refusal> check_storage(const State& state, const StagedBuffer& b, const Loop& loop) {
  if (b.memory == Memory::Register)
    return malformed(b.name + " is kept in registers: there is nothing to prefetch");
  const LoopId place = b.allocated_at();
  if (place != kKernel && (place == loop.id || find_loop(loop.body, place)))
    return malformed(b.name + " begins anew in every iteration of " +
                     find_loop(state.tree, place)->name + ": nothing of it is there ahead of time");
  return std::nullopt;
}

std::optional<Refusal> check_prefetch(const State& state, const PrefetchHint& hint) {
  const Loop* loop = find_loop(state.tree, hint.loop);
  const Loop* along = find_loop(state.tree, hint.along);
  if (!loop)
    return malformed(hint.buffer +
                     " is prefetched at a loop that would be gone: prefetch comes after");
  if (!along)
    return malformed(hint.buffer +
                     " is prefetched along a loop that would be gone: prefetch comes after");
  if (along != loop && !find_loop(along->body, hint.loop))
    return malformed(hint.buffer + " is prefetched along " + along->name +
                     ", which would not be outside " + loop->name + ": prefetch comes after");
  for (const Loop* lanes : {loop, along})
    if (lanes->kind == LoopKind::Vector)
      return malformed(lanes->name + " is a vector loop, its iterations are lanes: prefetch " +
                       hint.buffer + " at a loop outside it");
  if (reads_below(state, *loop, hint.buffer).empty())
    return malformed("nothing below " + loop->name + " reads " + hint.buffer +
                     ": there is nothing to prefetch");
  if (const StagedBuffer* b = staged(state, hint.buffer)) return check_storage(state, *b, *along);
  return std::nullopt;
}

// True where the statement reads what lies in the memory of the buffer (`reuse`).
bool holds_read(const State& state, const ScheduledStatement& s, const std::string& buffer) {
  return std::ranges::any_of(state.reused, [&](const auto& pair) {
    return pair.second == buffer && reads(s, pair.first);
  });
}

// Refuses stores past the caches where the nest that writes the buffer reads it, too.
std::optional<Refusal> check_stream(const State& state, const std::string& buffer) {
  const StagedBuffer* b = staged(state, buffer);
  if (b && b->memory != Memory::Heap)
    return malformed(buffer + " lives in " + ir::to_string(b->memory) +
                     ": its stores do not go to memory at all");
  for (const Tree& nest : top_level(state.tree)) {
    std::string writer, reader;
    for (const Leaf* leaf : leaves_of(nest)) {
      const ScheduledStatement& s = state.at(leaf->statement);
      if (writes(s, buffer)) writer = leaf->statement;
      if (reads(s, buffer) || holds_read(state, s, buffer)) reader = leaf->statement;
    }
    if (!writer.empty() && !reader.empty())
      return malformed(buffer + " is read by " + reader + " in the nest where " + writer +
                       " writes it: past the caches, it would come back from memory");
  }
  return std::nullopt;
}

// Windows of neighbouring iterations overlap: of a box [o, o + e) that moves by s each time, 0 < s
// < e, the iteration before has brought all but the last s, which are [o + e - s, o + e). With s <
// 0 these are the first |s|.
void leave_shared(AheadBox& box, const std::string& loop) {
  std::optional<std::size_t> moving;
  for (std::size_t d = 0; d < box.origin.size(); ++d) {
    if (!box.origin[d].uses(loop)) continue;
    if (moving) return;
    moving = d;
  }
  if (!moving) return;
  ir::Affine& origin = box.origin[*moving];
  std::int64_t& extent = box.extent[*moving];
  const std::int64_t step = origin.coefficient(loop);
  const bool is_linear = !(origin - ir::Affine::symbol(loop) * step).uses(loop);
  if (!is_linear || std::abs(step) >= extent) return;
  if (step > 0) origin = origin + (extent - step);
  extent = std::abs(step);
}

// From the counted loop to that of the hint, both included; innermost first.
std::vector<std::string> loops_between(const State& state, const PrefetchHint& hint,
                                       const std::string& statement) {
  std::vector<std::string> names;
  for (const Loop* loop : path_to(state.tree, statement)) {
    if (!names.empty() || loop->id == hint.along) names.push_back(loop->name);
    if (loop->id == hint.loop) break;
  }
  std::ranges::reverse(names);
  return names;
}

}  // namespace

// The box of all reads in one iteration, without what the iteration before has brought,
// `distance` iterations later:
//
//   k.o > k > .. w[Kc*k.o + k, n]  at k.o distance 2     origin Kc*(k.o + 2), extent Kc
Result<AheadBox> ahead_of(const State& state, const PrefetchHint& hint) {
  const Loop* loop = find_loop(state.tree, hint.loop);
  const std::vector<BoxAccess> reads = reads_below(state, *loop, hint.buffer);
  const LoopNames outer = standing(state, reads.front().statement->body.name, hint.loop);
  auto read = box_of(state, reads, hint.buffer, outer);
  if (!read) return Decline{read.error().reason};
  AheadBox box{std::move(read->origin), std::move(read->extent)};
  // Of each loop from the hint's outwards to the counted one, without what its iteration before has
  // touched.
  for (const std::string& each : loops_between(state, hint, reads.front().statement->body.name))
    leave_shared(box, each);
  const std::string& counted = find_loop(state.tree, hint.along)->name;
  const ir::Bindings later = {{counted, ir::Affine::symbol(counted) + hint.distance}};
  for (ir::Affine& origin : box.origin) origin = ir::substitute(origin, later);
  return box;
}

// The box by rows: whole cache lines along the last dimension, each row of the others by
// itself.
std::int64_t lines_of(const AheadBox& box, DType dtype) {
  std::int64_t lines = 1;
  const std::int64_t of_line = kCacheLine / size_in_bytes(dtype);
  for (std::size_t d = 0; d < box.extent.size(); ++d)
    lines *= d + 1 == box.extent.size() ? (box.extent[d] + of_line - 1) / of_line : box.extent[d];
  return lines;
}

std::optional<Refusal> check_hints(const State& state) {
  for (const PrefetchHint& hint : state.prefetches)
    if (auto refusal = check_prefetch(state, hint)) return refusal;
  for (const std::string& buffer : state.nontemporal)
    if (auto refusal = check_stream(state, buffer)) return refusal;
  return std::nullopt;
}

}  // namespace polyte::schedule
