#include "driver/compile/build_kernel.h"

#include <algorithm>
#include <iterator>

#include "driver/compile/settle_script.h"
#include "driver/compile/storage_facts.h"
#include "ir/open_program.h"
#include "lower/lower.h"
#include "poly/auto_schedule.h"
#include "schedule/proof/prover.h"
#include "schedule/script/own_script.h"
#include "schedule/state/contract.h"
#include "schedule/state/digits.h"
#include "schedule/templates/templates.h"

namespace polyte::driver {
namespace {

std::string without_newlines_at_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

[[noreturn]] void refuse(const schedule::Refusal& refusal, const std::string& origin) {
  throw UserError(schedule::exit_status(refusal.kind),
                  without_newlines_at_end(schedule::to_string(refusal, origin, "")));
}

std::string said_by(const BuiltKernel& kernel, const std::string& what) {
  return to_string(kernel.asked) + ", '" + kernel.program->name + "': " + what;
}

std::string fallback_text(const BuiltKernel& kernel) {
  POLYTE_CHECK(kernel.declined, "'" + kernel.program->name + "' did not fall back");
  return to_string(kernel.asked) + " declined '" + kernel.program->name +
         "': " + kernel.declined->reason + " (" + kernel.declined->where +
         "); the reference order is used";
}

// The reference order needs no proof, so that there is a kernel for every Program that stays within
// its buffers.
void fall_back(BuiltKernel& kernel, const Machine& machine, Declined why) {
  kernel.declined = std::move(why);
  kernel.script = schedule::own_script(*kernel.program, "naive", machine);
  kernel.notes.push_back(fallback_text(kernel));
}

// A Program that leaves its buffers in its own order is nobody's to run: no scheduler has declined
// it then.
void refuse_outside(const std::shared_ptr<const ir::Program>& program) {
  std::vector<std::string> statements;
  for (const ir::Statement& s : program->statements) statements.push_back(s.name);
  const auto refusal =
      schedule::Prover(program).check_bounds(schedule::reference_state(program), statements);
  if (!refusal || refusal->kind != schedule::RefusalKind::Illegal) return;
  std::vector<std::string> problems;
  for (const schedule::Counterexample& example : refusal->counterexamples)
    problems.push_back("program '" + program->name + "': " + example.scheduled);
  throw UserError(ExitStatus::InvalidInput, problems);
}

// What a scheduler takes open sizes for: the typical ones, known not to be all, or as if they were.
enum class OpenSizes { Known, Ignored };

// How a scheduler is asked. Where the proof refuses what comes of an attempt, the next one asks
// for less; of the last one what is refused is left out.
struct Attempt {
  OpenSizes open = OpenSizes::Known;
  bool proves = true;  // while it chooses (PolyOptions)
  bool is_last = true;
};

void choose_script(BuiltKernel& kernel, const Machine& machine, const KernelOptions& options,
                   const Attempt& attempt) {
  if (options.scheduler == Scheduler::Script) {
    POLYTE_CHECK(options.script != nullptr, "a person's script was asked for, and none given");
    kernel.script = *options.script;
    return;
  }
  std::vector<std::string> notes;
  ir::Program program = ir::at_typical(*kernel.program, kernel.typical);
  if (attempt.open == OpenSizes::Ignored) program.open.clear();
  Result<schedule::Script> script = write_script(program, options.scheduler, machine,
                                                 {.keep_order = options.exact,
                                                  .notes = &notes,
                                                  .templates = options.templates.get(),
                                                  .uses = &kernel.templates,
                                                  .proves = attempt.proves,
                                                  .considered = &kernel.considered,
                                                  .refused = &kernel.refused});
  if (script) {
    script->digest = ir::digest(*kernel.program);
    for (const std::string& note : notes) kernel.notes.push_back(said_by(kernel, note));
    kernel.script = *std::move(script);
    return;
  }
  fall_back(kernel, machine,
            {script.error().reason,
             to_string(options.scheduler) + ", program '" + kernel.program->name + "'"});
}

std::string place_of(const schedule::Refusal& refusal, const schedule::Script& script) {
  if (refusal.directive.empty()) return "the whole of " + script.name;
  return script.name + ": " + refusal.directive;
}

// What a person's directives did not do.
void note_idle(BuiltKernel& kernel, const std::vector<std::string>& idle,
               const KernelOptions& options) {
  std::vector<std::string> notes;
  for (const std::string& note : idle) notes.push_back(options.script_origin + ": " + note);
  if (options.strict && !notes.empty()) throw UserError(ExitStatus::Refused, notes);
  kernel.notes.insert(kernel.notes.end(), notes.begin(), notes.end());
}

// nullopt: not all of what was written is proved, and there is another attempt.
std::optional<schedule::State> replay_script(BuiltKernel& kernel, const Machine& machine,
                                             const KernelOptions& options, const Attempt& attempt) {
  schedule::ReplayOptions replay_options;
  // What a scheduler of ours wrote is proved once, as a whole; a person sees which line is wrong.
  const bool is_persons = options.scheduler == Scheduler::Script || options.templates;
  const bool derived = !is_persons && options.proof == schedule::ProofLevel::Full;
  replay_options.proof = derived ? schedule::ProofLevel::Final : options.proof;
  std::vector<std::string> idle;
  if (options.scheduler == Scheduler::Script) replay_options.notes = &idle;
  std::vector<schedule::RefusedScript> left_out;
  Result<schedule::State, schedule::Refusal> state =
      is_persons || !attempt.proves
          ? schedule::replay(kernel.program, kernel.script, machine, replay_options)
          : settle_script(kernel.program, kernel.script, machine, replay_options, left_out);
  if (!attempt.is_last && (!state || !left_out.empty())) {
    if (!state)
      left_out.push_back({"the whole script, for the typical sizes", kernel.script, state.error()});
    std::ranges::move(left_out, std::back_inserter(kernel.refused));
    return std::nullopt;
  }
  for (schedule::RefusedScript& line : left_out) {
    kernel.notes.push_back(said_by(kernel, line.what));
    kernel.refused.push_back(std::move(line));
  }
  if (state) {
    note_idle(kernel, idle, options);
    return *std::move(state);
  }
  if (is_persons)
    refuse(state.error(),
           options.scheduler == Scheduler::Script ? options.script_origin : kernel.script.name);
  refuse_outside(kernel.program);
  // A derived script that does not replay is a fault of ours, but not a reason to give no program.
  kernel.refused.push_back(
      {"the whole script of " + to_string(kernel.asked), kernel.script, state.error()});
  fall_back(kernel, machine,
            {"its own script is refused: " + without_newlines_at_end(schedule::to_string(
                                                 state.error(), kernel.script.name, "")),
             place_of(state.error(), kernel.script)});
  return schedule::reference_state(kernel.program);
}

// Which tiles a GPU gets is asked as if the typical sizes were the only ones: its blocks have
// guards in any case. On a CPU poly need not prove what is proved as a whole afterwards.
std::vector<Attempt> attempts_for(const BuiltKernel& kernel, const Machine& machine,
                                  const KernelOptions& options) {
  std::vector<Attempt> attempts;
  const bool writes = options.scheduler == Scheduler::Poly ||
                      (options.scheduler == Scheduler::Template && !options.templates);
  if (machine.gpu && !kernel.program->params.empty() && writes)
    attempts.push_back({.open = OpenSizes::Ignored, .is_last = false});
  if (!machine.gpu && options.scheduler == Scheduler::Poly &&
      options.proof == schedule::ProofLevel::Full)
    attempts.push_back({.proves = false, .is_last = false});
  attempts.push_back({});
  return attempts;
}

void schedule_kernel(BuiltKernel& kernel, const Machine& machine, const KernelOptions& options,
                     StageLog& log) {
  for (const Attempt& attempt : attempts_for(kernel, machine, options)) {
    // What is refused leaves nothing behind but its times and refusals.
    BuiltKernel before = kernel;
    log.run("schedule", [&] { choose_script(kernel, machine, options, attempt); });
    log.run("replay and proof", [&] {
      if (auto state = replay_script(kernel, machine, options, attempt)) {
        kernel.state = std::make_shared<const schedule::State>(*std::move(state));
        return;
      }
      before.times = kernel.times;
      if (attempt.proves) {  // else the next attempt says what is refused, part by part
        before.refused = std::move(kernel.refused);
        before.notes.push_back(said_by(
            kernel, "what it wrote for the typical sizes does not hold for all: asked again"));
      }
      kernel = std::move(before);
    });
    if (kernel.state) return;
  }
}

// Of the Program's own statement; the known extents only, where sizes are open.
double iterations_of(const schedule::State& state, const schedule::ScheduledStatement& statement) {
  double count = 1;
  for (const auto& [iterator, range] : schedule::iterator_ranges(state, statement))
    if (range.min && range.max)
      count *= static_cast<double>(std::max<std::int64_t>(0, *range.max - *range.min + 1));
  return count;
}

// No loop of it is in vectors, of a GPU none in threads.
bool is_scalar(const schedule::Tree& tree, const std::string& statement, bool on_gpu) {
  return std::ranges::none_of(
      schedule::path_to(tree, statement), [on_gpu](const schedule::Loop* loop) {
        if (on_gpu) return ir::is_of_threads(loop->kind);
        return loop->kind == ir::LoopKind::Vector || loop->kind == ir::LoopKind::Unrolled;
      });
}

// Who asks poly or a template expects vectors, or threads: where most of the work has none,
// that is said.
void note_scalar_loops(BuiltKernel& kernel, bool on_gpu) {
  constexpr double kWorthIt = 1024, kMost = 0.5;  // iterations; share of the largest statement's
  if (kernel.declined || (kernel.asked != Scheduler::Poly && kernel.asked != Scheduler::Template))
    return;
  const schedule::State& state = *kernel.state;
  if (!state.tree) return;
  const auto size = [&](const schedule::Leaf* leaf) {
    return iterations_of(state, state.at(leaf->statement));
  };
  double most = kWorthIt;
  std::string names;
  for (const schedule::Leaf* leaf : schedule::leaves_of(state.tree))
    most = std::max(most, size(leaf));
  for (const schedule::Leaf* leaf : schedule::leaves_of(state.tree))
    if (size(leaf) >= kMost * most && is_scalar(state.tree, leaf->statement, on_gpu))
      names += (names.empty() ? "'" : ", '") + leaf->statement + "'";
  if (!names.empty())
    kernel.notes.push_back(
        said_by(kernel, names + (on_gpu ? " on one thread: no loop carries threads"
                                        : " in scalar loops: no loop carries lanes")));
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
    throw UserError(ExitStatus::Refused,
                    "script '" + kernel.script.name + "' " + what + ", and --exact is set");
  };
  if (schedule::relaxes_order(*kernel.state))
    refuse_what("changes the order of floating-point operations");
  if (schedule::has_reciprocals(*kernel.state))
    refuse_what("multiplies by reciprocals in place of dividing");
}

// Its budget is what the proof took, so that a judge of cheap proofs stays cheap.
void ask_about(BuiltKernel& kernel, const ir::LoopProgram& nest, const Machine& machine,
               const KernelOptions& options) {
  const auto proof =
      std::find_if(kernel.times.rbegin(), kernel.times.rend(),
                   [](const StageTime& time) { return time.stage == "replay and proof"; });
  const AcceptedSchedule accepted{*kernel.state, kernel.script, options.open, &nest,
                                  &kernel.kernel.program};
  const std::int64_t budget = options.judge_steps > 0
                                  ? options.judge_steps
                                  : judge_budget(proof->milliseconds, machine.gpu.has_value());
  kernel.second_judge = ask_second_judge(accepted, machine, budget);
}

}  // namespace

