#include "schedule/state/contract.h"

#include <algorithm>
#include <cstdlib>

namespace polyte::schedule {
namespace {

// A loop of the contract means every loop split from it, and a part of a loop the iterator
// it came from.
bool is_same_or_part(const std::string& a, const std::string& b) {
  return a == b || a.starts_with(b + ".");
}

bool names(const std::set<std::string>& loops, const std::string& iterator) {
  return std::ranges::any_of(loops, [&](const std::string& loop) {
    return is_same_or_part(iterator, loop) || is_same_or_part(loop, iterator);
  });
}

}  // namespace

bool relaxes_order(const State& state) {
  return state.contract != Contract::Exact || !state.reassociated.empty();
}

bool has_reciprocals(const State& state) {
  return std::ranges::any_of(state.rewrites,
                             [](const Rewrite& r) { return r.kind == Rewrite::Kind::Reciprocal; });
}

namespace {

// Whether the load may read, in the same iteration, the element that is written. Subscripts that
// are equal, or read from memory, leave it possible.
bool may_be_one_element(const ir::Access& write, const ir::Load& load) {
  if (write.buffer != load.buffer) return false;
  for (std::size_t i = 0; i < write.indices.size(); ++i) {
    const ir::Index &a = write.indices[i], &b = load.indices[i];
    if (a.indirect || b.indirect) continue;
    // Subscripts that differ name another element; or, in some iterations, one that another
    // iteration updates, and that is a dependence which the proof of order keeps.
    if (a.affine != b.affine) return false;
  }
  return true;
}

// Whether value and position of an ArgMin or ArgMax move with the same subscripts, so that each
// element of one tensor belongs to one of the other. Otherwise two pairs would share a half.
bool is_one_pair(const ir::Statement& update) {
  const auto moving = [](const ir::Access& write) {
    std::set<std::string> subscripts;
    for (const ir::Index& index : write.indices)
      if (!index.affine.is_constant()) subscripts.insert(ir::to_string(index.affine));
    return subscripts;
  };
  const auto is_read = [](const ir::Access& write) {
    return std::ranges::any_of(write.indices,
                               [](const ir::Index& index) { return index.indirect != nullptr; });
  };
  // An ArgMin writes a value and its position: best[i], at[i].
  const ir::Access &value = update.writes.front(), &position = update.writes.back();
  return !is_read(value) && !is_read(position) && moving(value) == moving(position);
}

// Whether its value, guard or a subscript reads the very element that it updates: what it adds then
// depends on the terms before, and their order matters.
bool reads_itself(const ir::Statement& update) {
  ScheduledStatement plain;
  plain.body = update;
  const std::vector<AccessRef> accesses = accesses_of(plain);
  return std::ranges::any_of(accesses, [&](const AccessRef& ref) {
    return ref.load && std::ranges::any_of(update.writes, [&](const ir::Access& write) {
             return may_be_one_element(write, *ref.load);
           });
  });
}

// Iterators whose value cannot be read off the element's subscripts: terms that differ in them may
// be added to one element.
std::vector<std::string> untold_iterators(const ir::Statement& update) {
  std::vector<std::string> untold;
  for (const std::string& it : update.iterators) {
    const auto tells = [&](const ir::Index& index) {
      return !index.indirect && (index.affine - ir::Affine::symbol(it)).is_constant();
    };
    if (std::ranges::none_of(update.writes.front().indices, tells)) untold.push_back(it);
  }
  return untold;
}

// Whether no two terms of one element have the same position. With equal positions two zeros of
// different sign compare equal, and the order would decide which one stays. That is so where one
// iterator k is not told by the element, and the position is an integer +-k + rest, rest without k,
// that no conversion narrows below 32 bits.
bool has_unique_position(const ir::Statement& update) {
  const std::vector<std::string> untold = untold_iterators(update);
  if (untold.size() != 1) return untold.empty();
  const std::string& k = untold.front();
  ir::Expr position = update.values.back();
  const auto keeps_apart = [&] {
    return !is_float(position->type) && size_in_bytes(position->type) >= 4;
  };
  while (const auto* cast = std::get_if<ir::Cast>(&position->op)) {
    if (!keeps_apart()) return false;
    position = cast->a;
  }
  const auto* index = std::get_if<ir::IndexValue>(&position->op);
  if (!index || !keeps_apart()) return false;
  return std::ranges::any_of(index->value.terms(), [&](const ir::Term& term) {
    return !term.atom.div && term.atom.symbol == k && std::abs(term.coefficient) == 1 &&
           !(index->value - ir::Affine::symbol(k) * term.coefficient).uses(k);
  });
}

}  // namespace

// Exact in any order: integers wrap, so sums and products are; minima and maxima are; sums of
// floats are not.
bool is_reorderable(const ir::Statement& update) {
  if (update.combiner == ir::Combiner::None || reads_itself(update)) return false;
  const bool of_floats =
      std::ranges::any_of(update.values, [](const ir::Expr& e) { return is_float(e->type); });
  switch (update.combiner) {
    case ir::Combiner::Sum:
    case ir::Combiner::Product:
      return !of_floats;
    case ir::Combiner::ArgMin:
    case ir::Combiner::ArgMax:
      return is_one_pair(update) && (!of_floats || has_unique_position(update));
    default:
      return true;
  }
}

std::set<std::string> reorderable_iterators(const State& state, const ir::Statement& update) {
  // Where no order changes a bit, no permission is needed.
  std::set<std::string> all(update.reductions.begin(), update.reductions.end());
  if (state.contract == Contract::Unsafe || is_reorderable(update)) return all;
  if (reads_itself(update) || update.writes.size() > 1) return {};
  const auto is_said_of = [&](const std::string& name, const std::string& iterator) {
    const auto own = state.reassociated.find(name);
    return own != state.reassociated.end() && names(own->second, iterator);
  };
  // A name in `reassociated` that is also a tensor's means the tensor.
  const bool has_own_name = !state.basis->find_buffer(update.name);
  std::erase_if(all, [&](const std::string& iterator) {
    if (is_said_of(update.writes.front().buffer, iterator)) return false;
    if (has_own_name && is_said_of(update.name, iterator)) return false;
    return state.contract != Contract::Reassoc || !names(state.reassociable, iterator);
  });
  return all;
}

std::optional<UpdateClass> class_of(const State& state, const ir::Statement& update) {
  if (update.combiner == ir::Combiner::None) return std::nullopt;
  if (!is_reorderable(update) && reorderable_iterators(state, update).empty()) return std::nullopt;
  // Updates that may change places only in part, or that write pairs, are in a class of their
  // own.
  const bool is_alone = update.writes.size() > 1 || !state.may_reorder(update);
  return UpdateClass{update.combiner, is_alone ? update.name : ""};
}

bool may_exchange(const State& state, const ir::Statement& update, const ir::Affine& differing) {
  const std::set<std::string> free = reorderable_iterators(state, update);
  return std::ranges::all_of(update.reductions, [&](const std::string& iterator) {
    return !differing.uses(iterator) || free.contains(iterator);
  });
}

bool State::may_reorder(const ir::Statement& update) const {
  if (is_reorderable(update)) return true;
  return !update.reductions.empty() &&
         reorderable_iterators(*this, update).size() == update.reductions.size();
}

}  // namespace polyte::schedule
