// Generations of the elements of one tensor in the reference order (docs/proof.md).
//
//   I: m[i] = -inf            begins a generation of m[i]
//   P: m[i] max= a[t, i, k]   joins it, whatever the order of k
//   S: m[i] += b[t, i]        reads what P has finished, and begins another
//
// Updates of one class (schedule/state/contract.h) belong to the generation that runs when they
// come. What begins one: a write that does not accumulate, the tensor's value before the kernel,
// an update that nothing permits to reorder, and the first update after one of another class. A
// generation is named by the instance that begins it.
#pragma once

#include <set>

#include "schedule/proof/prover_impl.h"
#include "schedule/proof/source_finder.h"
#include "schedule/state/contract.h"

namespace polyte::schedule {

class Generations {
 public:
  // `contract` says what may change places; `then` finds sources in the basis.
  Generations(const Basis& basis, const State& contract, std::string tensor, SourceFinder& then);

  // Some updates of the tensor may change places.
  bool any() const { return !classes_.empty(); }
  bool is_relaxed(int statement) const { return classes_.contains(statement); }  // of the basis
  // This relaxed update changes places by the contract, in the loops that it names.
  bool is_by_contract(int statement) const { return by_contract_.contains(statement); }

  // The range of `sources` (instances of the basis): updates that may change places become what
  // begins their generation; everything else is its own.
  isl::union_map begun_by(const isl::union_map& sources) const;
  // Relaxed update -> what begins its generation, and what begins the one that this
  // generation continues.
  const isl::union_map& of_updates() const { return begin_; }
  isl::union_map before() const { return begin_.apply_range(previous_); }

 private:
  void classify(const State& contract);
  void find_later_beginnings(SourceFinder& then);
  void find_beginnings();
  isl::set beginnings_of(int statement) const;
  std::vector<Sink> own_reads(int statement) const;

  const Basis& basis_;
  std::string tensor_;
  std::map<int, UpdateClass> classes_;  // of the relaxed updates of the tensor
  std::set<int> by_contract_;           // of them, those whose order changes bits
  std::map<int, isl::set> later_;       // their instances that begin a generation
  isl::union_map begin_, previous_;
};

}  // namespace polyte::schedule
