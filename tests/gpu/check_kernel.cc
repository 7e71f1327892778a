#include "tests/gpu/check_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "driver/compile/execution_check.h"
#include "schedule/state/contract.h"
#include "schedule/state/digits.h"
#include "support/checked.h"
#include "tests/golden/programs.h"
#include "tests/gpu/emulate.h"

namespace polyte::gpu::testing {

bool agree(const ir::Contents& a, const ir::Contents& b, bool is_exact, double of_largest) {
  if (is_exact || !is_float(a.dtype)) return a.bytes == b.bytes;
  double largest = 0;
  for (std::int64_t i = 0; i < checked_product(a.shape); ++i) largest = std::max(largest, std::abs(ir::get_real(a, i)));
  for (std::int64_t i = 0; i < checked_product(a.shape); ++i) {
    const double x = ir::get_real(a, i), y = ir::get_real(b, i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (!(std::abs(x - y) <= 1e-4 * std::abs(x) + 1e-5 + of_largest * largest)) return false;
  }
  return true;
}

Expected expected_of(const std::shared_ptr<const ir::Program>& program) {
  Expected expected{driver::small_integer_environment(*program, 1), {}};
  ir::Environment interpreted = expected.inputs;
  ir::interpret(*program, interpreted, {});
  const driver::BuiltKernel naive =
      driver::build_kernel(program, gpu("h100").machine, driver::testing::unproved(driver::Arm::Naive));
  expected.outputs = emulate(naive.kernel.program, expected.inputs, {}).buffers;
  for (const ir::Buffer* buffer : program->interface())
    CHECK_MESSAGE(agree(interpreted.at(buffer->name), expected.outputs.at(buffer->name), false), buffer->name);
  return expected;
}

namespace {

// Sums of what is rounded to 16 bits on the way, otherwise than in the Program's order: two units in the last place.
double part_of_largest(const ir::Program& program) {
  double part = 0;
  for (const ir::Buffer& b : program.buffers) {
    if (b.role == ir::Role::Temp && b.dtype == DType::F16) part = std::max(part, 0x1p-9);
    if (b.role == ir::Role::Temp && b.dtype == DType::BF16) part = std::max(part, 0x1p-6);
  }
  return part;
}

}  // namespace

void check_run(const driver::BuiltKernel& kernel, const Expected& expected) {
  const bool is_exact = !driver::schedule_relaxes_rounding(*kernel.state);
  const Emulated got = emulate(kernel.kernel.program, expected.inputs, {},
                               {.order = runtime::ThreadOrder::Random, .interleave = true, .late_copies = true});
  REQUIRE(joined(got.faults) == "");
  CHECK(got.code == 0);
  for (const ir::Buffer* buffer : kernel.program->interface())
    CHECK_MESSAGE(agree(expected.outputs.at(buffer->name), got.buffers.at(buffer->name), is_exact,
                        part_of_largest(*kernel.program)),
                  buffer->name);
}

namespace {

double iterations_of(const schedule::State& state, const std::string& statement) {
  double count = 1;
  for (const auto& [iterator, range] : schedule::iterator_ranges(state, state.at(statement)))
    count *= static_cast<double>(*range.max - *range.min + 1);
  return count;
}

}  // namespace

std::string on_one_thread(const driver::BuiltKernel& kernel) {
  constexpr double kFew = 32;
  const schedule::State& state = *kernel.state;
  std::string names;
  for (const schedule::Leaf* leaf : schedule::leaves_of(state.tree)) {
    const auto has_threads = [](const schedule::Loop* loop) { return ir::is_of_threads(loop->kind); };
    if (iterations_of(state, leaf->statement) > kFew &&
        std::ranges::none_of(schedule::path_to(state.tree, leaf->statement), has_threads))
      names += leaf->statement + " ";
  }
  return names;
}

}  // namespace polyte::gpu::testing
