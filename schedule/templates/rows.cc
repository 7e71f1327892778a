// Chains of rows: softmax, norms, sums and means of rows (schedule/cost/row_chain.h). Takes as many nests as go
// together.
//
//   par i.o > { i.i > { <j.i> > top_v.init; j.o > <j.i> > top_v.update; .. }; <i.i> > top.init; [j.i.i] > <i.i> >
//   top.update; .. }
#include "schedule/cost/row_chain.h"
#include "schedule/templates/nests.h"

namespace polyte::schedule {
namespace {

Statements statements_of(const NestPlan& plan) {
  Statements statements;
  for (const ir::Statement* s : {plan.init, plan.update, plan.plain})
    if (s) statements.push_back(s);
  statements.insert(statements.end(), plan.epilogue.begin(), plan.epilogue.end());
  return statements;
}

}  // namespace

std::size_t schedule_rows(const ir::Program& program, const State& reference, const Machine& machine,
                          std::span<const NestPlan> plans, bool keep_order, ScriptText& script) {
  std::vector<Statements> groups;
  for (const NestPlan& plan : plans) groups.push_back(statements_of(plan));
  const RowRun run = longest_rows({&program, &reference, &machine, {}, keep_order}, groups, script.param(""));
  for (const std::string& line : run.script.lines) script.add(line);
  script.reassociated.insert(run.script.reassociated.begin(), run.script.reassociated.end());
  script.in_place.insert(run.script.in_place.begin(), run.script.in_place.end());
  return run.groups;
}

}  // namespace polyte::schedule
