// shift S: i by 2:   i > { R; S }   ->   i > { R; S },   i = i + 2 for S: S of iteration i runs
// two iterations later, beside R of iteration i + 2. What makes a merge legal whose consumer reads
// ahead. `as` names the new loop.
#include "schedule/script/affine_expr.h"
#include "schedule/script/primitives/remap.h"

namespace polyte::schedule {

Applied shift(const State& state, const Shift& directive, const PrimitiveContext& context) {
  const auto owners = owners_of(state, directive.loop);
  if (!owners) return owners.error();
  const std::vector<std::string> loops = owned_loops(state, owners->front());
  const auto value = parse_affine(directive.by.text, loops, "loops", context.environment.values);
  if (value && !value->is_constant())
    return malformed("'" + directive.by.text +
                     "' uses a loop: shift moves a loop by a number, skew by other loops");
  const auto by = evaluate(directive.by, context);
  if (!by) return by.error();
  return remap_one(state, directive.loop, directive.loop.loop + " + (" + std::to_string(*by) + ")",
                   directive.name, context);
}

}  // namespace polyte::schedule
