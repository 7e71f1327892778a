#include "driver/execution_check.h"

#include "driver/operator.h"
#include "lower/lower.h"
#include "runtime/compare.h"
#include "runtime/fill.h"

namespace polyte::driver {

ir::Environment small_integer_environment(const ir::Program& program, std::uint64_t seed) {
  ir::Environment buffers;
  for (const ir::Buffer* buffer : program.interface()) {
    runtime::Tensor tensor(buffer->dtype, ir::constant_shape(*buffer));
    if (buffer->role == ir::Role::Out) continue;
    runtime::fill(tensor, {runtime::Fill::Kind::Int, seed}, buffer->name);
    buffers[buffer->name] = to_contents(tensor);
  }
  return buffers;
}

void run_loops(const schedule::State& state, const Machine& machine, ir::Environment& buffers,
               const ir::InterpretOptions& options) {
  const ir::LoopProgram packing = lower::lower_packing(state, {.machine = machine});
  if (!packing.buffers.empty()) {
    ir::Environment constants;
    for (const ir::Buffer& buffer : packing.buffers) {
      if (auto it = buffers.find(buffer.name); it != buffers.end()) constants.insert(*it);
    }
    ir::interpret(packing, constants, {});
    for (auto& [name, contents] : constants) buffers.try_emplace(name, contents);
  }
  ir::interpret(lower::lower(state, {.machine = machine}), buffers, options);
}

std::string difference_by_execution(const schedule::State& state, const Machine& machine) {
  const ir::Program& program = *state.reference;
  ir::Environment expected = small_integer_environment(program, 1), got = expected;
  ir::interpret(program, expected, {});
  try {
    run_loops(state, machine, got, {});
  } catch (const UserError& e) {
    return e.what();
  }
  for (const ir::Buffer* buffer : program.interface()) {
    if (buffer->role != ir::Role::Out && buffer->role != ir::Role::InOut) continue;
    const runtime::Comparison comparison =
        runtime::compare_bits(to_tensor(got.at(buffer->name)), to_tensor(expected.at(buffer->name)));
    if (!comparison.equal) return "output '" + buffer->name + "': " + comparison.message;
  }
  return "";
}

}  // namespace polyte::driver
