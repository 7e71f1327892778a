// compute_with A, B at L: merge A, B through L, in Halide's words. The nest that stands
// first stays first.
#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

Applied compute_with(const State& state, const ComputeWith& directive,
                     const PrimitiveContext& context) {
  for (const std::string& name : {directive.statement, directive.with})
    if (const auto statement = the_statement(state, name); !statement) return statement.error();
  if (directive.statement == directive.with)
    return malformed("compute_with joins two statements, got one");
  for (const Leaf* leaf : leaves_of(state.tree)) {
    if (leaf->statement == directive.statement)
      return merge(state, {{directive.statement, directive.with}, directive.through}, context);
    if (leaf->statement == directive.with)
      return merge(state, {{directive.with, directive.statement}, directive.through}, context);
  }
  return malformed("no statement is called " + directive.statement);
}

}  // namespace polyte::schedule
