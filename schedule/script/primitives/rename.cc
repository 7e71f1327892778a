// rename i as x:   i > body   ->   x > body,   x = i. So that two nests may be merged, or a name is free again.
#include "schedule/script/primitives/remap.h"

namespace polyte::schedule {

Applied rename(const State& state, const Rename& directive, const PrimitiveContext& context) {
  const PrimitiveContext structure = {context.environment, nullptr};  // the order stays: nothing to prove
  return remap_one(state, directive.loop, directive.loop.loop, directive.name, structure);
}

}  // namespace polyte::schedule
