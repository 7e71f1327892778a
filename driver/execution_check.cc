#include "driver/execution_check.h"

#include "driver/operator.h"
#include "lower/lower.h"
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

std::vector<lower::TraceFault> faults_by_execution(const schedule::State& state, const Machine& machine,
                                                   const ir::Environment& inputs) {
  const ir::Program& program = *state.basis;  // what was inlined has no instances any more
  const lower::TraceOptions options{.any_order = lower::reorderable_updates(state)};
  const lower::ReferenceTrace reference(program, inputs, options);
  const ir::LoopProgram packing = lower::lower_packing(state, {.machine = machine});
  const std::set<std::string> padded = lower::padded_statements(state);
  std::vector<lower::TraceFault> faults = compare_traces(reference, packing, lower::lower_to_nest(state), padded);
  if (faults.empty()) faults = compare_traces(reference, packing, lower::lower(state, {.machine = machine}), padded);
  return faults;
}

}  // namespace polyte::driver
