// Single operators on the device: blocks and threads, shared memory, barriers; subscripts
// outside their dimension.
#include <doctest/doctest.h>

#include <algorithm>

#include "driver/api/polyte.h"
#include "driver/package/assemble.h"
#include "driver/package/operator_session.h"
#include "ir/program_text.h"
#include "runtime/fill.h"
#include "support/gpu_machines.h"
#include "tests/gpu/emulate.h"
#include "tests/stand_in/digits.h"

using namespace polyte;
using namespace polyte::testing;
using polyte::gpu::testing::KernelFile;

namespace {

driver::CompiledOperator compiled(const KernelFile& file) {
  auto program = std::make_shared<const ir::Program>(
      ir::bind(ir::parse_program(file.program, file.name), file.sizes.front()));
  const schedule::Script script = schedule::parse_script(file.script, file.name);
  driver::KernelOptions options;
  options.scheduler = driver::Scheduler::Script;
  options.script = &script;
  options.script_origin = file.name;
  options.emulated = true;
  return driver::compile_operator(std::move(program), gpu::testing::gpu("h100"), options);
}

// Subscripts are 0.
std::vector<runtime::Tensor> filled(const ir::Program& program) {
  std::vector<runtime::Tensor> tensors = driver::make_tensors(program);
  for (runtime::Tensor& tensor : tensors)
    if (is_float(tensor.dtype())) runtime::fill(tensor, runtime::parse_fill("int:1"));
  return tensors;
}

driver::OperatorSession on_device(const driver::CompiledOperator& op,
                                  std::span<const runtime::Tensor> tensors) {
  return {op, tensors, gpu::testing::gpu("h100"), stand_in_device()};
}

}  // namespace

TEST_CASE("every kernel of tests/gpu on the device, with the bits of the emulator") {
  stand_in().reset();
  int run = 0;
  for (const KernelFile& file : gpu::testing::kernel_files()) {
    // No PTX of theirs runs on later generations, which an artifact wants.
    if (!file.only_for.empty()) continue;
    CAPTURE(file.name);
    const driver::CompiledOperator op = compiled(file);
    std::vector<runtime::Tensor> expected = filled(*op.built.program),
                                 got = filled(*op.built.program);
    driver::OperatorRunner(op, expected, 1).run();
    on_device(op, got).run();
    CHECK(same_bits(got, expected));
    ++run;
  }
  CHECK(run >= 5);
}

TEST_CASE(
    "a subscript outside its dimension is the error that it is on a CPU, and the session goes on") {
  stand_in().reset();
  const std::string text =
      "program pick(N, V)\n  in x: f32[V]\n  in id: i64[N]\n  out y: f32[N]\n  y[n] = x[id[n]]\n";
  const KernelFile file{
      "pick",
      text,
      "schedule rows/1 for pick\nsplit n by 32\nnest block n.o > thread n.i > y\n",
      {{{"N", 100}, {"V", 50}}}};
  const driver::CompiledOperator op = compiled(file);
  std::vector<runtime::Tensor> tensors = filled(*op.built.program);
  std::ranges::fill(tensors[1].as<std::int64_t>(), 7);
  driver::OperatorSession session = on_device(op, tensors);
  session.run();
  CHECK(tensors[2].as<float>()[99] == tensors[0].as<float>()[7]);
  tensors[1].as<std::int64_t>()[40] = 50;
  const std::string expected =
      "3: kernel 'pick' of group 'pick' read a subscript that is outside its dimension";
  CHECK(problem_of([&] { session.run(); }) == expected);
  CHECK(problem_of([&] { session.run(); }) == expected);
  // Of several warps and blocks at once.
  std::ranges::fill(tensors[1].as<std::int64_t>().subspan(30, 40), -1);
  CHECK(problem_of([&] { session.run(); }) == expected);
  std::ranges::fill(tensors[1].as<std::int64_t>(), 7);
  tensors[1].as<std::int64_t>()[40] = 49;
  session.run();
  CHECK(tensors[2].as<float>()[40] == tensors[0].as<float>()[49]);
}

TEST_CASE("an operator in place: its tensor is an input and an output of one name") {
  stand_in().reset();
  const KernelFile file{
      "twice",
      "program twice(N)\n  inout x: f32[N]\n  x[n] = x[n] * 2\n",
      "schedule rows/1 for twice\nsplit n by 32\nnest block n.o > thread n.i > x\n",
      {{{"N", 100}}}};
  const driver::CompiledOperator op = compiled(file);
  std::vector<runtime::Tensor> tensors = filled(*op.built.program);
  const std::vector<float> before(tensors[0].as<float>().begin(), tensors[0].as<float>().end());
  const runtime::Session session(
      runtime::Artifact::from_parts(driver::assemble(op, tensors, gpu::testing::gpu("h100"))),
      {.cuda = stand_in_device()});
  REQUIRE(session.inputs().size() == 1);
  REQUIRE(session.outputs().size() == 1);
  CHECK(session.inputs()[0].name == "x");
  CHECK(session.outputs()[0].name == "x");
  std::vector<runtime::Tensor> result;
  result.emplace_back(DType::F32, runtime::Shape{100});
  const std::vector<runtime::TensorView> in{tensors[0].view()}, out{result[0].view()};
  for (int run = 0; run < 2; ++run) session.run(in, out);
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(tensors[0].as<float>()[i] == before[i]);
    CHECK(result[0].as<float>()[i] == 2 * before[i]);
  }
  CHECK(problem_of([&] { session.run(in, in); }) == "3: output 'x' overlaps input 'x'");
  driver::OperatorSession in_place = on_device(op, tensors);
  for (int run = 0; run < 2; ++run) in_place.run();
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(tensors[0].as<float>()[i] == 4 * before[i]);
}

TEST_CASE("a kernel of the API opens a session of its GPU, its constants packed by then") {
  stand_in().reset();
  const auto program = api::parse_program(
      "program dense(M, N)\n"
      "  in x: f32[M]\n  const w: f32[M, N]\n  out y: f32[N]\n  y[n] = sum[m] x[m] * w[m, n]\n");
  REQUIRE(program);
  api::CompileOptions options;
  options.sizes = {{"M", 6}, {"N", 40}};
  options.target = "cuda:h100";
  options.gpu = {0, stand_in_device().driver};
  options.emulated = true;
  const auto kernel = api::compile(*program, options);
  REQUIRE(kernel);
  std::vector<float> x{1, -2, 3, 0, 2, 1}, w(240), y(40), played(40);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) - 3;
  const auto of_x = api::argument<const float>("x", x), of_w = api::argument<const float>("w", w);

  const auto none = (*kernel).open_session();
  REQUIRE(!none);
  CHECK(none.error().messages == std::vector<std::string>{"argument 'w' is missing"});
  const auto session = (*kernel).open_session({of_w});
  REQUIRE(session);
  (*session)->run({{DType::F32, std::vector<std::int64_t>{6}, x.data()}},
                  {{DType::F32, std::vector<std::int64_t>{40}, y.data()}});
  REQUIRE((*kernel).run({of_x, of_w, api::argument<float>("y", played)}));
  for (std::size_t n = 0; n < y.size(); ++n) {
    float expected = 0;
    for (std::size_t m = 0; m < x.size(); ++m) expected += x[m] * w[m * 40 + n];
    CHECK(y[n] == expected);
    CHECK(played[n] == expected);
  }
  options.target = "native";
  const auto here = api::compile(*program, options);
  REQUIRE(here);
  CHECK((*here).open_session({of_w}).error().status == ExitStatus::Usage);
}
