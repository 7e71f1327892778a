// transform_layout X (i, j) [j, i]:   X[i, j]   ->   X.p[j, i]
// Storage in another order, without copies: of a temporary, or of a buffer that there is. A result
// or an input has the layout that its owner knows; `stage` and `pack` copy those.
#include "schedule/script/primitives/buffers.h"

namespace polyte::schedule {

Applied transform_layout(const State& state, const TransformLayout& directive,
                         const PrimitiveContext& context) {
  const ir::Buffer* tensor = state.reference->find_buffer(directive.tensor);
  if (tensor && tensor->role != ir::Role::Temp && !the_buffer(state, directive.tensor))
    return malformed(tensor->name + " is an " + ir::to_string(tensor->role) +
                     " tensor: its layout is its owner's (stage or pack copies it)");
  Stage whole;
  whole.tensor = directive.tensor;
  whole.names = directive.names;
  whole.layout = directive.layout;
  if (const auto buffer = the_buffer(state, directive.tensor)) {
    const StagedBuffer& b = state.staged[*buffer];
    if (b.at_compile_time)
      return malformed(b.name + " is packed before run time: say its layout there");
    whole.tensor = b.name;
    whole.memory = b.memory;
    if (b.scope_loop != kKernel) {
      const Loop* loop = find_loop(state.tree, b.scope_loop);
      whole.at = LoopName{users_of(state, b.name).front(), loop->name};
    }
  } else if (!tensor) {
    return buffer.error();
  }
  auto next = stage(state, whole, context);
  if (!next) return next;
  if (next->statements.size() != state.statements.size())
    return conservative(whole.tensor +
                        " would be copied: its layout is changed where it is staged");
  return next;
}

}  // namespace polyte::schedule
