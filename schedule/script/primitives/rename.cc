// rename i as x:   i > body   ->   x > body,   x = i. So that two nests may be merged, or a name is free again. A loop
// that statements share is one loop: it has the new name in all of them. The order stays: nothing to prove.
#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {
namespace {

// The loops that are meant: without a statement, all of this name.
Result<std::vector<LoopId>, Refusal> loops_meant(const State& state, const LoopName& name) {
  std::vector<LoopId> found;
  if (name.statement.empty())
    for (const Loop* loop : all_loops(state.tree))
      if (loop->name == name.loop) found.push_back(loop->id);
  if (!found.empty()) return found;
  std::vector<std::string> statements = select_statements(state, name.statement);
  if (statements.size() < 2) statements = {name.statement};
  for (const std::string& statement : statements) {
    const auto loop = the_loop(state, {statement, name.loop});
    if (!loop) return loop.error();
    if (std::ranges::find(found, (*loop)->id) == found.end()) found.push_back((*loop)->id);
  }
  return found;
}

}  // namespace

Applied rename(const State& state, const Rename& directive, const PrimitiveContext&) {
  const std::string& old = directive.loop.loop;
  const auto loops = loops_meant(state, directive.loop);
  if (!loops) return loops.error();
  State next = state;
  for (const LoopId id : *loops) {
    for (const std::string& statement : statements_below(state.tree, id)) {
      for (const Loop* other : path_to(state.tree, statement))
        if (other->id != id && other->name == directive.name)
          return malformed(statement + " has a loop " + directive.name + " already");
      ScheduledStatement& s = statement_of(next, statement);
      rename_loops(s, {{old, directive.name}});
      s.lost.push_back({old, "became " + directive.name});
    }
    next.tree = replace_loop(next.tree, id, [&](const Loop& loop) {
      Loop renamed = loop;
      renamed.name = directive.name;
      return make_loop(std::move(renamed));
    });
  }
  if (auto refusal = settle(next)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
