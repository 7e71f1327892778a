#include "driver/lab/suite_check.h"

#include <set>

#include "driver/lab/correctness.h"
#include "ir/program_text.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

// A plan of one row, so that references and arms are prepared as for an experiment.
Plan plan_of(const SuiteRow& row, const std::string& text) {
  Plan plan;
  plan.programs.push_back({row.program.name, "", text, ""});
  plan.rows.push_back({row.name, 0, row.sizes, 1, "int:1", Caches::Warm, "", ""});
  plan.target = "cpu:native";
  return plan;
}

// At small sizes and on integers, against the interpreter, as a run checks its arms.
SuiteFinding finding_of(const SuiteRow& row, const ArmSpec& spec, const Workshop& workshop,
                        const SmallProgram& small) {
  const PlannedArm arm{spec, {}};
  const Prepared prepared = prepare(workshop, arm, small.program);
  if (!prepared.contender)
    return {row.name, spec.name, "", prepared.status + ", " + prepared.reason};
  const Verdict verdict = check_small(workshop, *prepared.contender, small);
  return {row.name, spec.name, verdict.right ? "" : verdict.text, ""};
}

std::vector<SuiteFinding> check_row(const SuiteRow& row, const std::string& text,
                                    const std::vector<ArmSpec>& arms) {
  const Plan plan = plan_of(row, text);
  // Without a folder peers keep no compiled file.
  const Workshop workshop = make_workshop(plan, plan.rows[0], {}, "");
  const SmallProgram small = make_small(workshop);
  if (!small.program) return {{row.name, "the interpreter", small.problem, ""}};
  std::vector<SuiteFinding> findings;
  for (const ArmSpec& arm : arms) try {
      findings.push_back(finding_of(row, arm, workshop, small));
    } catch (const UserError& e) {
      findings.push_back({row.name, arm.name, e.what(), ""});
    }
  return findings;
}

}  // namespace

std::vector<SuiteFinding> check_suite(const Suite& suite, std::vector<ArmSpec> arms) {
  // A suite's Programs are checked, not schedulers: by a C compiler, which shares no code
  // generator with Polyte, or where there is none by the reference order.
  if (arms.empty() && !find_compiler("strict").path.empty())
    arms = {{"C", ArmSpec::Kind::Peer, "strict", {}}};
  if (arms.empty()) arms = {{"naive", ArmSpec::Kind::Scheduler, "naive", {}}};
  std::vector<SuiteFinding> findings;
  std::set<std::string> seen;
  for (const SuiteRow& row : suite.rows) {
    const std::string text = ir::print(row.program);
    // Rows that differ in sizes alone have one Program, which is checked once.
    if (!seen.insert(text).second) continue;
    const std::vector<SuiteFinding> found = check_row(row, text, arms);
    findings.insert(findings.end(), found.begin(), found.end());
  }
  return findings;
}

}  // namespace polyte::lab
