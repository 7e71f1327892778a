// polyte lab ablate, path: what the lines of a script are worth. polyte diff: two scripts
// in words and nests.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "driver/cli/cli.h"
#include "driver/cli/lab_verbs.h"
#include "driver/cli/reports.h"
#include "driver/lab/ablation.h"
#include "driver/lab/script_steps.h"
#include "driver/lab/text_table.h"

namespace polyte::cli {
namespace {

namespace fs = std::filesystem;

struct WhyVerb {
  std::vector<std::string> scripts, params, shape, of;
  std::string program, dtype, out;
  int threads = 1, processes = 3;
  double round_ms = lab::StopRule().round_ms;
  bool quiet = false;
};

// As many processes as are asked for, least and most: all variants are measured equally long.
lab::Subject subject_of(const WhyVerb& verb) {
  lab::Subject subject;
  subject.source = verb.program;
  subject.dtype = verb.dtype;
  subject.sizes = parse_sizes(verb.shape);
  subject.threads = verb.threads;
  if (!(verb.round_ms > 0 && verb.round_ms <= 10000))
    throw UserError(ExitStatus::Usage,
                    "--round-ms: expected more than 0 and at most 10000 milliseconds");
  subject.stop.round_ms = verb.round_ms;
  subject.stop.processes_least = subject.stop.processes_most = verb.processes;
  return subject;
}

// Scripts by the names of their files; of two of one name by their paths.
std::string short_name(const WhyVerb& verb, std::size_t i) {
  const auto name = [&](std::size_t k) { return fs::path(verb.scripts[k]).filename().string(); };
  return verb.scripts.size() > 1 && name(0) == name(1) ? verb.scripts[i] : name(i);
}

int measure(const lab::Plan& plan, const WhyVerb& verb, const std::string& ending,
            const std::function<std::string(const lab::Results&)>& text) {
  // Beside the script, where no folder is named: mine.sched gives mine.ablation.
  const std::string folder = verb.out.empty()
                                 ? fs::path(verb.scripts.back()).replace_extension(ending).string()
                                 : verb.out;
  const lab::RunResult run = run_lab_plan(plan, folder, verb.quiet);
  // As a shell reports Ctrl-C: 128 + SIGINT.
  if (run.interrupted) return 130;
  std::cout << text(lab::evaluate(plan, run.records));
  return 0;
}

// All in the order of the table, whatever the order on the command line.
std::vector<lab::Ablated> ablated_of(const WhyVerb& verb) {
  std::vector<lab::Ablated> what;
  for (const lab::Ablated one : lab::kAllAblated)
    if (verb.of.empty() || std::ranges::find(verb.of, lab::to_string(one)) != verb.of.end())
      what.push_back(one);
  return what;
}

std::vector<std::string> ablated_names() {
  std::vector<std::string> names;
  for (const lab::Ablated one : lab::kAllAblated) names.push_back(lab::to_string(one));
  return names;
}

int run_lab_ablate(const WhyVerb& verb) {
  const schedule::Script script = load_script(verb.scripts[0], verb.params);
  const lab::Plan plan = lab::ablation_plan(script, short_name(verb, 0), subject_of(verb),
                                            lab_sources(), ablated_of(verb));
  return measure(plan, verb, ".ablation", lab::ablation_text);
}

int run_lab_path(const WhyVerb& verb) {
  const schedule::Script first = load_script(verb.scripts[0], {}),
                         second = load_script(verb.scripts[1], {});
  const lab::Plan plan = lab::path_plan(first, short_name(verb, 0), second, short_name(verb, 1),
                                        subject_of(verb), lab_sources());
  return measure(plan, verb, ".path", lab::path_text);
}

void add_subject_options(const Verb& verb, WhyVerb& options) {
  verb.option("--program", options.program, "what the script is for: a file, or index notation")
      .required();
  verb.option("--shape", options.shape, "sizes, m=512,n=512,k=512").separated();
  verb.option("--dtype", options.dtype, "element type of index notation and C");
  verb.option("--threads", options.threads, "worker threads").within(1, 1024).shows_default();
  verb.option("--processes", options.processes, "processes that measure")
      .within(1, 1000)
      .shows_default();
  verb.option("--round-ms", options.round_ms, "what a round repeats an arm to fill, milliseconds")
      .shows_default();
  verb.option("-o,--out", options.out,
              "the result folder, which lab report takes too; else the script's name");
  verb.flag("--quiet", options.quiet, "no progress on stderr");
}

// ---- diff

struct DiffVerb {
  std::string first, second, program, dtype;
  std::vector<std::string> shape;
};

// The nest only: nothing is executed, so the second judge has nothing to do. Sizes may stay
// open.
std::string nest_of(const std::string& path, const DiffVerb& verb) {
  OperatorOptions options;
  options.source = verb.program;
  options.dtype = verb.dtype;
  options.shape = verb.shape;
  const schedule::Script script = load_script(path, {});
  const std::shared_ptr<const ir::Program> program = load_symbolic_program(options, script.program);
  driver::KernelOptions kernel;
  kernel.scheduler = driver::Scheduler::Script;
  kernel.script = &script;
  kernel.script_origin = path;
  kernel.second_judge = false;
  return schedule::print_nests(
      driver::build_kernel(program, target_from("cpu:native").machine, kernel).state->tree);
}

std::string indented(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) result += lab::wrapped(line, "  ");
  return result;
}

// The words first, which need no Program; nests only where there is one to replay the scripts
// on.
int run_diff(const DiffVerb& verb) {
  const schedule::Script first = load_script(verb.first, {}), second = load_script(verb.second, {});
  const std::vector<std::string> lines = lab::differences(first, second);
  for (const std::string& line : lines) std::cout << line << "\n";
  if (lines.empty()) std::cout << "the same directives\n";
  if (verb.program.empty()) return 0;
  const std::string a = nest_of(verb.first, verb), b = nest_of(verb.second, verb);
  if (a == b)
    std::cout << "the same nest:\n" << indented(a);
  else
    std::cout << "nest of " << verb.first << ":\n"
              << indented(a) << "nest of " << verb.second << ":\n"
              << indented(b);
  return 0;
}

}  // namespace

