// Kernels of open size on a GPU: scheduled as if the typical size were the only one, proved for
// all, and right on the emulator at each that they are run at.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "driver/compile/execution_check.h"
#include "ir/program_text.h"
#include "schedule/state/contract.h"
#include "tests/gpu/check_kernel.h"
#include "tests/gpu/emulate.h"

using namespace polyte;
using namespace polyte::gpu::testing;

namespace {

struct Example {
  std::string file;
  ir::Values closed;  // its other sizes
  bool in_shared;     // operands come through shared memory, by both schedulers
};
const std::vector<Example> kExamples = {
    {"dense_relu", {{"N", 40}, {"K", 36}}, true},
    {"conv_3x3", {{"C", 3}, {"F", 18}, {"H", 8}, {"W", 8}}, true},
    {"batched_matmul", {{"M", 16}, {"N", 40}, {"K", 16}}, true},
    {"softmax", {{"N", 65}}, false},
    {"layer_norm", {{"N", 40}}, false},
    {"first_axis_sum", {{"N", 37}}, false},
    {"arg_max", {{"N", 19}}, false},
    {"dot", {}, false},
    {"lstm_cell", {{"H", 8}, {"X", 4}}, false}};

std::shared_ptr<const ir::Program> program_of(const Example& example) {
  std::ifstream file("examples/programs/" + example.file + ".program");
  std::ostringstream text;
  text << file.rdbuf();
  return std::make_shared<const ir::Program>(
      ir::bind(ir::parse_program(text.str(), example.file), example.closed));
}

bool is_on_one_thread(const driver::BuiltKernel& kernel) {
  return std::ranges::any_of(kernel.notes, [](const std::string& note) {
    return note.find("on one thread") != std::string::npos;
  });
}

bool was_asked_again(const driver::BuiltKernel& kernel) {
  return !kernel.refused.empty() && std::ranges::any_of(kernel.notes, [](const std::string& note) {
    return note.find("asked again") != std::string::npos;
  });
}

bool has_shared_memory(const driver::BuiltKernel& kernel) {
  return schedule::print(kernel.script).find(" in shared") != std::string::npos;
}

driver::BuiltKernel kernel_of(const std::shared_ptr<const ir::Program>& program,
                              driver::Scheduler scheduler) {
  driver::KernelOptions options;
  options.scheduler = scheduler;
  options.typical = {67};
  options.second_judge = false;  // the emulator is one
  return driver::build_kernel(program, gpu::testing::gpu("h100").machine, options);
}

void check_at(const driver::BuiltKernel& kernel, std::int64_t size) {
  CAPTURE(size);
  const ir::Values sizes{{kernel.program->params[0], size}};
  const auto bound = std::make_shared<const ir::Program>(ir::bind(*kernel.program, sizes));
  const ir::Environment inputs = driver::small_integer_environment(*bound, 1);
  ir::Environment expected = inputs;
  ir::interpret(*bound, expected, {});
  const Emulated got =
      emulate(kernel.kernel.program, inputs, sizes,
              {.order = runtime::ThreadOrder::Random, .interleave = true, .late_copies = true});
  REQUIRE(joined(got.faults) == "");
  for (const ir::Buffer* buffer : kernel.program->interface())
    CHECK_MESSAGE(agree(expected.at(buffer->name), got.buffers.at(buffer->name), false),
                  buffer->name);
}

}  // namespace

TEST_CASE("open sizes on a GPU: the tiles of closed ones, proved for all sizes, right at each") {
  for (const Example& example : kExamples) {
    CAPTURE(example.file);
    const auto program = program_of(example);
    REQUIRE(program->params.size() == 1);
    for (const driver::Scheduler scheduler :
         {driver::Scheduler::Poly, driver::Scheduler::Template}) {
      CAPTURE(driver::to_string(scheduler));
      const driver::BuiltKernel kernel = kernel_of(program, scheduler);
      CAPTURE(schedule::print(kernel.script));
      // Ordered regions have no template.
      CHECK(kernel.declined.has_value() ==
            (example.file == "lstm_cell" && scheduler == driver::Scheduler::Template));
      if (!kernel.declined) CHECK_FALSE(is_on_one_thread(kernel));
      // A tile that holds all steps of an ordered loop is none where they may be more.
      CHECK(was_asked_again(kernel) ==
            (example.file == "lstm_cell" && scheduler == driver::Scheduler::Poly));
      CHECK(has_shared_memory(kernel) >= example.in_shared);
      for (const std::int64_t size : {1, 5, 67}) check_at(kernel, size);
    }
  }
}

TEST_CASE("open sizes on a GPU: products of 16 bits by tensor cores") {
  const auto program = std::make_shared<const ir::Program>(ir::parse_program(R"(program mm(M)
  in  a: bf16[M, 64]
  in  b: bf16[64, 96]
  out c: f32[M, 96]
  c[m, n] = sum[k] f32(a[m, k]) * f32(b[k, n])
)",
                                                                             "test"));
  for (const driver::Scheduler scheduler : {driver::Scheduler::Poly, driver::Scheduler::Template}) {
    CAPTURE(driver::to_string(scheduler));
    const driver::BuiltKernel kernel = kernel_of(program, scheduler);
    CAPTURE(schedule::print(kernel.script));
    CHECK_FALSE(kernel.declined);
    CHECK(schedule::print(kernel.script).find("\ntensorize ") != std::string::npos);
    for (const std::int64_t size : {1, 17, 64}) check_at(kernel, size);
  }
}
