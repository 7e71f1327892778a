// polyte opt: passes by name, on loop text or on the graph of a model, for developers of passes
// (docs/passes.md).
#include <algorithm>
#include <iostream>
#include <span>
#include <sstream>

#include "driver/cli/model_options.h"
#include "driver/cli/pass_files.h"
#include "driver/compile/partition.h"
#include "graph/pass_list.h"
#include "lower/pass_list.h"
#include "support/join_words.h"

namespace polyte::cli {
namespace {

struct OptOptions {
  std::string file;
  std::vector<std::string> passes, skip;
  std::string from, dump_dir;
  ModelVerbOptions model;  // of an ONNX file, and --target of both
  bool list = false;
};

// One of the two lists, and what is said of it.
struct PassNames {
  std::string kind;                 // "loop"
  std::vector<std::string> names;   // in order
  std::size_t first = 0;            // where the whole list begins
  std::vector<std::string> others;  // names of the other list
};

template <class List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& pass : list) names.emplace_back(pass.name);
  return names;
}

// The order of the list is that of the compiler; --pass may give another one.
PassNames loop_passes(const Machine& machine) {
  // Text begins behind the pass that makes loops of a State.
  return {"loop", names_of(lower::pass_list_of(machine)), 1, names_of(graph::pass_list())};
}

PassNames graph_passes() {
  return {"graph", names_of(graph::pass_list()), 0, names_of(lower::pass_list())};
}

// Positions in the list of names that an option gives; what is no pass of it goes to `problems`.
std::vector<std::size_t> positions(const std::string& option, const std::vector<std::string>& given,
                                   const PassNames& known, std::vector<std::string>& problems) {
  std::vector<std::size_t> result;
  for (const std::string& name : given) {
    const auto found = std::ranges::find(known.names, name);
    if (found != known.names.end()) {
      result.push_back(static_cast<std::size_t>(found - known.names.begin()));
      continue;
    }
    const bool other = std::ranges::find(known.others, name) != known.others.end();
    problems.push_back(
        option + " is '" + name + "', " +
        (other ? "a pass of the other kind of file, expected a " + known.kind + " pass: "
               : "expected one of ") +
        join_words(std::span(known.names).subspan(known.first)));
  }
  return result;
}

// The passes to run, in order, as positions in the list.
std::vector<std::size_t> chosen(const OptOptions& options, const PassNames& known) {
  std::vector<std::string> problems;
  std::vector<std::size_t> result = positions("--pass", options.passes, known, problems);
  const std::vector<std::size_t> skipped = positions("--skip", options.skip, known, problems);
  std::size_t first = known.first;
  if (!options.from.empty())
    for (const std::size_t at : positions("--from", {options.from}, known, problems)) first = at;
  for (const std::size_t at : skipped)
    if (at < first)
      problems.push_back("--skip '" + known.names[at] + "': does not run, the first is '" +
                         known.names[first] + "'");
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
  if (!options.passes.empty()) return result;
  for (std::size_t at = first; at < known.names.size(); ++at)
    if (std::ranges::find(skipped, at) == skipped.end()) result.push_back(at);
  return result;
}

// ---- loops

std::string first_word(const std::string& text) {
  std::string word;
  std::istringstream(text) >> word;
  return word.substr(0, 20);
}

// Headers of loop programs: lines that begin with "loops ".
std::size_t count_programs(const std::string& text) {
  std::size_t count = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) count += line.starts_with("loops ");
  return count;
}

ir::LoopProgram read_loops(const std::string& path) {
  if (is_artifact(path))
    throw UserError(ExitStatus::Usage,
                    path + ": an artifact holds machine code, expected loop text or an ONNX file");
  const std::string text = read_text_file(path);
  const std::size_t count = count_programs(text);
  if (count == 0)
    throw UserError(ExitStatus::InvalidInput,
                    path + ": neither loop text nor, by its name, an ONNX file: it begins with '" +
                        first_word(text) +
                        "', expected 'loops NAME' as polyte op --dump-passes DIR writes it");
  if (count > 1)
    throw UserError(ExitStatus::InvalidInput, path + ": " + std::to_string(count) +
                                                  " loop programs, expected one; polyte compile "
                                                  "--dump-passes DIR gives each its own file");
  ir::LoopProgram program = ir::parse_loop_program(text, path);
  std::vector<std::string> problems = lower::problems_of(program);
  for (std::string& problem : problems) problem.insert(0, path + ": ");
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  return program;
}

// Runs one pass on loops that come from `place`, and says what it did.
// `obstacle` says what the pass asks of its loops and they do not have; `check_result` is the
// verifier that the compiler's own pipeline runs.
void run_pass(const lower::Pass& pass, ir::LoopProgram& program, lower::PassContext& context,
              const std::string& place) {
  const std::string why = lower::obstacle(pass, program);
  if (!why.empty()) throw UserError(ExitStatus::Usage, place + ": pass '" + pass.name + "' " + why);
  context.notes.clear();
  ir::LoopProgram after = pass.run(program, context);
  lower::check_result(pass, after);
  std::cerr << pass.name << ": "
            << (ir::equal(after.body, program.body) ? "nothing to do" : "changed") << "\n";
  for (const std::string& note : context.notes) std::cerr << "note: " << note << "\n";
  program = std::move(after);
}

// Each pass sees what the one before made; the text of every stage is written under its number.
int opt_loops(const OptOptions& options) {
  const Machine machine = target_from(options.model.target).machine;
  const std::vector<std::size_t> passes = chosen(options, loop_passes(machine));
  ir::LoopProgram program = read_loops(options.file);
  lower::PassContext context{.machine = machine};
  const PassFiles files("--dump-dir", options.dump_dir, {options.file});
  files.write(numbered(0, "input") + ".loops", ir::print(program));
  std::string place = options.file;
  std::size_t number = 0;
  for (const std::size_t at : passes) {
    const lower::Pass& pass = lower::pass_list_of(machine)[at];
    run_pass(pass, program, context, place);
    files.write(numbered(++number, pass.name) + ".loops", ir::print(program));
    place = options.file + " after '" + pass.name + "'";
  }
  std::cout << ir::print(program);
  return 0;
}

