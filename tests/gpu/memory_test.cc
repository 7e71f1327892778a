// What the loops say of the memory accesses of a warp is what the emulator counts.
#include <doctest/doctest.h>

#include "ir/warp_memory.h"
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
      if (file.no_conflicts && sizes == file.sizes.front())
        CHECK(result.shared.cost == result.shared.ideal);
    }
  }
}

TEST_CASE("memory: what is walked stands for the whole launch") {
  const codegen::Target target = polyte::gpu::testing::gpu("h100");
  for (const KernelFile& file : kernel_files()) {
    if (file.reads_subscripts) continue;
    for (const ir::Values& sizes : file.sizes) {
      CAPTURE(file.name);
      const ir::LoopProgram loops =
          lower::lower(scheduled(file, sizes, target.machine), {.machine = target.machine});
      const auto all = ir::launches_of(loops, {}, ir::Extent::All);
      const auto some = ir::launches_of(loops, {}, ir::Extent::Representative);
      REQUIRE(all.size() == some.size());
      double requests = 0, whole = 0, estimated = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(some[i].work.launches == all[i].work.launches);  // jacobi has one in each step
        CHECK(some[i].work.blocks == doctest::Approx(all[i].work.blocks));
        for (const ir::MemoryAccess& a : all[i].accesses)
          requests += static_cast<double>(a.requests);
        whole += all[i].work.requests;
        estimated += some[i].work.requests;
      }
      CHECK(whole == requests);
      // The first block is a whole one, the last may be the rest of a tile; the first steps may
      // copy less than others.
      CHECK(estimated >= 0.5 * whole);
      CHECK(estimated <= 4 * whole);
    }
  }
}

TEST_CASE("memory: the work of products is their multiply-adds") {
  const codegen::Target target = polyte::gpu::testing::gpu("h100");
  for (const KernelFile& file : kernel_files()) {
    const bool by_tensor_cores =
        file.name == "mma_tile" || file.name == "mma_bytes" || file.name == "mma_words";
    if (file.name != "mm_tiles" && !by_tensor_cores) continue;
    ir::Values sizes{{"M", 256}, {"N", 128}, {"K", 64}};
    CAPTURE(file.name);
    const schedule::State state = scheduled(file, sizes, target.machine, schedule::ProofLevel::Off);
    const ir::LoopProgram loops = lower::lower(state, {.machine = target.machine});
    const ir::LaunchWork work = ir::launches_of(loops, {}, ir::Extent::Representative).at(0).work;
    const double products = 256.0 * 128 * 64;
    if (by_tensor_cores)
      CHECK(work.products == products * (file.name == "mma_bytes"   ? 0.5
                                         : file.name == "mma_words" ? 2
                                                                    : 1));
    else
      CHECK(work.instructions == doctest::Approx(products / 32).epsilon(0.05));
  }
}

TEST_CASE(
    "memory: nobody waits for a copy before its barrier, but where a vector is written apart") {
  const codegen::Target target = polyte::gpu::testing::gpu("h100");
  const auto ptx_of = [&](const char* name) {
    const KernelFile file = kernel_named(name);
    const schedule::State state = scheduled(file, file.sizes.front(), target.machine);
    const codegen::Kernel kernel{lower::lower(state, {.machine = target.machine}), {}};
    return codegen::compile({&kernel, 1}, target).device;
  };
  for (const char* name : {"mm_tiles", "mm_rounded"}) {
    CAPTURE(name);
    const std::string ptx = ptx_of(name);
    CHECK(count_of(ptx, "cp.async.ca.shared.global") + count_of(ptx, "cp.async.cg.shared.global") ==
          2);
    CHECK(count_of(ptx, "cp.async.wait_group") == 1);
  }
  const std::string swizzled = ptx_of("transpose_swizzled");
  CHECK(count_of(swizzled, "cp.async") == 0);
  CHECK(count_of(swizzled, "ld.global.v4") == 1);
}
