#include "tests/gpu/check_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "driver/compile/execution_check.h"
#include "schedule/state/contract.h"
#include "schedule/state/digits.h"
#include "schedule/state/fragments.h"
#include "support/checked.h"
#include "tests/golden/programs.h"
#include "tests/gpu/emulate.h"

namespace polyte::gpu::testing {

bool agree(const ir::Contents& a, const ir::Contents& b, bool is_exact, double of_largest) {
  if (is_exact || !is_float(a.dtype)) return a.bytes == b.bytes;
  double largest = 0;
  for (std::int64_t i = 0; i < checked_product(a.shape); ++i)
    largest = std::max(largest, std::abs(ir::get_real(a, i)));
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
  const driver::BuiltKernel naive = driver::build_kernel(
      program, gpu("h100").machine, driver::testing::unproved(driver::Scheduler::Naive));
  expected.outputs = emulate(naive.kernel.program, expected.inputs, {}).buffers;
  for (const ir::Buffer* buffer : program->interface())
    CHECK_MESSAGE(agree(interpreted.at(buffer->name), expected.outputs.at(buffer->name), false),
                  buffer->name);
  return expected;
}

namespace {

// Sums of what is rounded to 16 bits on the way, otherwise than in the Program's order: two units
// in the last place.
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
  const Emulated got =
      emulate(kernel.kernel.program, expected.inputs, {},
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

// How the iterations of a statement are spread over one block.
struct InBlock {
  double threads = 1, steps = 1;  // steps: of one thread
};

// Threads that loops say, and lanes of a warp that none does, where an instruction of the warp runs
// or its registers are touched.
InBlock in_block(const schedule::State& state, const std::string& statement) {
  const ir::Ranges ranges = schedule::loop_ranges(state, state.at(statement));
  std::set<schedule::LoopId> by_lanes;
  for (const schedule::LoopId id : schedule::loops_of_lanes(state)) by_lanes.insert(id);
  for (const schedule::TensorizedLoop& tensorized : state.tensorized)
    by_lanes.insert(tensorized.loop);
  InBlock result{1, iterations_of(state, statement)};
  double blocks = 1, lanes = 1;
  for (const schedule::Loop* loop : schedule::path_to(state.tree, statement)) {
    if (by_lanes.contains(loop->id)) lanes = ir::kLanes;
    const auto extent =
        static_cast<double>(*ranges.at(loop->name).max - *ranges.at(loop->name).min + 1);
    if (loop->kind == ir::LoopKind::Block) blocks *= extent;
    if (ir::is_of_threads(loop->kind)) result.threads *= extent;
  }
  result.threads *= lanes;
  result.steps /= blocks * result.threads;
  return result;
}

}  // namespace

std::string on_one_thread(const driver::BuiltKernel& kernel) {
  constexpr double kFew = 32;
  const schedule::State& state = *kernel.state;
  std::set<schedule::LoopId> with_threads;  // outermost loops
  const auto outermost = [&](const schedule::Leaf& leaf) {
    const auto path = schedule::path_to(state.tree, leaf.statement);
    return path.empty() ? schedule::kKernel : path.front()->id;
  };
  for (const schedule::Leaf* leaf : schedule::leaves_of(state.tree))
    if (in_block(state, leaf->statement).threads > 1) with_threads.insert(outermost(*leaf));
  std::string names;
  for (const schedule::Leaf* leaf : schedule::leaves_of(state.tree)) {
    const InBlock spread = in_block(state, leaf->statement);
    if (spread.threads > 1 || iterations_of(state, leaf->statement) <= kFew) continue;
    if (spread.steps > kFew || !with_threads.contains(outermost(*leaf)))
      names += leaf->statement + " ";
  }
  return names;
}

}  // namespace polyte::gpu::testing