// ---- graphs

int opt_graph(const OptOptions& options) {
  const std::vector<std::size_t> passes = chosen(options, graph_passes());
  const Machine machine = target_from(options.model.target).machine;
  std::vector<std::string> inputs = {options.file};
  add_files(options.model, inputs);
  const PassFiles files("--dump-dir", options.dump_dir, inputs);
  frontend::Imported imported = frontend::import_onnx(options.file, import_options(options.model));
  for (const std::string& note : imported.notes) std::cerr << "note: " << note << "\n";
  graph::Graph& graph = imported.graph;
  const graph::OptimizeOptions how{
      .layout = driver::layout_options(*graph::layout_from_string(options.model.layout), machine),
      .convolutions = driver::convolution_options(
          *graph::convolutions_from_string(options.model.convolutions), machine)};
  files.write(numbered(0, "input") + ".graph", graph::print(graph));
  std::size_t number = 0;
  for (const std::size_t at : passes) {
    const graph::PassRecord record = graph::run_pass(graph::pass_list()[at], graph, how);
    std::cerr << record.name << ": " << record.rewrites
              << (record.rewrites == 1 ? " rewrite\n" : " rewrites\n");
    for (const std::string& note : record.notes) std::cerr << "note: " << note << "\n";
    files.write(numbered(++number, record.name) + ".graph", graph::print(graph));
  }
  std::cout << graph::print(graph);
  return 0;
}

// ---- the verb

std::string forms_text(const lower::Pass& pass) {
  static constexpr const char* kNeeds[] = {"a State", "nest", "nest without vector loops",
                                           "native"};
  static constexpr const char* kForms[] = {"nest", "native", "flat"};
  return std::string(kNeeds[static_cast<int>(pass.needs)]) + " -> " +
         kForms[static_cast<int>(pass.gives)];
}

int print_list() {
  for (const auto& [title, list] :
       {std::pair{"loop passes, in order", lower::pass_list()},
        {"loop passes of a GPU (--target cuda:NAME), in order", lower::gpu_pass_list()}}) {
    std::printf("%s\n", title);
    for (const lower::Pass& pass : list)
      std::printf("  %-20s  %-35s  %s\n", pass.name, forms_text(pass).c_str(), pass.what);
  }
  std::printf("graph passes, in order\n");
  for (const graph::ListedPass& pass : graph::pass_list())
    std::printf("  %-20s  %-35s  %s\n", pass.name,
                pass.rounding == graph::Rounding::Changed ? "changes roundings" : "", pass.what);
  return 0;
}

void check_combination(const OptOptions& options, const Verb& verb) {
  std::vector<std::string> problems;
  if (options.file.empty() != options.list)
    problems.emplace_back(options.list
                              ? "--list shows every pass, expected no file"
                              : "polyte opt: no file is given, expected loop text or an ONNX file");
  if (!options.passes.empty() && (!options.from.empty() || !options.skip.empty()))
    problems.emplace_back(
        "--pass says all that runs, expected neither --from nor --skip beside it");
  const bool model = is_model(options.file);
  for (const char* name : {"--shape", "--value", "--layout", "--convolutions"})
    if (!model && verb.is_given(name))
      problems.push_back(std::string(name) + ": only a model has this");
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

int run_opt(const OptOptions& options, const Verb& verb) {
  check_combination(options, verb);
  if (options.list) return print_list();
  if (!options.dump_dir.empty()) make_folder(options.dump_dir);
  return is_model(options.file) ? opt_graph(options) : opt_loops(options);
}

void add_model_part(const Verb& verb, ModelVerbOptions& options) {
  verb.option("--shape", options.shapes,
              "of a model: NAME=1x3x224x224, or a symbol, N=4; repeatable")
      .one_at_a_time();
  verb.option("--value", options.values,
              "of a model: NAME=1,2,3 or NAME=@x.npy binds an input; repeatable")
      .one_at_a_time();
  verb.option("--layout", options.layout, "of a model: what 'choose layouts' may do")
      .one_of({"auto", "plain", "blocked"})
      .shows_default();
  verb.option("--convolutions", options.convolutions,
              "of a model: what 'transform convolutions' may do")
      .one_of({"auto", "direct", "winograd"})
      .shows_default();
  verb.option("--target", options.target, "cpu:native or an LLVM CPU name: whose vectors")
      .shows_default();
}

}  // namespace

void add_opt(const Verb& app) {
  const Verb verb = app.verb("opt", "passes by name, on loop text or on the graph of a model");
  auto options = std::make_shared<OptOptions>();
  verb.option("file", options->file,
              "loop text, as --dump-passes of op and compile writes it, or an ONNX file");
  verb.option("--pass", options->passes,
              "run this pass; repeatable, in the order given; without it the whole list")
      .one_at_a_time();
  verb.option("--from", options->from, "run this pass of the list and all after it");
  verb.option("--skip", options->skip, "run the list without this pass; repeatable")
      .one_at_a_time();
  verb.option("--dump-dir", options->dump_dir, "a folder for the text after each pass, numbered");
  verb.flag("--list", options->list, "the passes, what each needs and does");
  add_model_part(verb, options->model);
  verb.example("polyte opt stages/op.02-simplify.loops --pass 'partition loops'");
  verb.calls([options, verb] { return run_opt(*options, verb); });
}

}  // namespace polyte::cli
