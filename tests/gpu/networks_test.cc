// Every distinct group of the networks, small, by both schedulers: proved, on all threads, and
// the values of the Program, on the emulator in a random order of the threads; compiled exactly,
// the bits of the CPU.
#include "tests/gpu/networks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "driver/compile/execution_check.h"
#include "driver/compile/model.h"
#include "ir/program_text.h"
#include "support/checked.h"
#include "tests/codegen/native.h"
#include "tests/golden/programs.h"
#include "tests/gpu/check_kernel.h"
#include "tests/gpu/emulate.h"
#include "tests/gpu/layers.h"
#include "tests/sweep.h"

using namespace polyte;
using namespace polyte::gpu::testing;

namespace {

driver::ScheduledModel scheduled_by(driver::Scheduler scheduler, const graph::Graph& graph,
                                    bool exact = false) {
  driver::ModelOptions options;
  options.scheduler = scheduler;
  options.exact = exact;
  options.jobs = 1;
  options.second_judge = false;  // the emulator is one
  return driver::schedule_model(graph, gpu::testing::gpu("h100"), options);
}

bool is_in_one_pass(const driver::BuiltKernel& kernel) {
  return schedule::print(kernel.script).find("\nrewrite online ") != std::string::npos;
}

// Small integers and a fraction each, of which sums are rounded.
ir::Environment fractions(const ir::Program& program) {
  ir::Environment inputs = driver::small_integer_environment(program, 1);
  for (auto& [name, contents] : inputs)
    for (std::int64_t i = 0; is_float(contents.dtype) && i < checked_product(contents.shape); ++i)
      ir::set_real(contents, i,
                   ir::get_real(contents, i) + static_cast<double>(i * 37 % 101) / 101);
  return inputs;
}

// The machine code of this CPU, in the order of the Program.
ir::Environment on_cpu(const std::shared_ptr<const ir::Program>& program, ir::Environment buffers) {
  const Machine machine = codegen::detect_host().machine;
  codegen::testing::run_native(
      driver::build_kernel(program, machine, driver::testing::unproved(driver::Scheduler::Naive))
          .kernel.program,
      buffers);
  return buffers;
}

void check_bits_on_cpu(const driver::BuiltKernel& kernel) {
  CHECK_FALSE(driver::schedule_relaxes_rounding(*kernel.state));
  const ir::Environment inputs = fractions(*kernel.program);
  const Emulated got = emulate(kernel.kernel.program, inputs, {},
                               {.order = runtime::ThreadOrder::Random, .interleave = true});
  REQUIRE(joined(got.faults) == "");
  CHECK(codegen::testing::differences(kernel.kernel.program, on_cpu(kernel.program, inputs),
                                      got.buffers) == "");
}

}  // namespace

TEST_CASE(
    "networks on a GPU: every group by both schedulers, on all threads, right on the emulator") {
  std::set<std::string> done[2];  // by canonical text
  std::map<std::string, Expected> known;
  for (std::size_t number = 0; const SmallNetwork& network : small_networks()) {
    if (!test::is_swept(number++, 2)) continue;
    CAPTURE(network.name);
    for (const driver::Scheduler scheduler :
         {driver::Scheduler::Poly, driver::Scheduler::Template}) {
      CAPTURE(driver::to_string(scheduler));
      int passes = 0;
      for (const driver::BuiltKernel& kernel : scheduled_by(scheduler, network.graph).kernels) {
        passes += is_in_one_pass(kernel) ? 1 : 0;
        if (!done[scheduler == driver::Scheduler::Poly]
                 .insert(ir::canonical_text(*kernel.program))
                 .second)
          continue;
        CAPTURE(ir::print(*kernel.program));
        CAPTURE(schedule::print(kernel.script));
        CHECK_FALSE(kernel.declined);
        CHECK(on_one_thread(kernel) == "");
        // Both schedulers have most of them.
        const auto [at, is_new] = known.try_emplace(ir::print(*kernel.program));
        if (is_new) at->second = expected_of(kernel.program);
        check_run(kernel, at->second);
      }
      // Attention.
      if (scheduler == driver::Scheduler::Template)
        CHECK(passes == (network.name == "bert" ? 1 : 0));
    }
  }
  MESSAGE(done[0].size() << " groups by the templates, " << done[1].size() << " by poly");
  for (const std::set<std::string>& each : done) CHECK(each.size() > (test::takes_all() ? 60 : 30));
}

