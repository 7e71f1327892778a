// What the loops say of the memory accesses of a warp is what the emulator counts.
#include <doctest/doctest.h>

#include "lower/lower.h"
#include "tests/gpu/emulate.h"
#include "tests/schedule/execute_state.h"

using namespace polyte;
using namespace polyte::gpu::testing;

namespace {

Traffic traffic_of(const KernelFile& file, const ir::Values& sizes) {
  const codegen::Target target = polyte::gpu::testing::gpu("h100");
  const schedule::State state = scheduled(file, sizes, target.machine);
  return gpu::testing::traffic_of(lower::lower(state, {.machine = target.machine}),
                                  schedule::make_inputs(*state.reference, 1));
}

}  // namespace

TEST_CASE("memory: predicted from the loops as counted by the emulator") {
  for (const KernelFile& file : kernel_files()) {
    if (file.reads_subscripts) continue;
    for (const ir::Values& sizes : file.sizes) {
      CAPTURE(file.name);
      const Traffic result = traffic_of(file, sizes);
      CHECK(result.predicted == result.counted);
      if (file.no_conflicts && sizes == file.sizes.front()) CHECK(result.shared.cost == result.shared.ideal);
    }
  }
}