void add_lab_ablate(const Verb& lab) {
  const Verb verb = lab.verb("ablate", "what each line, factor and marker of a script is worth");
  auto options = std::make_shared<WhyVerb>();
  // The option writes to the element, which must therefore be there before the parse.
  options->scripts.resize(1);
  verb.option("script", options->scripts[0], "the script").required();
  add_param_option(verb, options->params);
  add_subject_options(verb, *options);
  verb.option("--of", options->of,
              "what is taken away: lines, factors, markers, order (lines up to each); else all")
      .separated()
      .one_of(ablated_names());
  verb.example(
      "polyte lab ablate mine.sched --program 'C[m,n] = sum[k] A[m,k]*B[k,n]' --shape "
      "m=64,n=64,k=64");
  verb.calls([options] { return run_lab_ablate(*options); });
}

void add_lab_path(const Verb& lab) {
  const Verb verb =
      lab.verb("path", "from one script to another in steps that are legal, each measured");
  auto options = std::make_shared<WhyVerb>();
  options->scripts.resize(2);
  verb.option("first", options->scripts[0], "the script to begin with").required();
  verb.option("second", options->scripts[1], "the script to end with").required();
  add_subject_options(verb, *options);
  verb.example(
      "polyte lab path a.sched b.sched --program 'C[m,n] = sum[k] A[m,k]*B[k,n]' --shape "
      "m=64,n=64,k=64");
  verb.calls([options] { return run_lab_path(*options); });
}

void add_diff(const Verb& app) {
  const Verb verb = app.verb("diff", "two scripts: what differs in words, and their nests");
  auto options = std::make_shared<DiffVerb>();
  verb.option("first", options->first, "a script").required();
  verb.option("second", options->second, "another").required();
  verb.option("--program", options->program,
              "what they are for, a file or index notation: shows the nests too");
  verb.option("--shape", options->shape, "sizes, m=512,n=512,k=512").separated();
  verb.option("--dtype", options->dtype, "element type of index notation and C");
  verb.example(
      "polyte diff a.sched b.sched --program 'C[m,n] = sum[k] A[m,k]*B[k,n]' --shape "
      "m=64,n=64,k=64");
  verb.calls([options] { return run_diff(*options); });
}

}  // namespace polyte::cli
