// rename i as x:   i > body   ->   x > body,   x = i. So that two nests may be merged, or a name
// is free again. A loop that statements share is one loop: it has the new name in all of them. The
// order stays: nothing to prove.
#include "schedule/script/primitives/remap.h"

namespace polyte::schedule {
namespace {

Applied rename_shared(const State& state, const Loop& loop, const std::string& name) {
  State next = state;
  for (const std::string& statement : statements_below(state.tree, loop.id)) {
    for (const Loop* other : path_to(state.tree, statement))
      if (other->id != loop.id && other->name == name)
        return malformed(statement + " has a loop " + name + " already");
    ScheduledStatement& s = statement_of(next, statement);
    rename_loops(s, {{loop.name, name}});
    s.lost.push_back({loop.name, "became " + name});
  }
  next.tree = replace_loop(next.tree, loop.id, [&](const Loop& old) {
    Loop renamed = old;
    renamed.name = name;
    return make_loop(std::move(renamed));
  });
  if (auto refusal = settle(next)) return *refusal;
  return next;
}

}  // namespace

Applied rename(const State& state, const Rename& directive, const PrimitiveContext& context) {
  const auto loop = the_loop(state, directive.loop);
  if (loop && statements_below(state.tree, (*loop)->id).size() > 1)
    return rename_shared(state, **loop, directive.name);
  const PrimitiveContext structure = {context.environment, nullptr};
  return remap_one(state, directive.loop, directive.loop.loop, directive.name, structure);
}

}  // namespace polyte::schedule
