// rename i as x:   i > body   ->   x > body,   x = i. So that two nests may be merged, or a name is free again. A loop
// that statements share is one loop: it has the new name in all of them.
#include "schedule/script/primitives/remap.h"

namespace polyte::schedule {

Applied rename(const State& state, const Rename& directive, const PrimitiveContext& context) {
  const PrimitiveContext structure = {context.environment, nullptr};  // the order stays: nothing to prove
  const std::string& loop = directive.loop.loop;
  if (directive.loop.statement.empty()) return remap_one(state, directive.loop, loop, directive.name, structure);
  const auto found = the_loop(state, directive.loop);
  if (!found) return found.error();
  Remap remap{statements_below(state.tree, (*found)->id), {directive.name}, {{loop}}, {loop}};
  return schedule::remap(state, remap, structure);
}

}  // namespace polyte::schedule
