// polyte prove: is another tool's schedule legal for this Program? Exit status 0, 1 (with the
// smallest case that shows the fault) or 8 (unknown), as `check`. Where it can be said as a
// Script, the Script.
#include <iostream>

#include "driver/cli/cli.h"
#include "driver/cli/verdict.h"
#include "driver/compile/second_judge.h"
#include "schedule/proof/foreign_schedule.h"
#include "schedule/proof/openscop.h"
#include "schedule/script/script_of_times.h"

namespace polyte::cli {
namespace {

struct ProveOptions {
  OperatorOptions source;
  std::string schedule, emit;
  std::string target = "cpu:native";
  bool json = false, reassoc = false, no_second_judge = false;
};

// The schedule as a Script of ours, proved, in the very order of the file; or why there is none.
struct Said {
  std::optional<schedule::Script> script;
  std::shared_ptr<const schedule::State> state;
  std::string why_not;
};

// The Script has to order all pairs of instances as the file does: rows of one time vector may have
// several Scripts that are legal and are not this order.
Said say(const schedule::ForeignSchedule& foreign,
         const std::shared_ptr<const ir::Program>& program, schedule::Terms terms,
         const Machine& machine) {
  Said said;
  const std::vector<schedule::ForeignRows> rows = foreign.rows(said.why_not);
  if (!said.why_not.empty()) return said;
  auto script = schedule::script_of_times(*program, rows, terms, machine);
  if (!script) return {{}, {}, script.error().reason};
  const auto state = schedule::replay(program, *script, machine, {});
  if (!state) return {{}, {}, state.error().directive + ": " + state.error().headline};
  if (!foreign.is_order_of(*state))
    return {{}, {}, "the script would run pairs of instances in another order"};
  return {*std::move(script), std::make_shared<const schedule::State>(*state), ""};
}

nlohmann::json marks_json(const schedule::ForeignVerdict& verdict) {
  nlohmann::json marks = nlohmann::json::array();
  for (const schedule::JudgedMark& mark : verdict.marks) {
    nlohmann::json one{{"mark", mark.text}, {"holds", !mark.refusal}};
    if (mark.refusal) one["refusal"] = to_json(*mark.refusal);
    marks.push_back(std::move(one));
  }
  return marks;
}

std::string explanation_of(const schedule::ForeignVerdict& verdict, const std::string& origin) {
  std::string text;
  if (verdict.refusal) return schedule::to_string(*verdict.refusal, origin, "");
  for (const schedule::JudgedMark& mark : verdict.marks) {
    if (!mark.refusal) continue;
    schedule::Refusal refusal = *mark.refusal;
    refusal.directive = mark.text;
    text += schedule::to_string(refusal, origin, "");
  }
  return text;
}

int finish_refused(const ProveOptions& options, nlohmann::json json,
                   const schedule::ForeignVerdict& verdict) {
  const schedule::Refusal& first = *verdict.first_refusal();
  json["verdict"] = verdict_of(first);
  json["refusal"] = to_json(first);
  print_verdict(json, options.json, explanation_of(verdict, options.schedule));
  return static_cast<int>(schedule::exit_status(first.kind));
}

void print_marks(const schedule::ForeignVerdict& verdict) {
  for (const schedule::JudgedMark& mark : verdict.marks) std::cout << mark.text << ": holds\n";
}

int run_prove(const ProveOptions& options) {
  const auto program = load_open_program(options.source);
  const Machine machine = target_from(options.target).machine;
  std::string text = read_text_file(options.schedule);
  const bool is_openscop = schedule::is_openscop(text);
  if (is_openscop) text = schedule::isl_text_of_openscop(text, *program, options.schedule);
  const schedule::ForeignSchedule foreign(program, text, options.schedule);
  const auto terms = options.reassoc ? schedule::Terms::AnyOrder : schedule::Terms::InOrder;
  const schedule::ForeignVerdict verdict = foreign.judge(terms);
  nlohmann::json json{{"program", program->name},
                      {"schedule", options.schedule},
                      {"form", is_openscop         ? "openscop"
                               : foreign.is_tree() ? "schedule tree"
                                                   : "union map"},
                      {"marks", marks_json(verdict)}};
  // A mark that does not hold is refused too, though the order itself may be legal.
  if (verdict.first_refusal()) return finish_refused(options, std::move(json), verdict);
  const Said said = say(foreign, program, terms, machine);
  json["verdict"] = "legal";
  json["script"] = said.script ? nlohmann::json(schedule::print(*said.script)) : nlohmann::json();
  if (!said.script) json["no_script"] = said.why_not;
  if (options.emit == "script") {
    if (!said.script)
      throw UserError(ExitStatus::Unsupported,
                      options.schedule + ": legal, but no script of ours says it: " + said.why_not);
    std::cout << schedule::print(*said.script);
    return 0;
  }
  // The second judge runs Scripts alone; a schedule that none says has one judge.
  if (said.script && !options.no_second_judge)
    json["second_judge"] =
        driver::ask_second_judge({*said.state, *said.script}, machine, driver::kPatientJudgeSteps)
            .text;
  print_verdict(json, options.json, "");
  if (options.json) return 0;
  print_marks(verdict);
  std::cout << "as a script: " << (said.script ? "--emit script" : "no, " + said.why_not) << "\n";
  return 0;
}

}  // namespace

void add_prove(const Verb& app) {
  const Verb verb = app.verb(
      "prove", "is another tool's schedule (OpenScop, isl's union map or schedule tree) legal?");
  auto options = std::make_shared<ProveOptions>();
  add_operator_options(verb, options->source);
  verb.option("--schedule", options->schedule,
              "the schedule, with the statement names of polyte deps --format isl")
      .required();
  verb.flag("--reassoc", options->reassoc, "terms of declared reductions may change places");
  verb.option("--emit", options->emit, "script: the schedule as a Script of ours, if it is legal")
      .one_of({"script"});
  verb.option("--target", options->target, kTargetHelp).shows_default();
  add_judge_option(verb, options->no_second_judge);
  verb.flag("--json", options->json, "the verdict as JSON");
  verb.example("polyte prove jacobi.program --schedule pluto.isl");
  verb.calls([options] { return run_prove(*options); });
}

}  // namespace polyte::cli
