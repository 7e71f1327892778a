// fold_storage X: u by 3:   X.c[u, x] of 34 rows   ->   X.c[u % 3, x] of 3 rows
// Rows three apart share a place. Proved by liveness: every read still finds the value that the
// reference names; a refusal shows the read and what it would get. A temporary without a buffer
// gets one for the whole kernel.
#include "schedule/script/primitives/buffers.h"

namespace polyte::schedule {

Applied fold_storage(const State& state, const FoldStorage& directive,
                     const PrimitiveContext& context) {
  State base = state;
  const ir::Buffer* tensor = state.reference->find_buffer(directive.tensor);
  auto buffer = the_buffer(base, directive.tensor);
  if (!buffer && tensor && tensor->role == ir::Role::Temp &&
      users_of(state, directive.tensor).size() > 1) {
    Stage whole;
    whole.tensor = directive.tensor;
    auto staged = stage(state, whole, {context.environment, nullptr});
    if (!staged) return staged;
    base = std::move(*staged);
    buffer = the_buffer(base, directive.tensor);
  }
  if (!buffer) return buffer.error();
  const auto dimension = the_dimension(base.staged[*buffer], directive.dimension);
  if (!dimension) return dimension.error();
  const auto factor = evaluate(directive.factor, context);
  if (!factor) return factor.error();
  if (*factor < 1) return malformed("fold by " + std::to_string(*factor) + ": expected 1 or more");
  const StagedBuffer& b = base.staged[*buffer];
  if (*factor >= b.shape[*dimension]) return base;  // nothing to fold at this size
  State next = base;
  fold_dimension(next, *buffer, *dimension, *factor);
  if (auto refusal = check_fold(next, base, *buffer, *dimension, *factor, context)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
