#include "schedule/language/contract.h"

#include <algorithm>

namespace polyte::schedule {
namespace {

// A loop of the contract means every loop split from it, and a part of a loop the iterator it came from.
bool is_same_or_part(const std::string& a, const std::string& b) { return a == b || a.starts_with(b + "."); }

bool names(const std::set<std::string>& loops, const std::string& iterator) {
  return std::ranges::any_of(loops, [&](const std::string& loop) {
    return is_same_or_part(iterator, loop) || is_same_or_part(loop, iterator);
  });
}

}  // namespace

bool relaxes_order(const State& state) { return state.contract != Contract::Exact || !state.reassociated.empty(); }

bool has_reciprocals(const State& state) {
  return std::ranges::any_of(state.rewrites, [](const Rewrite& r) { return r.kind == Rewrite::Kind::Reciprocal; });
}

bool is_reorderable(const ir::Statement& update) {
  const bool rounds = update.combiner == ir::Combiner::Sum || update.combiner == ir::Combiner::Product;
  return update.combiner != ir::Combiner::None && !(rounds && is_float(update.values.front()->type));
}

std::set<std::string> reorderable_iterators(const State& state, const ir::Statement& update) {
  std::set<std::string> all(update.reductions.begin(), update.reductions.end());
  if (state.contract == Contract::Unsafe || is_reorderable(update)) return all;
  const auto own = state.reassociated.find(update.writes.front().buffer);
  std::erase_if(all, [&](const std::string& iterator) {
    if (own != state.reassociated.end() && names(own->second, iterator)) return false;
    return state.contract != Contract::Reassoc || !names(state.reassociable, iterator);
  });
  return all;
}

bool may_exchange(const State& state, const ir::Statement& update, const ir::Affine& differing) {
  const std::set<std::string> free = reorderable_iterators(state, update);
  return std::ranges::all_of(update.reductions, [&](const std::string& iterator) {
    return !differing.uses(iterator) || free.contains(iterator);
  });
}

bool State::may_reorder(const ir::Statement& update) const {
  if (is_reorderable(update)) return true;
  return !update.reductions.empty() && reorderable_iterators(*this, update).size() == update.reductions.size();
}

}  // namespace polyte::schedule
