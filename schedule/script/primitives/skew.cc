// skew j by 2*i:   i > j > body   ->   i > j > body,   j = j + 2*i.   Instances of a column come
// later in later rows: what makes the bands of a stencil permutable. `as` names the new loop.
#include "schedule/script/affine_expr.h"
#include "schedule/script/primitives/remap.h"

namespace polyte::schedule {

Applied skew(const State& state, const Skew& directive, const PrimitiveContext& context) {
  const auto owners = owners_of(state, directive.loop);
  if (!owners) return owners.error();
  const std::vector<std::string> loops = owned_loops(state, owners->front());
  const auto by = parse_affine(directive.by.text, loops, "loops of " + owners->front(),
                               context.environment.values);
  if (!by) return malformed(by.error().reason);
  if (by->uses(directive.loop.loop))
    return malformed("skew " + directive.loop.loop + " is by other loops, '" + directive.by.text +
                     "' uses " + directive.loop.loop + " itself");
  if (by->is_constant())
    return malformed("'" + directive.by.text + "' uses no loop: shift moves a loop by a number");
  return remap_one(state, directive.loop, directive.loop.loop + " + (" + directive.by.text + ")",
                   directive.name, context);
}

}  // namespace polyte::schedule
