// polyte interpret: a Program in the interpreter, or its loops after a script; with --watch,
// every touch of one element in the reference order and, given a script, in the scheduled
// order. Models: interpret_model.cc.
#include <algorithm>
#include <iostream>
#include <optional>

#include "driver/cli/model_options.h"
#include "driver/cli/output_files.h"
#include "driver/compile/execution_check.h"
#include "driver/compile/operator.h"
#include "schedule/script/replay.h"

namespace polyte::cli {
namespace {

struct InterpretVerbOptions {
  OperatorOptions source;
  ModelVerbOptions model;  // of an ONNX file
  std::string group;
  DataOptions data;
  std::string script;
  std::vector<std::string> params;
  std::string watch;
  std::string target = "cpu:native";
};

std::string element_text(const ir::Event::Cell& cell) {
  std::string text = cell.buffer + "[";
  for (std::size_t i = 0; i < cell.index.size(); ++i)
    text += (i ? ", " : "") + std::to_string(cell.index[i]);
  return text + "]";
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

constexpr std::size_t kMostLines = 200;

// Prints events that touch the watched element, or any of a tensor.
// An event of a vector has cells of several lanes; each line names the instance of its lane, which
// is `stride` further per lane.
//   B(t=0, i=2, j=1) writes B[2, 1] = 6
struct Watcher {
  std::string watched;
  const ir::Program* program = nullptr;
  std::vector<std::string> lines = {};

  void operator()(const ir::Event& event) {
    if (event.statement->empty()) return;  // a copy
    for (const ir::Event::Cell& cell : event.cells) {
      if (cell.buffer != watched && without_spaces(element_text(cell)) != watched) continue;
      if (lines.size() > kMostLines) return;
      if (lines.size() == kMostLines) {
        lines.emplace_back("... and more");
        return;
      }
      lines.push_back(instance_text(event, std::max(cell.lane, 0)) +
                      (cell.write ? " writes " : " reads ") + element_text(cell) + " = " +
                      number_text(cell.value));
    }
  }
  std::string instance_text(const ir::Event& event, int lane) const {
    const ir::Statement* statement = program->find_statement(*event.statement);
    std::string text = *event.statement + "(";
    for (std::size_t i = 0; i < event.instance.size(); ++i) {
      if (i) text += ", ";
      if (statement && i < statement->iterators.size()) text += statement->iterators[i] + "=";
      const std::int64_t stride = i < event.strides.size() ? event.strides[i] : 0;
      text += std::to_string(event.instance[i] + lane * stride);
    }
    return text + ")";
  }
  static std::string number_text(double value) {
    std::ostringstream text;
    text << value;
    return text.str();
  }
};

// The smallest sizes that a refusal names, where the user gave none: so the line that a refusal
// prints shows the fault without any --shape.
std::shared_ptr<const ir::Program> with_counterexample_sizes(
    const std::shared_ptr<const ir::Program>& program, const schedule::Script* script,
    const Machine& machine) {
  if (program->params.empty()) return program;
  if (script) {
    const auto state = schedule::replay(program, *script, machine, {});
    if (!state && !state.error().counterexamples.empty()) {
      return std::make_shared<const ir::Program>(
          ir::bind(*program, state.error().counterexamples[0].sizes));
    }
  }
  require_sizes(*program, {});
  return program;
}

void print_lines(const std::string& title, const std::vector<std::string>& lines) {
  std::cout << title << "\n";
  for (const std::string& line : lines) std::cout << "  " << line << "\n";
}

std::vector<NamedBuffer> buffers_of(const ir::Program& program) {
  std::vector<NamedBuffer> buffers;
  for (const ir::Buffer* buffer : program.interface()) {
    const bool out = buffer->role == ir::Role::Out;
    buffers.push_back({buffer->name, !out, out || buffer->role == ir::Role::InOut,
                       runtime::Tensor(buffer->dtype, ir::constant_shape(*buffer))});
  }
  return buffers;
}

// What is watched in the reference order: the element, or the tensor whose elements staged
// storage holds.
std::string watched_in_reference(const std::string& watch, const ir::Program& program,
                                 const schedule::State* state) {
  const std::string tensor = watch.substr(0, watch.find('['));
  if (watch.empty() || program.find_buffer(tensor)) return watch;
  std::string known;
  for (const ir::Buffer& buffer : program.buffers)
    known += (known.empty() ? "" : ", ") + buffer.name;
  if (state) {
    for (const schedule::StagedBuffer& staged : state->staged) {
      if (staged.name == tensor) return staged.of;
      known += ", " + staged.name;
    }
  }
  throw UserError(ExitStatus::Usage, "--watch '" + watch + "': no tensor is called " + tensor +
                                         " (there are " + known + ")");
}

std::shared_ptr<const ir::Program> program_of(const InterpretVerbOptions& options,
                                              schedule::Script* script, const Machine& machine) {
  const std::string& source = options.source.source;
  if (is_model(source)) {
    ModelVerbOptions model = options.model;
    model.target = options.target;
    return load_group({source, options.group, options.script, model}, script);
  }
  if (!options.group.empty())
    throw UserError(ExitStatus::Usage, "--group " + options.group + ": only a model has groups");
  return with_counterexample_sizes(
      load_symbolic_program(options.source, script ? script->program : ""), script, machine);
}

// The State of a script that need not be legal.
schedule::State unproved_state(const InterpretVerbOptions& options,
                               const std::shared_ptr<const ir::Program>& program,
                               schedule::Script script, const Machine& machine) {
  script.digest.clear();  // the sizes are bound: this is another text than the script's Program
  auto state = schedule::replay(program, script, machine,
                                {.proof = schedule::ProofLevel::Off, .on_applied = {}});
  if (state) return *std::move(state);
  throw UserError(schedule::exit_status(state.error().kind),
                  schedule::to_string(state.error(), options.script, options.source.source));
}

// What stops the loops; empty where they end.
std::string loops_failure(const schedule::State& state, const Machine& machine,
                          ir::Environment& environment, const ir::InterpretOptions& options) {
  try {
    driver::run_loops(state, machine, environment, options);
    return "";
  } catch (const UserError& e) {
    return e.what();
  }
}

// Runs the Program, or its loops; with --watch both, and what stops the loops is printed,
// not thrown.
// False where nothing came out.
bool interpret(const InterpretVerbOptions& options,
               const std::shared_ptr<const ir::Program>& program, const schedule::Script* script,
               const Machine& machine, ir::Environment& environment) {
  const bool watching = !options.watch.empty();
  std::optional<schedule::State> state;
  if (script) state = unproved_state(options, program, *script, machine);
  const std::string there =
      watched_in_reference(options.watch, *program, state ? &*state : nullptr);
  Watcher watcher{without_spaces(there), program.get()};
  ir::InterpretOptions interpret_options;
  if (watching) interpret_options.on_event = [&](const ir::Event& event) { watcher(event); };
  if (watching || !script) {
    ir::Environment copy = environment;
    ir::interpret(*program, script ? copy : environment, interpret_options);
    if (watching) print_lines("reference", watcher.lines);
    watcher = {without_spaces(options.watch), program.get()};
  }
  if (!state) return true;
  if (!watching) {
    driver::run_loops(*state, machine, environment, interpret_options);
    return true;
  }
  const ir::Environment inputs = environment;
  // First without the check of races, so that all touches are seen up to the end.
  interpret_options.check_races = false;
  std::string failure = loops_failure(*state, machine, environment, interpret_options);
  print_lines("with " + options.script, watcher.lines);
  // Threads one after the other may come out right: are they races all the same?
  if (failure.empty()) {
    ir::Environment copy = inputs;
    failure = loops_failure(*state, machine, copy, {});
  }
  if (!failure.empty()) std::cout << "  then: " << failure << "\n";
  return failure.empty();
}

int run_interpret(InterpretVerbOptions options) {
  const std::string& source = options.source.source;
  options.model.shapes = options.source.shape;
  if (is_artifact(source))
    throw UserError(
        ExitStatus::Usage,
        source + ": an artifact holds machine code, expected a Program or an ONNX file");
  check_output(options.data, {source, options.script});
  if (is_model(source) && options.group.empty() && options.script.empty()) {
    if (!options.watch.empty())
      throw UserError(ExitStatus::Usage,
                      "--watch " + options.watch + ": of a model, --group NAME is needed as well");
    return interpret_model(source, options.model, options.data);
  }
  const Machine machine = target_from(options.target).machine;
  std::optional<schedule::Script> script;
  if (!options.script.empty()) script = load_script(options.script, options.params);
  const auto program = program_of(options, script ? &*script : nullptr, machine);
  if (!script) watched_in_reference(options.watch, *program, nullptr);
  std::vector<NamedBuffer> buffers = buffers_of(*program);
  DataOptions data = options.data;
  if (data.fill.empty() && !options.watch.empty() && data.output.empty() && data.expect.empty())
    data.fill = "int:1";
  fill_buffers(data, buffers);
  std::vector<std::string> outputs;
  for (const NamedBuffer& buffer : buffers)
    if (buffer.output) outputs.push_back(buffer.name);
  check_outputs(options.data, outputs);
  const auto start = std::chrono::steady_clock::now();
  ir::Environment environment;
  for (const NamedBuffer& buffer : buffers) {
    if (buffer.input) environment[buffer.name] = driver::to_contents(buffer.tensor);
  }
  if (!interpret(options, program, script ? &*script : nullptr, machine, environment)) return 0;
  for (NamedBuffer& buffer : buffers) {
    if (buffer.output) buffer.tensor = driver::to_tensor(environment.at(buffer.name));
  }
  tell_outputs(program->name + " (" + (script ? "loops of " + options.script : "reference order") +
                   "): interpreted in " + milliseconds(milliseconds_since(start)),
               buffers);
  return finish_outputs(options.data, buffers);
}

}  // namespace

void add_interpret(const Verb& app) {
  const Verb verb = app.verb(
      "interpret", "run a Program, its loops after a script, or an ONNX model, in the interpreter");
  auto options = std::make_shared<InterpretVerbOptions>();
  add_operator_options(verb, options->source);
  verb.existing("program").description(
      "a file of Program text, index notation in quotes, or an ONNX file");
  add_group_options(verb, options->model);
  verb.option("--group", options->group, "of a model: the Program of this group");
  add_data_options(verb, options->data);
  verb.option("--script", options->script,
              "interpret the loops of this schedule; it need not be legal");
  add_param_option(verb, options->params);
  verb.option("--watch", options->watch,
              "print every touch of this element, 'B[2, 1]'; inputs without a value are filled "
              "with int:1 then");
  verb.option("--target", options->target, kTargetHelp).shows_default();
  verb.example("polyte interpret jacobi.program --shape T=1,N=4 --watch 'B[2, 1]'");
  verb.calls([options] { return run_interpret(*options); });
}

}  // namespace polyte::cli
