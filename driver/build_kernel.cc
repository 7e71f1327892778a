#include "driver/build_kernel.h"

#include <algorithm>
#include <chrono>

#include "driver/storage_facts.h"
#include "ir/copy_loops.h"
#include "ir/interpret.h"
#include "ir/open_program.h"
#include "lower/lower.h"
#include "poly/auto_schedule.h"
#include "schedule/language/contract.h"
#include "schedule/templates/templates.h"

namespace polyte::driver {
namespace {

using Clock = std::chrono::steady_clock;

// Runs one stage of the road and records its time.
class StageLog {
 public:
  explicit StageLog(std::vector<StageTime>& times) : times_(times) {}
  template <class F>
  auto run(const char* stage, F f) {
    const auto start = Clock::now();
    auto result = f();
    times_.push_back({stage, std::chrono::duration<double, std::milli>(Clock::now() - start).count()});
    return result;
  }

 private:
  std::vector<StageTime>& times_;
};

schedule::Script reference_script(const ir::Program& program, const Machine& machine) {
  schedule::Script script;
  script.name = program.name + "/naive";
  script.program = program.name;
  script.digest = ir::digest(program);
  script.target = machine.cpu;
  for (const ir::Buffer& buffer : program.buffers) {
    if (buffer.role == ir::Role::Out || buffer.role == ir::Role::InOut) script.dtype = buffer.dtype;
  }
  return script;
}

[[noreturn]] void refuse(const schedule::Refusal& refusal, const std::string& origin) {
  std::string text = schedule::to_string(refusal, origin, "");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  throw UserError(schedule::exit_status(refusal.kind), text);
}

schedule::Script choose_script(BuiltKernel& kernel, const Machine& machine, const KernelOptions& options) {
  if (options.arm == Arm::Script) {
    POLYTE_CHECK(options.script != nullptr, "the script arm needs a script");
    return *options.script;
  }
  Result<schedule::Script> script =
      write_script(ir::at_typical(*kernel.program, kernel.typical), options.arm, machine, options.exact);
  if (script) {
    script->digest = ir::digest(*kernel.program);
    return *std::move(script);
  }
  kernel.notes.push_back(to_string(options.arm) + " declined '" + kernel.program->name + "': " + script.error().reason +
                         "; the reference order is used");
  kernel.fell_back = true;
  return reference_script(*kernel.program, machine);
}

// What a person's directives did not do.
void note_idle(BuiltKernel& kernel, const std::vector<std::string>& idle, const KernelOptions& options) {
  std::vector<std::string> notes;
  for (const std::string& note : idle) notes.push_back(options.script_origin + ": " + note);
  if (options.strict && !notes.empty()) throw UserError(ExitStatus::Refused, notes);
  kernel.notes.insert(kernel.notes.end(), notes.begin(), notes.end());
}

schedule::State replay_script(BuiltKernel& kernel, const Machine& machine, const KernelOptions& options) {
  schedule::ReplayOptions replay_options;
  // What a scheduler of ours wrote is proved once, as a whole; a person is told which line is wrong.
  const bool derived = options.arm != Arm::Script && options.proof == schedule::ProofLevel::Full;
  replay_options.proof = derived ? schedule::ProofLevel::Final : options.proof;
  std::vector<std::string> idle;
  if (options.arm == Arm::Script) replay_options.notes = &idle;
  Result<schedule::State, schedule::Refusal> state =
      schedule::replay(kernel.program, kernel.script, machine, replay_options);
  if (state) {
    note_idle(kernel, idle, options);
    return *std::move(state);
  }
  if (options.arm == Arm::Script) refuse(state.error(), options.script_origin);
  // A derived script that does not replay is a fault of ours, but not a reason to give no program.
  kernel.notes.push_back(to_string(options.arm) + " wrote a script for '" + kernel.program->name +
                         "' that was refused: " + schedule::to_string(state.error(), kernel.script.name, "") +
                         "; the reference order is used");
  kernel.fell_back = true;
  kernel.script = reference_script(*kernel.program, machine);
  return schedule::reference_state(kernel.program);
}

ir::Values typical_sizes(const ir::Program& program, std::span<const std::int64_t> typical) {
  constexpr std::int64_t kUnknown = 67;  // more than a tile, and no multiple of one
  ir::Values sizes;
  for (std::size_t i = 0; i < program.params.size(); ++i)
    sizes[program.params[i]] = i < typical.size() ? typical[i] : kUnknown;
  return sizes;
}

void check_contract(const BuiltKernel& kernel, const KernelOptions& options) {
  if (!options.exact) return;
  const auto refuse_what = [&](const std::string& what) {
    throw UserError(ExitStatus::Refused, "script '" + kernel.script.name + "' " + what + ", and --exact is set");
  };
  if (schedule::relaxes_order(*kernel.state)) refuse_what("changes the order of floating-point operations");
  if (schedule::has_reciprocals(*kernel.state)) refuse_what("multiplies by reciprocals in place of dividing");
}

}  // namespace

std::string to_string(Arm arm) {
  switch (arm) {
    case Arm::Naive:
      return "naive";
    case Arm::Isl:
      return "isl";
    case Arm::Poly:
      return "poly";
    case Arm::Template:
      return "template";
    case Arm::Script:
      return "script";
  }
  return "";
}

std::optional<Arm> arm_from_string(std::string_view name) {
  for (Arm arm : {Arm::Naive, Arm::Isl, Arm::Poly, Arm::Template}) {
    if (name == to_string(arm)) return arm;
  }
  return std::nullopt;
}

Result<schedule::Script> write_script(const ir::Program& program, Arm arm, const Machine& machine, bool exact) {
  switch (arm) {
    case Arm::Naive:
      return reference_script(program, machine);
    case Arm::Isl:
      return poly::auto_schedule(program, machine, {.affine_core_only = true, .keep_order = exact});
    case Arm::Poly:
      return poly::auto_schedule(program, machine, {.keep_order = exact});
    case Arm::Template:
      return schedule::make_template(program, machine, {.keep_order = exact});
    case Arm::Script:
      break;
  }
  throw InternalError("a person's script is not written by the compiler");
}

BuiltKernel build_kernel(std::shared_ptr<const ir::Program> program, const Machine& machine,
                         const KernelOptions& options) {
  BuiltKernel kernel;
  kernel.program = std::move(program);
  kernel.typical = typical_sizes(*kernel.program, options.typical);
  StageLog log(kernel.times);
  kernel.script = log.run("schedule", [&] { return choose_script(kernel, machine, options); });
  kernel.state = log.run("replay and proof", [&] {
    return std::make_shared<const schedule::State>(replay_script(kernel, machine, options));
  });
  check_contract(kernel, options);
  lower::LowerOptions lower_options{.machine = machine};
  lower_options.notes = &kernel.notes;
  lower_options.strict = options.strict;
  lower_options.on_pass = [&](const lower::PassRun& pass) { kernel.times.push_back({pass.name, pass.milliseconds}); };
  kernel.kernel.program = lower::lower(*kernel.state, lower_options);
  kernel.kernel.in_place = in_place_pairs(*kernel.state);
  for (const schedule::StagedBuffer& staged : kernel.state->staged) {
    if (staged.at_compile_time) kernel.packed.push_back({staged.name, staged.dtype, staged.shape});
  }
  if (!kernel.packed.empty()) kernel.packing = lower::lower_packing(*kernel.state, {.machine = machine});
  return kernel;
}

namespace {

// What a packing computes besides moving elements; slow.
void interpret_packing(const ir::LoopProgram& packing, const ir::CopyMemory& memory) {
  ir::Environment buffers;
  for (const ir::Buffer& buffer : packing.buffers) {
    const auto from = memory.from.find(buffer.name);
    if (from == memory.from.end()) continue;
    ir::Contents contents{buffer.dtype, ir::constant_shape(buffer), {from->second.begin(), from->second.end()}};
    buffers.emplace(buffer.name, std::move(contents));
  }
  ir::interpret(packing, buffers, {});
  for (const auto& [name, bytes] : memory.to) std::ranges::copy(buffers.at(name).bytes, bytes.begin());
}

}  // namespace

void pack_constants(const BuiltKernel& kernel, const std::map<std::string, std::span<const std::byte>>& constants,
                    std::span<const std::span<std::byte>> packed) {
  if (kernel.packed.empty()) return;
  ir::CopyMemory memory;
  for (const ir::Buffer& buffer : kernel.packing.buffers) {
    if (const auto it = constants.find(buffer.name); it != constants.end()) memory.from.insert(*it);
  }
  for (std::size_t i = 0; i < kernel.packed.size(); ++i) memory.to.emplace(kernel.packed[i].name, packed[i]);
  if (ir::only_copies(kernel.packing)) return ir::run_copies(kernel.packing, memory);
  interpret_packing(kernel.packing, memory);
}

}  // namespace polyte::driver
