// bound_storage X: u by 40:   X.c has 40 places along u, as many as its box or more; proved to be
//                             enough.
// storage_align X: u by 16:   the stride of u is a multiple of 16 (or `from 1`: 1 more than one):
//                             the dimension within grows, as `pad` makes the innermost one grow.
// set_scope X register:       where it lives.
#include <numeric>

#include "schedule/script/primitives/buffers.h"
#include "support/checked.h"

namespace polyte::schedule {

Applied bound_storage(const State& state, const BoundStorage& directive,
                      const PrimitiveContext& context) {
  const auto buffer = the_buffer(state, directive.tensor);
  if (!buffer) return buffer.error();
  const auto dimension = the_dimension(state.staged[*buffer], directive.dimension);
  if (!dimension) return dimension.error();
  const auto extent = evaluate(directive.extent, context);
  if (!extent) return extent.error();
  if (*extent < 1)
    return malformed("bound_storage by " + std::to_string(*extent) + ": expected 1 or more");
  State next = state;
  StagedBuffer& b = next.staged[*buffer];
  if (b.shape[*dimension] == *extent)
    return malformed(b.name + " has " + std::to_string(*extent) + " of " + directive.dimension +
                     " already: bound_storage changes nothing");
  b.shape[*dimension] = *extent;
  if (context.prover)
    if (auto refusal = context.prover->check_bounds(next, users_of(next, b.name))) return *refusal;
  return next;
}

Applied storage_align(const State& state, const StorageAlign& directive,
                      const PrimitiveContext& context) {
  const auto buffer = the_buffer(state, directive.tensor);
  if (!buffer) return buffer.error();
  const auto dimension = the_dimension(state.staged[*buffer], directive.dimension);
  if (!dimension) return dimension.error();
  const auto factor = evaluate(directive.factor, context),
             offset = evaluate(directive.offset, context);
  if (!factor) return factor.error();
  if (!offset) return offset.error();
  if (*factor < 2)
    return malformed("storage_align by " + std::to_string(*factor) + ": expected 2 or more");
  if (*offset < 0 || *offset >= *factor)
    return malformed("storage_align from " + std::to_string(*offset) + ": expected 0 to " +
                     std::to_string(*factor - 1) + ", less than what it is aligned by");
  State next = state;
  StagedBuffer& b = next.staged[*buffer];
  if (*dimension + 1 >= b.shape.size())
    return malformed(directive.dimension + " is the innermost dimension of " + b.name +
                     ": its stride is 1");
  // The stride of dimension d is extent(d + 1) * within, `within` being the product of the
  // extents behind: extent(d + 1) grows until the stride is the offset modulo the factor.
  // Multiples of `within` reach only residues that gcd(within, factor) divides.
  std::int64_t within = 1;
  for (std::size_t d = *dimension + 2; d < b.shape.size(); ++d)
    within = checked_mul(within, b.shape[d]);
  std::int64_t& extent = b.shape[*dimension + 1];
  const auto stride = [&] { return checked_mul(extent, within); };
  if (stride() % *factor == *offset)
    return malformed("the stride of " + directive.dimension + " is " + std::to_string(stride()) +
                     " already: storage_align changes nothing");
  if (*offset % std::gcd(within, *factor) != 0)
    return malformed("no stride of " + directive.dimension + " is " + std::to_string(*offset) +
                     " modulo " + std::to_string(*factor) + ": it is a multiple of " +
                     std::to_string(within));
  while (stride() % *factor != *offset) ++extent;
  return next;
}

Applied set_scope(const State& state, const SetScope& directive, const PrimitiveContext&) {
  const auto buffer = the_buffer(state, directive.tensor);
  if (!buffer) return buffer.error();
  State next = state;
  StagedBuffer& b = next.staged[*buffer];
  if (b.memory == directive.memory)
    return malformed(b.name + " is in " + ir::to_string(b.memory) +
                     " already: set_scope changes nothing");
  if (!b.swizzle.none()) return malformed(b.name + " is swizzled: only shared memory has banks");
  if (b.at_compile_time)
    return malformed(b.name + " is packed before run time: it is memory of the artifact");
  b.memory = directive.memory;
  return next;
}

}  // namespace polyte::schedule
