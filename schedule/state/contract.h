// What the contract of a State lets change: for each reduction, the iterators whose terms may
// change places. Under `reassoc k` two terms of one sum may change places where they differ in k;
// terms with the same k keep their order. Where no order changes a bit (integers, minima, maxima,
// bitwise operations) all may, whatever the contract. Terms that two statements add to one element
// may change places where all of both may (UpdateClass).
#pragma once

#include <optional>

#include "schedule/state/state.h"

namespace polyte::schedule {

// True where terms of sums may change places: by the contract, or by a `reassociate` of one
// tensor.
bool relaxes_order(const State& state);
// True where a division became a product with a reciprocal, which is rounded once more.
bool has_reciprocals(const State& state);

// Updates of one class act on an element in any order, whatever their statements. An update that
// has none, and one of another class, keep their order with all others.
struct UpdateClass {
  ir::Combiner combiner = ir::Combiner::None;
  // Empty: of any. Else only its own, and of these the ones that the contract permits.
  std::string statement;
  bool operator==(const UpdateClass&) const = default;
};
std::optional<UpdateClass> class_of(const State& state, const ir::Statement& update);

// Reduction iterators of this update of the basis.
std::set<std::string> reorderable_iterators(const State& state, const ir::Statement& update);

// True where terms that differ in this expression over the update's iterators may change places.
bool may_exchange(const State& state, const ir::Statement& update, const ir::Affine& differing);

}  // namespace polyte::schedule
