// The kernels of the benchmark suites by both schedulers, at their own sizes: on all threads, taken by the assembler
// for every architecture without a spill, and with just the barriers that they need.
#include <doctest/doctest.h>

#include "codegen/nvptx/assembler.h"
#include "driver/compile/execution_check.h"
#include "support/checked.h"
#include "tests/golden/programs.h"
#include "tests/gpu/emulate.h"

using namespace polyte;
using namespace polyte::gpu::testing;
using driver::Arm;
using driver::BuiltKernel;

namespace {

// Bytes of buffers that are filled for a kernel; larger ones are left to the machine that has a GPU.
constexpr std::int64_t kEmulatedBytes = std::int64_t{16} << 20;

struct SuiteKernel {
  std::string name;
  BuiltKernel built;
};

std::vector<SuiteKernel> kernels(const std::string& machine) {
  std::vector<SuiteKernel> all;
  for (const driver::testing::NamedProgram& named : driver::testing::programs_in({"bench/suites"}, {}))
    for (const Arm arm : {Arm::Poly, Arm::Template})
      all.push_back(
          {named.name + " by " + std::string(driver::to_string(arm)),
           driver::build_kernel(named.program, gpu::testing::gpu(machine).machine, driver::testing::unproved(arm))});
  return all;
}

void check_assembled(const std::string& ptx, const Machine& machine) {
  const codegen::DeviceBinary binary = codegen::assemble_ptx(ptx, machine);
  CHECK(joined(binary.messages) == "");
  for (const codegen::DeviceBinary::Kernel& each : binary.kernels) {
    CAPTURE(each.name);
    CHECK(each.spill_store_bytes + each.spill_load_bytes == 0);
  }
}

std::int64_t bytes_of(const ir::Program& program) {
  std::int64_t sum = 0;
  for (const ir::Buffer* buffer : program.interface())
    sum += checked_product(ir::constant_shape(*buffer)) * size_in_bytes(buffer->dtype);
  return sum;
}

}  // namespace

TEST_CASE("suites on a GPU: nothing on one thread, code for every architecture without a spill") {
  if (!codegen::has_assembler()) MESSAGE("no ptxas here: the code is not assembled");
  for (const std::string name : {"a100", "l4", "sm_90", "h100"}) {
    const codegen::Target target = gpu::testing::gpu(name);
    for (const SuiteKernel& kernel : kernels(name)) {
      CAPTURE(name);
      CAPTURE(kernel.name);
      CHECK(joined(kernel.built.notes).find("on one thread") == std::string::npos);
      const std::string ptx = codegen::compile({&kernel.built.kernel, 1}, target).device;
      if (!codegen::has_assembler()) continue;
      check_assembled(ptx, target.machine);
      if (name != "sm_90") continue;
      for (const int newer : {100, 120}) {  // what is said for sm_90 runs on these as well
        Machine machine = target.machine;
        machine.gpu->compute_capability = newer;
        check_assembled(ptx, machine);
      }
    }
  }
}

TEST_CASE("suites on a GPU: every barrier is needed") {
  for (const SuiteKernel& kernel : kernels("h100")) {
    CAPTURE(kernel.name);
    if (bytes_of(*kernel.built.program) > kEmulatedBytes) {
      MESSAGE("not emulated, too large: " << kernel.name);
      continue;
    }
    check_barriers(kernel.built.kernel.program, driver::small_integer_environment(*kernel.built.program, 1));
  }
}
