// Chains of rows: softmax, norms, sums and means of rows (schedule/cost/row_chain.h). Takes as many nests as go
// together.
//
//   par i.o > { i.i > { <j.i> > top_v.init; j.o > <j.i> > top_v.update; .. }; <i.i> > top.init; [j.i.i] > <i.i> >
//   top.update; .. }
#include "schedule/templates/nests.h"

namespace polyte::schedule {
namespace {

Statements statements_of(const StatementGroup& group) {
  Statements statements;
  for (const ir::Statement* s : {group.init, group.update, group.plain})
    if (s) statements.push_back(s);
  statements.insert(statements.end(), group.epilogue.begin(), group.epilogue.end());
  return statements;
}

}  // namespace

RowRun plan_rows(const KernelSoFar& kernel, std::span<const StatementGroup> groups, bool keep_order) {
  std::vector<Statements> statements;
  for (const StatementGroup& group : groups) statements.push_back(statements_of(group));
  return longest_rows({&kernel.program, &kernel.reference, &kernel.machine, {}, keep_order, Provenance::Template},
                      statements, kernel.number);
}

}  // namespace polyte::schedule
