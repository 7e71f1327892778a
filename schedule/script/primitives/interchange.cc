// interchange i, k:   i > j > k > body   ->   k > j > i > body.   Two loops of a perfect nest
// change places; the loops between them stay. `reorder` of these two.
#include <algorithm>

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

Applied interchange(const State& state, const Interchange& directive,
                    const PrimitiveContext& context) {
  if (directive.outer == directive.inner) return malformed("interchange takes two different loops");
  const auto loop = the_loop(state, {directive.statement, directive.outer});
  if (!loop) return loop.error();
  const std::string below = statements_below(state.tree, (*loop)->id).front();
  std::vector<std::string> order = {directive.inner, directive.outer};
  for (const Loop* l : path_to(state.tree, below))  // the one that is outside now goes inside
    if (l->name == directive.inner || l->name == directive.outer) {
      if (l->name == directive.inner) std::swap(order[0], order[1]);
      break;
    }
  return reorder(state, {directive.statement, order}, context);
}

}  // namespace polyte::schedule
