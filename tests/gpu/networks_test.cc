// Every distinct group of the networks, small, by both schedulers: proved, on all threads, and the values of the
// Program, on the emulator in a random order of the threads.
#include "tests/gpu/networks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "driver/compile/model.h"
#include "ir/program_text.h"
#include "tests/gpu/check_kernel.h"
#include "tests/gpu/emulate.h"
#include "tests/gpu/layers.h"

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

bool is_in_one_pass(const driver::BuiltKernel& kernel) {
  return schedule::print(kernel.script).find("\nrewrite online ") != std::string::npos;
}

}  // namespace

TEST_CASE("networks on a GPU: every group by both schedulers, on all threads, right on the emulator") {
  std::set<std::string> done[2];  // by canonical text
  for (const SmallNetwork& network : small_networks()) {
    CAPTURE(network.name);
    for (const driver::Arm arm : {driver::Arm::Poly, driver::Arm::Template}) {
      CAPTURE(driver::to_string(arm));
      int passes = 0;
      for (const driver::BuiltKernel& kernel : scheduled_by(arm, network.graph).kernels) {
        passes += is_in_one_pass(kernel) ? 1 : 0;
        if (!done[arm == driver::Arm::Poly].insert(ir::canonical_text(*kernel.program)).second) continue;
        CAPTURE(ir::print(*kernel.program));
        CAPTURE(schedule::print(kernel.script));
        CHECK_FALSE(kernel.declined);
        CHECK(on_one_thread(kernel) == "");
        check_run(kernel, expected_of(kernel.program));
      }
      if (arm == driver::Arm::Template) CHECK(passes == (network.name == "bert" ? 1 : 0));  // attention
    }
  }
  MESSAGE(done[0].size() << " groups by the templates, " << done[1].size() << " by poly");
  for (const std::set<std::string>& each : done) CHECK(each.size() > 60);
}

TEST_CASE("networks on a GPU: attention that no single pass takes is handed back, and exact code has none") {
  const auto groups_of = [](std::int64_t width, bool exact) {
    Layers net({1, 20, width});
    const std::string keys = net.transpose("x", {0, 2, 1});
    const std::string scores = net.like("x", "MatMul", {"x", keys}), values = net.relu("x");
    driver::ModelOptions options;
    options.jobs = 1;
    options.exact = exact;
    options.arm = driver::Arm::Template;
    const driver::ScheduledModel model =
        driver::schedule_model(net.finish(net.like("x", "MatMul", {net.unary("Softmax", scores), values})),
                               gpu::testing::gpu("h100"), options);
    const bool handed_back = std::ranges::any_of(model.notes, [](const std::string& note) {
      return note.find("it is not computed in one pass; split between") != std::string::npos;
    });
    CHECK(handed_back == (width > 128 && !exact));
    return model.groups.size();
  };
  CHECK(groups_of(24, false) == 3);
  CHECK(groups_of(24, true) == 5);
  CHECK(groups_of(150, false) == 5);  // no tile of a block holds such rows
}
