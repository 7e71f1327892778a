// reverse i:   i > body   ->   i > body,   i = -i
// The last iteration comes first. `as` names the new loop.
#include "schedule/script/primitives/remap.h"

namespace polyte::schedule {

Applied reverse(const State& state, const Reverse& directive, const PrimitiveContext& context) {
  return remap_one(state, directive.loop, "-" + directive.loop.loop, directive.name, context);
}

}  // namespace polyte::schedule