std::string to_string(Scheduler scheduler) {
  switch (scheduler) {
    case Scheduler::Naive:
      return "naive";
    case Scheduler::Isl:
      return "isl";
    case Scheduler::Poly:
      return "poly";
    case Scheduler::Template:
      return "template";
    case Scheduler::Script:
      return "script";
  }
  return "";
}

std::optional<Scheduler> scheduler_from_string(std::string_view name) {
  for (Scheduler scheduler :
       {Scheduler::Naive, Scheduler::Isl, Scheduler::Poly, Scheduler::Template}) {
    if (name == to_string(scheduler)) return scheduler;
  }
  return std::nullopt;
}

void refuse_fallbacks(std::span<const BuiltKernel> kernels) {
  std::vector<std::string> problems;
  for (const BuiltKernel& kernel : kernels)
    if (kernel.declined)
      problems.push_back(to_string(kernel.asked) + " declined '" + kernel.program->name +
                         "': " + kernel.declined->reason + " (" + kernel.declined->where +
                         "), and --strict is set");
  if (!problems.empty()) throw UserError(ExitStatus::Refused, problems);
}

Result<schedule::Script> write_script(const ir::Program& program, Scheduler scheduler,
                                      const Machine& machine,
                                      const schedule::TemplateOptions& options) {
  switch (scheduler) {
    case Scheduler::Naive:
      return schedule::own_script(program, "naive", machine);
    case Scheduler::Isl:
      return poly::auto_schedule(program, machine,
                                 {.affine_core_only = true,
                                  .keep_order = options.keep_order,
                                  .notes = options.notes,
                                  .considered = options.considered,
                                  .refused = options.refused});
    case Scheduler::Poly:
      return poly::auto_schedule(program, machine,
                                 {.keep_order = options.keep_order,
                                  .proves = options.proves,
                                  .notes = options.notes,
                                  .considered = options.considered,
                                  .refused = options.refused});
    case Scheduler::Template:
      return schedule::make_template(program, machine, options);
    case Scheduler::Script:
      break;
  }
  throw InternalError("a person's script is not written by the compiler");
}

