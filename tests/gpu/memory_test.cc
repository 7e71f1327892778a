// What the loops say of the memory accesses of a warp is what the emulator counts.
#include <doctest/doctest.h>

#include <map>

#include "ir/program_text.h"
#include "ir/warp_memory.h"
#include "lower/lower.h"
#include "tests/gpu/emulate.h"
#include "tests/schedule/execute_state.h"

using namespace polyte;
using namespace polyte::gpu::testing;

namespace {

// "mm_launch0: acc.update reads x.c, shared: 512 requests of 4 bytes, cost 1024, ideal 512", a line each.
template <class Access>
std::string line_of(const std::string& kernel, const Access& a) {
  return kernel + ": " + a.statement + (a.write ? " writes " : " reads ") + a.buffer +
         (a.shared ? ", shared: " : ", global: ") + std::to_string(a.requests) + " requests of " +
         std::to_string(a.bytes) + " bytes, cost " + std::to_string(a.cost) + ", ideal " + std::to_string(a.ideal) +
         "\n";
}

struct Counted {
  std::string predicted, counted;
  std::int64_t cost = 0, ideal = 0;  // of shared memory
};

Counted count(const KernelFile& file, const ir::Values& sizes) {
  const codegen::Target target = polyte::gpu::testing::gpu("h100");
  const schedule::State state = scheduled(file, sizes, target.machine);
  const ir::LoopProgram loops = lower::lower(state, {.machine = target.machine});
  Counted result;
  int number = 0;
  for (const auto& launch : ir::memory_of(loops, {}, ir::Extent::All)) {
    const std::string kernel = loops.name + "_launch" + std::to_string(number++);
    for (const ir::MemoryAccess& a : launch)
      if (a.known) result.predicted += line_of(kernel, a);
  }
  const Emulated got = emulate(loops, schedule::make_inputs(*state.reference, 1), {}, {.count_accesses = true});
  REQUIRE(got.faults.empty());
  std::map<std::string, const runtime::LaunchCounts*> by_name;
  for (const runtime::LaunchCounts& launch : got.counts) by_name[launch.kernel] = &launch;
  for (const auto& [kernel, launch] : by_name) {
    for (const runtime::AccessCounts& a : launch->accesses) {
      result.counted += line_of(kernel, a);
      if (!a.shared) continue;
      result.cost += a.cost;
      result.ideal += a.ideal;
    }
  }
  return result;
}

}  // namespace

TEST_CASE("memory: predicted from the loops as counted by the emulator") {
  for (const KernelFile& file : kernel_files()) {
    if (file.reads_subscripts) continue;
    for (const ir::Values& sizes : file.sizes) {
      CAPTURE(file.name);
      const Counted result = count(file, sizes);
      CHECK(result.predicted == result.counted);
      if (file.no_conflicts && sizes == file.sizes.front()) CHECK(result.cost == result.ideal);
    }
  }
}
