// What the templates share: the Program cut into nests, facts of a statement's iterators, and the script text that
// a template appends to.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::schedule {

// Consecutive statements that one template schedules together.
struct NestPlan {
  const ir::Statement* init = nullptr;  // of a reduction; null where it adds to what is there
  const ir::Statement* update = nullptr;
  std::vector<const ir::Statement*> epilogue;  // over the reduction's free iterators, after it
  const ir::Statement* plain = nullptr;        // a nest of a single definition
};

// In text order. A reduction takes along the definitions behind it that run over the same iterators and domain.
std::vector<NestPlan> plan_nests(const ir::Program& program);

struct IteratorFacts {
  std::string name;
  std::int64_t begin = 0, extent = 0;  // of the bounding box
  bool reduction = false;
};
std::vector<IteratorFacts> facts_of(const State& reference, const ir::Statement& statement);
const IteratorFacts* find(const std::vector<IteratorFacts>& facts, const std::string& iterator);  // null if absent

// Stride of an iterator in the first write, and the largest in any load (0: does not occur); nullopt: not linear.
std::optional<std::int64_t> write_stride(const ir::Program& program, const ir::Statement& statement,
                                         const std::string& iterator);
std::optional<std::int64_t> load_stride(const ir::Program& program, const ir::Statement& statement,
                                        const std::string& iterator);

// Script lines in the making; `suffix` keeps the params of several nests apart.
struct ScriptText {
  std::string lines;
  int nest = 0;
  std::set<std::string> staged = {};        // for the whole kernel, by all nests so far
  std::set<std::string> reassociated = {};  // loops that the contract has to name
  std::set<std::string> in_place = {};      // results in whose memory a temporary lies
  void add(const std::string& line) { lines += line + "\n"; }
  std::string param(const std::string& base) const { return nest == 0 ? base : base + std::to_string(nest); }
};

// From the front, as many nests as run over the same rows and go together; 0 where none does.
std::size_t schedule_rows(const ir::Program& program, const State& reference, const Machine& machine,
                          std::span<const NestPlan> plans, bool keep_order, ScriptText& script);
// One nest each; true if the template took it, else nothing was added and `reason` says why not.
bool schedule_reduction(const ir::Program& program, const State& reference, const Machine& machine,
                        const NestPlan& plan, ScriptText& script, std::string& reason);
bool schedule_pointwise(const ir::Program& program, const State& reference, const Machine& machine,
                        const NestPlan& plan, ScriptText& script, std::string& reason);

}  // namespace polyte::schedule
