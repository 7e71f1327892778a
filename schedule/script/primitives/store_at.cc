// store_at P at M [in MEMORY]:   P at L, L below M   ->   P at L once per M
// in a buffer of its own at M. Halide's pair: compute_at says where P is computed, store_at where
// it is kept. What is kept is not made again (slide.cc). `store_at P at root` keeps it for the
// whole kernel.
#include <algorithm>

#include "schedule/script/primitives/lift.h"

namespace polyte::schedule {

namespace {

// The site of what is computed at a loop already: its prefix and who reads it there.
Result<LiftSite, Refusal> site_of(const State& state, const std::string& tensor,
                                  const std::string& writer) {
  const Leaf& leaf = leaf_of(state, writer);
  if (!leaf.at)
    return malformed(tensor + " is not computed at a loop: compute_at " + tensor + " comes first");
  if (leaf.per)
    return malformed(tensor + " is stored once per " + leaf_said(leaf, state.tree).per +
                     " already");
  LiftSite site;
  const Loop* loop = nullptr;
  for (const Loop* above : path_to(state.tree, writer)) {
    site.prefix.push_back(above->name);
    loop = above;
    if (above->id == leaf.at) break;
  }
  site.consumers = consumers_below(state, *loop, tensor);
  return site;
}

}  // namespace

Applied store_at(const State& state, const StoreAt& directive, const PrimitiveContext& context) {
  const std::string& tensor = directive.tensor;
  const std::vector<std::string> writers = select_statements(state, tensor);
  if (writers.empty() || !state.reference->find_buffer(tensor))
    return malformed("no tensor computed here is called " + tensor);
  auto site = site_of(state, tensor, writers.front());
  if (!site) return site.error();
  if (site->consumers.empty())
    return malformed(tensor + " is staged already: store_at comes before its stage");
  const bool is_root = directive.at.loop == "root";
  site->per = directive.at.loop;
  if (site->per == site->prefix.back())
    return malformed(tensor + " is computed at " + site->per + " itself: 'stage " + tensor +
                     " at " + site->per + "' gives it storage there");
  State next = state;
  if (auto refusal = slide(next, tensor, *site)) return *refusal;
  for (const std::string& writer : writers) {
    NestLeaf leaf = leaf_said(leaf_of(state, writer), state.tree);
    leaf.per = site->per;
    next.tree = with_leaf(next.tree, leaf);
  }
  Stage stage_directive;
  stage_directive.tensor = tensor;
  if (!is_root)
    stage_directive.at = LoopName{
        directive.at.statement.empty() ? writers.front() : directive.at.statement, site->per};
  stage_directive.memory = directive.memory;
  return stage(next, stage_directive, context);
}

}  // namespace polyte::schedule
