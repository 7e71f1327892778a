#include "driver/package/thread_cost.h"

#include <algorithm>

#include "driver/compile/flops.h"
#include "ir/open_program.h"
#include "support/checked.h"

namespace polyte::driver {
namespace {

constexpr double kCyclesPerMicrosecond = 3000;
// From the second-level cache or memory; one core of today's machines, within a factor of two.
constexpr double kBytesPerMicrosecond = 16000;
// Publishing a job to a worker that still spins, its first cache misses, and the wait at the
// end: assumed.
constexpr double kHandOverMicroseconds = 2;

double least_microseconds(const ir::Program& program, const Machine& machine) {
  double bytes = 0;
  DType widest = DType::F32;
  for (const ir::Buffer* buffer : program.interface()) {
    bytes += static_cast<double>(checked_product(ir::constant_shape(*buffer))) *
             size_in_bytes(buffer->dtype);
    if (buffer->dtype == DType::F64) widest = DType::F64;
  }
  const double per_cycle = 2.0 * machine.fma_per_cycle * machine.lanes(widest);
  return std::max(count_flops(program) / (per_cycle * kCyclesPerMicrosecond),
                  bytes / kBytesPerMicrosecond);
}

}  // namespace

// Two threads save half of the time, more threads little more than that: t / 2 has to be more than
// the hand-over.
bool is_worth_threads(const ir::Program& program, const Machine& machine) {
  return least_microseconds(program, machine) / 2 > kHandOverMicroseconds;
}

std::int64_t least_scale_for_threads(const ir::Program& program, const ir::Values& typical,
                                     const Machine& machine) {
  if (program.params.empty()) return 1;
  std::int64_t scale = 1;
  for (const auto& [param, size] : typical) scale = std::max(scale, size);
  // The time is taken to grow with the scale: each * s / 2 > hand-over.
  const double each =
      least_microseconds(ir::at_typical(program, typical), machine) / static_cast<double>(scale);
  return static_cast<std::int64_t>(std::clamp(2 * kHandOverMicroseconds / each, 1.0, 1e12));
}

}  // namespace polyte::driver