ir::Ranges param_ranges(const ir::Program& program) {
  ir::Ranges ranges;
  for (const std::string& param : program.params) {
    ir::Interval& range = ranges[param];
    range.min = 0;
    for (const ir::Constraint& known : program.context) {
      const std::int64_t factor = known.expr.coefficient(param);
      const ir::Affine rest = known.expr - ir::Affine::symbol(param) * factor;
      if (factor == 0 || !rest.is_constant()) continue;
      // factor * param + rest >= 0: param >= ceil(-rest / factor), or for a negative factor
      // param <= floor(rest / -factor). Of an equation only this half is used, and conditions
      // between several parameters say nothing of one.
      const std::int64_t least = ceil_div(-rest.constant(), factor > 0 ? factor : 1);
      const std::int64_t most = floor_div(rest.constant(), factor < 0 ? -factor : 1);
      if (factor > 0) range.min = std::max(*range.min, least);
      if (factor < 0) range.max = std::min(range.max.value_or(most), most);
    }
  }
  return ranges;
}

BuiltKernel build_kernel(std::shared_ptr<const ir::Program> program, const Machine& machine,
                         const KernelOptions& options) {
  BuiltKernel kernel;
  kernel.program = std::move(program);
  kernel.asked = options.scheduler;
  kernel.typical = typical_sizes(*kernel.program, options.typical);
  StageLog log(kernel.times);
  schedule_kernel(kernel, machine, options, log);
  note_scalar_loops(kernel, machine.gpu.has_value());
  if (options.strict && !options.defer_fallback) refuse_fallbacks({&kernel, 1});
  check_contract(kernel, options);
  lower::LowerOptions lower_options{.machine = machine};
  lower_options.notes = &kernel.notes;
  lower_options.strict = options.strict;
  ir::LoopProgram nest;
  lower_options.on_pass = [&](const lower::PassRun& pass) {
    // True at the first pass alone, whose result is the nest: it is what the second judge runs
    // beside the loops after all passes.
    if (kernel.times.back().stage == "replay and proof") nest = *pass.program;
    kernel.times.push_back({pass.name, pass.milliseconds});
  };
  kernel.kernel.program = lower::lower(*kernel.state, lower_options);
  kernel.kernel.in_place = in_place_pairs(*kernel.state);
  kernel.kernel.ranges = param_ranges(*kernel.program);
  for (const schedule::StagedBuffer& staged : kernel.state->staged) {
    if (staged.at_compile_time) kernel.packed.push_back({staged.name, staged.dtype, staged.shape});
  }
  if (!kernel.packed.empty())
    kernel.packing = lower::lower_packing(*kernel.state, {.machine = machine});
  if (options.second_judge && options.proof != schedule::ProofLevel::Off)
    log.run("second judge", [&] { ask_about(kernel, nest, machine, options); });
  return kernel;
}

}  // namespace polyte::driver
