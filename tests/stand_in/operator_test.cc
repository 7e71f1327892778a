// Single operators on the device: blocks and threads, shared memory, barriers; subscripts outside their dimension.
#include <doctest/doctest.h>

#include <algorithm>

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
  auto program =
      std::make_shared<const ir::Program>(ir::bind(ir::parse_program(file.program, file.name), file.sizes.front()));
  const schedule::Script script = schedule::parse_script(file.script, file.name);
  driver::KernelOptions options;
  options.arm = driver::Arm::Script;
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

bool is_in_place(const ir::Program& program) {
  return std::ranges::any_of(program.interface(), [](const ir::Buffer* b) { return b->role == ir::Role::InOut; });
}

driver::OperatorSession on_device(const driver::CompiledOperator& op, std::span<const runtime::Tensor> tensors) {
  return {op, tensors, gpu::testing::gpu("h100"), stand_in_device()};
}

}  // namespace

TEST_CASE("every kernel of tests/gpu on the device, with the bits of the emulator") {
  stand_in().reset();
  int run = 0;
  for (const KernelFile& file : gpu::testing::kernel_files()) {
    CAPTURE(file.name);
    const driver::CompiledOperator op = compiled(file);
    if (is_in_place(*op.built.program)) continue;  // which no artifact is
    std::vector<runtime::Tensor> expected = filled(*op.built.program), got = filled(*op.built.program);
    driver::OperatorRunner(op, expected, 1).run();
    on_device(op, got).run();
    CHECK(same_bits(got, expected));
    ++run;
  }
  CHECK(run >= 5);
}

TEST_CASE("a subscript outside its dimension is the error that it is on a CPU, and the session goes on") {
  stand_in().reset();
  const std::string text = "program pick(N, V)\n  in x: f32[V]\n  in id: i64[N]\n  out y: f32[N]\n  y[n] = x[id[n]]\n";
  const KernelFile file{"pick",
                        text,
                        "schedule rows/1 for pick\nsplit n by 32\nnest block n.o > thread n.i > y\n",
                        {{{"N", 100}, {"V", 50}}}};
  const driver::CompiledOperator op = compiled(file);
  std::vector<runtime::Tensor> tensors = filled(*op.built.program);
  std::ranges::fill(tensors[1].as<std::int64_t>(), 7);
  const driver::OperatorSession session = on_device(op, tensors);
  session.run();
  CHECK(tensors[2].as<float>()[99] == tensors[0].as<float>()[7]);
  tensors[1].as<std::int64_t>()[40] = 50;
  const std::string expected = "3: kernel 'pick' of group 'pick' read a subscript that is outside its dimension";
  CHECK(problem_of([&] { session.run(); }) == expected);
  CHECK(problem_of([&] { session.run(); }) == expected);
  tensors[1].as<std::int64_t>()[40] = 49;
  session.run();
  CHECK(tensors[2].as<float>()[40] == tensors[0].as<float>()[49]);
}
