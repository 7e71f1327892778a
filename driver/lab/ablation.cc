#include "driver/lab/ablation.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "driver/compile/build_kernel.h"
#include "driver/compile/describe_target.h"
#include "driver/lab/report.h"
#include "driver/lab/script_variants.h"
#include "driver/lab/text_table.h"
#include "support/error.h"
#include "support/join_words.h"
#include "support/nearest_word.h"
#include "support/stable_sort.h"

namespace polyte::lab {
namespace {

constexpr const char* kWithout = "without ";
constexpr const char* kFirst = "first ";
constexpr const char* kReset = "with ";
constexpr const char* kFactor = "factor ";
constexpr const char* kMarker = "marker ";
constexpr std::size_t kMostLines = 60, kMostVariants = 200;

using schedule::Script;

// A plan of one row whose arms are these scripts.
class VariantPlan {
 public:
  VariantPlan(const Subject& subject, const Sources& sources) : sources_(sources) {
    experiment_.programs = {subject.source};
    if (!subject.dtype.empty()) experiment_.dtypes = {subject.dtype};
    experiment_.sizes = {subject.sizes};
    experiment_.threads = {subject.threads};
    experiment_.fills = {subject.fill};
    experiment_.caches = {subject.caches};
    experiment_.target = subject.target;
    experiment_.stop = subject.stop;
    experiment_.tolerance = subject.tolerance;
    experiment_.seed = subject.seed;
    experiment_.exact = subject.exact;
    experiment_.emulate = subject.emulate;
    experiment_.size_option = "--shape";
  }

  // Two variants may read alike (one directive that a script has twice); names of arms are unique.
  void add(std::string name, const Script& script) {
    while (scripts_.contains(name)) name += "'";
    experiment_.arms.push_back({name, ArmSpec::Kind::Script, name, {}});
    experiment_.only = {script.program};
    scripts_[name] = script;
  }

  std::size_t size() const { return scripts_.size(); }

  // Scripts are in memory, not in files: the source of scripts that the plan asks takes an arm's
  // name in place of a path.
  Plan plan(const std::string& title) {
    experiment_.name = title;
    experiment_.text = "# " + title + "\n";
    experiment_.baseline = experiment_.arms.at(0).name;
    Sources own = sources_;
    own.scripts = [&](const std::string& path, const std::vector<std::string>&) {
      return std::vector{scripts_.at(path)};
    };
    return make_plan(experiment_, own);
  }