TEST_CASE(
    "networks on a GPU: exact code has the bits of the CPU's, on numbers whose sums are rounded") {
  std::set<std::string> done;  // by what is written
  for (std::size_t number = 0; const SmallNetwork& network : small_networks()) {
    if (!test::is_swept(number++, 6)) continue;
    CAPTURE(network.name);
    for (const driver::Scheduler scheduler : {driver::Scheduler::Poly, driver::Scheduler::Template})
      for (const driver::BuiltKernel& kernel :
           scheduled_by(scheduler, network.graph, true).kernels) {
        if (!done.insert(ir::canonical_text(*kernel.program) + schedule::print(kernel.script))
                 .second)
          continue;
        CAPTURE(ir::print(*kernel.program));
        CAPTURE(schedule::print(kernel.script));
        check_bits_on_cpu(kernel);
      }
  }
  CHECK(done.size() > (test::takes_all() ? 100 : 20));
}

TEST_CASE(
    "networks on a GPU: attention that no single pass takes is handed back, and exact code has "
    "none") {
  const auto groups_of = [](std::int64_t width, bool exact) {
    Layers net({1, 20, width});
    const std::string keys = net.transpose("x", {0, 2, 1});
    const std::string scores = net.like("x", "MatMul", {"x", keys}), values = net.relu("x");
    driver::ModelOptions options;
    options.jobs = 1;
    options.exact = exact;
    options.scheduler = driver::Scheduler::Template;
    const driver::ScheduledModel model = driver::schedule_model(
        net.finish(net.like("x", "MatMul", {net.unary("Softmax", scores), values})),
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

TEST_CASE("networks on a GPU: attention of 16-bit numbers is one group in one pass, by both") {
  const auto of_16_bits = [](Layers& net, const std::string& x) {
    onnx::NodeProto& cast = net.node("Cast", {x});
    polyte::testing::set(cast, "to", std::int64_t{onnx::TensorProto::FLOAT16});
    return net.of_channels(cast.output(0), net.channels(x));
  };
  Layers net({12, 128, 64});
  const std::string queries = of_16_bits(net, "x"),
                    keys = net.transpose(net.relu(queries), {0, 2, 1});
  const std::string scores = net.like(queries, "MatMul", {queries, keys});
  const std::string scaled =
      net.binary("Mul", scores, of_16_bits(net, net.of_channels(net.scalar(0.125F), 1)));
  const std::string values = net.unary("Tanh", queries);
  const graph::Graph graph =
      net.finish(net.like(queries, "MatMul", {net.unary("Softmax", scaled), values}));
  for (const driver::Scheduler scheduler : {driver::Scheduler::Poly, driver::Scheduler::Template}) {
    CAPTURE(driver::to_string(scheduler));
    const driver::ScheduledModel model = scheduled_by(scheduler, graph);
    CAPTURE(joined(model.notes));
    int passes = 0;
    for (const driver::BuiltKernel& kernel : model.kernels) {
      if (!is_in_one_pass(kernel)) continue;
      ++passes;
      CAPTURE(schedule::print(kernel.script));
      CHECK(count_of(schedule::print(kernel.script), "\ntensorize ") == 2);
      if (scheduler == driver::Scheduler::Poly)
        CHECK(joined(kernel.notes).find("in one pass over the keys") != std::string::npos);
    }
    CHECK(passes == 1);
  }
}
