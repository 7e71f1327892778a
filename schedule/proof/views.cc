// Views, proved on their own: the Program after `view T as [..]` is the one before, but for
// the shape of T and its subscripts, whose row-major places in the two shapes are the same sum
// of iterators. Each subscript stays within its extent: two elements of one shape are then two
// of the other.
#include <algorithm>

#include "ir/views.h"
#include "schedule/proof/rewrites.h"

namespace polyte::schedule {

std::optional<Refusal> check_view(const ir::Program& before, const Rewrite& rewrite,
                                  const Basis& after) {
  const auto fault = [&](const std::string& text) {
    return rewrite_fault("the Program with another view of " + rewrite.tensor +
                         " is not the Program: " + text);
  };
  const ir::Buffer *stored = before.find_buffer(rewrite.tensor),
                   *seen = after.program->find_buffer(rewrite.tensor);
  if (!stored || !seen) return fault("it has no such tensor");
  ir::Program undone = *after.program;
  std::ranges::find(undone.buffers, rewrite.tensor, &ir::Buffer::name)->shape = stored->shape;
  for (ir::Statement& s : undone.statements)
    ir::undo_view(*after.program, s, rewrite.tensor, ir::constant_shape(*stored),
                  ir::constant_shape(*seen));
  if (!ir::equal(undone, before)) return fault("its elements are at other places");
  return check_bounds(after.model, {});
}

}  // namespace polyte::schedule