 private:
  const Sources& sources_;
  Experiment experiment_;
  std::map<std::string, Script> scripts_;
};

// That the script is for a Program of the subject, where that is not a model's.
void check_program(const Script& script, const std::string& name, const Subject& subject,
                   const Sources& sources) {
  if (subject.source.ends_with(".onnx")) return;
  std::vector<std::string> names;
  for (const ir::Program& program : sources.programs(subject.source, subject.dtype))
    names.push_back(program.name);
  if (std::ranges::find(names, script.program) == names.end())
    throw UserError(ExitStatus::Usage, name + ": the script is for program '" + script.program +
                                           "', --program " + subject.source + " has " +
                                           join_words(names) + did_you_mean(script.program, names));
}

// Lines that only give names to numbers: without them others mean nothing.
bool is_setting(const schedule::Directive& directive) {
  return std::holds_alternative<schedule::SetParam>(directive.operation) ||
         std::holds_alternative<schedule::Let>(directive.operation) ||
         std::holds_alternative<schedule::Where>(directive.operation);
}

// Params cannot be left out; at 1 they say as little as they can.
void add_resets(const Script& script, VariantPlan& variants) {
  for (std::size_t i = 0; i < script.directives.size(); ++i) {
    const auto* param = std::get_if<schedule::SetParam>(&script.directives[i].operation);
    if (!param || param->value.text == "1") continue;
    Script reset = script;
    reset.directives[i].operation = schedule::SetParam{param->name, {"1"}, {}};
    variants.add(kReset + ("param " + param->name) + " = 1, not " + param->value.text, reset);
  }
}

// "5: stage C at ..": by the line of the file, of which one may be several directives.
std::string place_of(const schedule::Directive& directive) {
  if (directive.line == 0) return "";
  return (directive.file.empty() ? "" : directive.file + ":") + std::to_string(directive.line) +
         ": ";
}

// Lines that do something, with their numbers; and where they stand.
std::vector<std::pair<std::string, std::size_t>> acting_lines(const Script& script) {
  std::vector<std::pair<std::string, std::size_t>> lines;
  for (std::size_t i = 0; i < script.directives.size(); ++i)
    if (const schedule::Directive& directive = script.directives[i]; !is_setting(directive))
      lines.emplace_back(place_of(directive) + directive_text(directive), i);
  return lines;
}

void add_without(const Script& script, VariantPlan& variants) {
  add_resets(script, variants);
  for (const auto& [words, i] : acting_lines(script)) {
    Script without = script;
    without.directives.erase(without.directives.begin() + static_cast<std::ptrdiff_t>(i));
    variants.add(kWithout + words, without);
  }
}

// The script up to each of its lines, with all settings; the last one would be the whole.
void add_beginnings(const Script& script, VariantPlan& variants) {
  const auto begin = [&](std::size_t end) {
    Script begun = script;
    begun.directives.clear();
    for (std::size_t i = 0; i < script.directives.size(); ++i)
      if (i < end || is_setting(script.directives[i]))
        begun.directives.push_back(script.directives[i]);
    return begun;
  };
  variants.add(std::string(kFirst) + "0: the reference order", begin(0));
  for (const auto& [words, i] : acting_lines(script))
    if (i + 1 < script.directives.size()) variants.add(kFirst + words, begin(i + 1));
}

// Each directive is a variant that is compiled, proved and measured.
void check_length(const Script& script, const std::string& name) {
  if (script.directives.size() > kMostLines)
    throw UserError(ExitStatus::ResourceLimit,
                    name + ": " + std::to_string(script.directives.size()) +
                        " directives, at most " + std::to_string(kMostLines) + " are taken apart");
}

// Whether a script's proof succeeds on the row's Program.
bool is_accepted(const Script& script, const std::shared_ptr<const ir::Program>& program,
                 const Subject& subject) {
  Machine machine = driver::target_named(subject.target).machine;
  machine.cores = subject.threads;
  driver::KernelOptions options;
  options.scheduler = driver::Scheduler::Script;
  // As a worker reads it: from its text.
  try {
    const Script read = schedule::parse_script(schedule::print(script), "a step");
    options.script = &read;
    options.second_judge = false;
    driver::build_kernel(program, machine, options);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

std::string head_text(const Results& results) {
  const RowResult& row = results.rows.at(0);
  return wrapped(results.plan.name, "") + wrapped(row.name + ", " + machine_line(results), "");
}

// A variant's time over the whole script's.
std::string cost_text(const ArmResult& arm) {
  return arm.ratio ? ratio_text(arm.ratio->estimate) + " " + interval_text(*arm.ratio) : "-";
}

// Why a variant cannot be had, without the variant's own name before it.
std::string why_not(const ArmResult& arm) {
  std::string reason = arm.reason.substr(0, arm.reason.find('\n'));
  if (reason.starts_with(arm.name + ":")) {
    reason.erase(0, arm.name.size() + 1);
    const std::size_t line = reason.find(": ");  // of the number of a line
    if (line != std::string::npos && line < 5) reason.erase(0, line + 2);
  }
  return arm.status + (reason.empty() ? "" : ": " + reason);
}

// A table of those that could be had, those that are worth most first if so asked, and below it
// why the others could not.
//   without one line      time    to the whole, 95 %
//     3: vectorize n.i  21.3 us  3.67x [3.610, 3.720]  slower
//     1: split m by 4   5.81 us  1.00x [0.990, 1.008]  not distinguishable
std::string variants_text(const RowResult& row, const char* prefix, const std::string& title,
                          bool by_worth) {
  std::vector<const ArmResult*> arms;
  for (const ArmResult& arm : row.arms)
    if (arm.name.starts_with(prefix)) arms.push_back(&arm);
  if (by_worth)
    sort_stably(arms, std::greater(),
                [](const ArmResult* arm) { return arm->ratio ? arm->ratio->estimate : 0; });
  std::vector<Cells> cells;
  std::string refused;
  for (const ArmResult* arm : arms) {
    const std::string name = arm->name.substr(std::string(prefix).size());
    if (arm->is_timed())
      cells.push_back(
          {"  " + name, time_text(arm->time.estimate), cost_text(*arm), outcome_text(*arm)});
    else
      refused += wrapped("  " + name, "") + wrapped(why_not(*arm), "      ");
  }
  std::string text;
  if (!cells.empty()) text += "\n" + text_table({title, "time", "to the whole, 95 %", ""}, cells);
  if (!refused.empty()) text += "\n" + title + ": cannot be had\n" + refused;
  return text;
}

std::string warnings_text(const RowResult& row) {
  std::string text;
  for (const std::string& warning : row.warnings) text += wrapped("warning: " + warning, "");
  return text;
}

}  // namespace

std::string to_string(Ablated what) {
  switch (what) {
    case Ablated::Lines:
      return "lines";
    case Ablated::Factors:
      return "factors";
    case Ablated::Markers:
      return "markers";
    case Ablated::Order:
      return "order";
  }
  return "";
}

Plan ablation_plan(const Script& script, const std::string& name, const Subject& subject,
                   const Sources& sources, std::span<const Ablated> what) {
  check_length(script, name);
  check_program(script, name, subject, sources);
  VariantPlan variants(subject, sources);
  variants.add(name, script);
  const auto is_asked = [&](Ablated one) { return std::ranges::find(what, one) != what.end(); };
  if (is_asked(Ablated::Lines)) add_without(script, variants);
  if (is_asked(Ablated::Factors))
    for (const Variant& variant : factor_variants(script))
      variants.add(kFactor + variant.text, variant.script);
  if (is_asked(Ablated::Markers))
    for (const Variant& variant : marker_variants(script))
      variants.add(kMarker + variant.text, variant.script);
  if (is_asked(Ablated::Order)) add_beginnings(script, variants);
  if (variants.size() > kMostVariants)
    throw UserError(ExitStatus::ResourceLimit,
                    name + ": " + std::to_string(variants.size()) + " variants, at most " +
                        std::to_string(kMostVariants) +
                        " are measured: ask for some of lines, factors, markers, order");
  return variants.plan("ablation of " + name);
}

std::string ablation_text(const Results& results) {
  const RowResult& row = results.rows.at(0);
  const ArmResult& whole = row.arms.at(0);
  std::string text = head_text(results) + whole.name + ", whole: " +
                     (whole.is_timed() ? time_text(whole.time.estimate) : why_not(whole)) + "\n";
  text += variants_text(row, kWithout, "without one line", true);
  text += variants_text(row, kReset, "a param reset", true);
  text += variants_text(row, kFactor, "another factor", true);
  text += variants_text(row, kMarker, "a marker taken away", true);
  text += variants_text(row, kFirst, "up to this line, in order", false);
  text += wrapped(
      "above 1: the whole is faster, what was taken away is worth so much; the largest first", "");
  return text + warnings_text(row);
}

Plan path_plan(const Script& first, const std::string& first_name, const Script& second,
               const std::string& second_name, const Subject& subject, const Sources& sources) {
  check_length(first, first_name);
  check_length(second, second_name);
  if (first.program != second.program)
    throw UserError(ExitStatus::Usage, first_name + " is for '" + first.program + "', " +
                                           second_name + " for '" + second.program +
                                           "': expected two scripts of one program");
  check_program(first, first_name, subject, sources);
  // The search for a path needs the Program with its sizes bound to ask whether a script is legal,
  // and only a plan binds them: a plan of the first script alone gives it.
  VariantPlan ends(subject, sources);
  ends.add(first_name, first);
  const Plan one = ends.plan("path");
  const std::shared_ptr<const ir::Program> program = bound_program(one, one.rows.at(0));
  VariantPlan variants(subject, sources);
  variants.add(first_name, first);
  const std::vector<PathStep> path = find_path(
      first, second, [&](const Script& script) { return is_accepted(script, program, subject); });
  if (path.empty())
    throw UserError(ExitStatus::Usage,
                    first_name + " and " + second_name + " have the same directives");
  for (std::size_t i = 0; i < path.size(); ++i)
    variants.add(std::to_string(i + 1) + ": " + path[i].text, path[i].script);
  return variants.plan("path from " + first_name + " to " + second_name);
}

// Against the last step that could be timed, not against the first script: steps that are refused
// are skipped, and their effect is part of the next step's ratio.
std::vector<PathRatio> path_ratios(const Results& results) {
  const RowResult& row = results.rows.at(0);
  std::vector<PathRatio> steps;
  const ArmResult* before = nullptr;
  for (const ArmResult& arm : row.arms) {
    PathRatio& step = steps.emplace_back(PathRatio{&arm, {}, arm.is_timed() ? "" : why_not(arm)});
    if (arm.is_timed() && before) {
      step.ratio = paired_ratio(arm.samples, before->samples, {1000, results.plan.seed});
      const bool same = !arm.identical_to.empty() && (arm.identical_to == before->name ||
                                                      arm.identical_to == before->identical_to);
      step.remark = same                              ? "same loops"
                    : !passes_noise(*step.ratio, row) ? "not distinguishable"
                    : step.ratio->estimate < 1        ? "faster"
                                                      : "slower";
    }
    if (arm.is_timed()) before = &arm;
  }
  return steps;
}

//                                               time    to the step before, 95 %
//   first.sched                              6.40 us    -
//   1: split m by 8, in place of split m by 4  5.60 us  0.88x [0.870, 0.885]
std::string path_text(const Results& results) {
  const RowResult& row = results.rows.at(0);
  std::vector<Cells> cells;
  for (const PathRatio& step : path_ratios(results))
    cells.push_back(
        {step.arm->name, step.arm->is_timed() ? time_text(step.arm->time.estimate) : "-",
         step.ratio ? ratio_text(step.ratio->estimate) + " " + interval_text(*step.ratio) : "-",
         step.remark});
  std::string text =
      head_text(results) + text_table({"", "time", "to the step before, 95 %", ""}, cells);
  if (const ArmResult& last = row.arms.back(); last.ratio)
    text += "in all: " + cost_text(last) + ", " + outcome_text(last) + "\n";
  text += wrapped("a ratio is a time over that of the step before: below 1 is faster", "");
  return text + warnings_text(row);
}

}  // namespace polyte::lab
