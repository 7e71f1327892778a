// hoist_storage X at M:   M > L > { alloc X; .. }   ->   M > { alloc X;  L > .. }
// The buffer is allocated in the body of an outer loop (`root`: around the kernel); its contents
// still begin anew in every iteration of the loop that it was staged at. Not past a parallel loop:
// its iterations would share it.
#include "schedule/script/primitives/buffers.h"

namespace polyte::schedule {

namespace {

// The outer loop: it has to be above the one that the buffer is staged at.
Result<LoopId, Refusal> target_of(const State& state, const StagedBuffer& b, const LoopName& name) {
  if (name.loop == "root") return kKernel;
  const auto users = users_of(state, b.name);
  std::vector<std::string> above;
  for (const Loop* loop : path_to(state.tree, users.front())) {
    if (loop->id == b.scope_loop) break;
    if (loop->name == name.loop) return loop->id;
    above.push_back(loop->name);
  }
  return malformed(b.name + " is not staged below " + name.loop +
                   " (above it: " + (above.empty() ? "root" : "root, " + join_words(above)) + ")");
}

}  // namespace

Applied hoist_storage(const State& state, const HoistStorage& directive, const PrimitiveContext&) {
  const auto buffer = the_buffer(state, directive.tensor);
  if (!buffer) return buffer.error();
  State next = state;
  StagedBuffer& b = next.staged[*buffer];
  if (b.scope_loop == kKernel) return malformed(b.name + " is allocated around the kernel already");
  const auto target = target_of(state, b, directive.at);
  if (!target) return target.error();
  if (b.alloc_loop == *target) return malformed(b.name + " is allocated there already");
  b.alloc_loop = *target;
  if (auto refusal = settle(next)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
