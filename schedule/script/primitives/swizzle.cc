// swizzle X by 4 every 2: where X's elements lie in shared memory. Within each 128 bytes, a word of
// every bank, chunks of 4 elements change places by the number of their row, or of each 2 rows:
//
//   by 1, rows of 32 floats      row 0: 0 1 2 3 ..      row 1: 1 0 3 2 ..      row 2: 2 3 0 1 ..
//
// so that a column lies in as many banks as there are chunks. A permutation by its form
// (ir::Swizzle), applied where addresses are made: subscripts, proof and interpreter do not see it.
// Rows shorter than 128 bytes lie in one line with others, and it is the line that is counted.
#include <algorithm>
#include <bit>

#include "schedule/script/primitives/buffers.h"
#include "support/checked.h"

namespace polyte::schedule {

namespace {

bool is_power_of_two(std::int64_t n) {
  return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n));
}

}  // namespace

Applied swizzle(const State& state, const Swizzle& directive, const PrimitiveContext& context) {
  const auto buffer = the_buffer(state, directive.tensor);
  if (!buffer) return buffer.error();
  const auto chunk = evaluate(directive.chunk, context);
  if (!chunk) return chunk.error();
  std::int64_t every = 1;
  if (!directive.every.text.empty()) {
    const auto given = evaluate(directive.every, context);
    if (!given) return given.error();
    every = *given;
  }
  State next = state;
  StagedBuffer& b = next.staged[*buffer];
  if (b.memory != Memory::Shared)
    return malformed(b.name + " is in " + ir::to_string(b.memory) +
                     ": only shared memory has banks");
  if (!b.swizzle.none()) return malformed(b.name + " is swizzled already");
  const std::int64_t line = ir::kSharedLine / size_in_bytes(b.dtype),
                     row = b.shape.empty() ? 1 : b.shape.back();
  if (!is_power_of_two(row))
    return malformed("a row of " + b.name + " has " + std::to_string(row) +
                     " elements: swizzle changes bits of their numbers, expected a power of two "
                     "(storage_align pads)");
  if (!is_power_of_two(*chunk) || *chunk >= line || *chunk > row)
    return malformed("chunks of " + std::to_string(*chunk) + ": expected a power of two, at most " +
                     std::to_string(std::min(row, line / 2)) + " in rows of " +
                     std::to_string(row));
  if (!is_power_of_two(every))
    return malformed("every " + std::to_string(every) + ": expected a power of two");
  b.swizzle = {*chunk, checked_mul(std::max(row, line), every)};
  return next;
}

}  // namespace polyte::schedule
