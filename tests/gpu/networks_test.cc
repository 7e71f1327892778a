// Every distinct group of the networks, small, by both schedulers: proved, on all threads, and the values of the
// Program, on the emulator in a random order of the threads.
#include "tests/gpu/networks.h"

#include <doctest/doctest.h>

#include <set>

#include "driver/compile/model.h"
#include "ir/program_text.h"
#include "tests/gpu/check_kernel.h"
#include "tests/gpu/emulate.h"

using namespace polyte;
using namespace polyte::gpu::testing;

namespace {

driver::ScheduledModel scheduled_by(driver::Arm arm, const graph::Graph& graph) {
  driver::ModelOptions options;
  options.arm = arm;
  options.jobs = 1;
  options.second_judge = false;  // the emulator is one
  return driver::schedule_model(graph, gpu::testing::gpu("h100"), options);
}

}  // namespace

TEST_CASE("networks on a GPU: every group by both schedulers, on all threads, right on the emulator") {
  std::set<std::string> done[2];  // by canonical text
  for (const SmallNetwork& network : small_networks()) {
    CAPTURE(network.name);
    for (const driver::Arm arm : {driver::Arm::Poly, driver::Arm::Template}) {
      CAPTURE(driver::to_string(arm));
      for (const driver::BuiltKernel& kernel : scheduled_by(arm, network.graph).kernels) {
        if (!done[arm == driver::Arm::Poly].insert(ir::canonical_text(*kernel.program)).second) continue;
        CAPTURE(ir::print(*kernel.program));
        CAPTURE(schedule::print(kernel.script));
        CHECK_FALSE(kernel.declined);
        CHECK(on_one_thread(kernel) == "");
        check_run(kernel, expected_of(kernel.program));
      }
    }
  }
  MESSAGE(done[0].size() << " groups by the templates, " << done[1].size() << " by poly");
  for (const std::set<std::string>& each : done) CHECK(each.size() > 60);
}
