// What the templates share: the Program cut into nests, facts of a statement's iterators, and what a template is asked.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/cost/row_chain.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"
#include "support/result.h"

namespace polyte::schedule {

// Consecutive statements that one template schedules together.
struct StatementGroup {
  const ir::Statement* init = nullptr;  // of a reduction; null where it adds to what is there
  const ir::Statement* update = nullptr;
  std::vector<const ir::Statement*> epilogue;  // over the reduction's free iterators, after it
  const ir::Statement* plain = nullptr;        // a nest of a single definition
};

// In text order. A reduction takes along the definitions behind it that run over the same iterators and domain.
std::vector<StatementGroup> group_statements(const ir::Program& program);

struct IteratorFacts {
  std::string name;
  std::int64_t begin = 0, extent = 0;  // of the bounding box
  bool reduction = false;
};
std::vector<IteratorFacts> facts_of(const State& reference, const ir::Statement& statement);
const IteratorFacts* find(const std::vector<IteratorFacts>& facts, const std::string& iterator);  // null if absent

// Stride of an iterator in the first write (0: does not occur); nullopt: not linear.
std::optional<std::int64_t> write_stride(const ir::Program& program, const ir::Statement& statement,
                                         const std::string& iterator);

// What the nests so far have left for the next ones.
struct KernelSoFar {
  const ir::Program& program;
  const State& reference;
  const Machine& machine;
  int number = 0;                     // of the next nest
  std::set<std::string> staged = {};  // for the whole kernel
};

// From the front, as many nests as run over the same rows and go together; 0 where none does.
RowRun plan_rows(const KernelSoFar& kernel, std::span<const StatementGroup> groups, bool keep_order);
// One nest each; a plan without a tree where there is no loop. Declined: not a nest of this kind.
Result<NestPlan> plan_reduction(KernelSoFar& kernel, const StatementGroup& group);
Result<NestPlan> plan_pointwise(KernelSoFar& kernel, const StatementGroup& group);

}  // namespace polyte::schedule
