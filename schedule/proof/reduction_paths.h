// Under a contract that lets updates change places, sources are compared up to the updates of one cell, so something
// else has to say that every reader takes the sum of all of them. The updates of one element, made in one iteration of
// the site it is computed at, must form one path: it starts from one initial value, every update goes on from the one
// before, no value is continued twice, and readers take its end.
#pragma once

#include "schedule/proof/prover_impl.h"

namespace polyte::schedule {

class ReductionPaths {
 public:
  ReductionPaths(const IslModel& model, const IslModel& reference);

  // instance -> the value it goes on from (copies followed), for each read of an update's own cell.
  void add(const isl::union_map& links);

  // Links between updates, or an initial value and an update, of different iterations of the site: an element that is
  // computed anew would go on from what was left of the last time.
  isl::union_map leaving(int statement, const isl::union_map& links) const;
  // Pairs of initial values of one element, of one iteration of the site, that are both continued.
  isl::union_map twin_starts() const;
  // Reads of a value that some update goes on from, or of an initial value where the reference has an update.
  isl::union_map early(const isl::union_map& actual, const isl::union_map& expected) const;

 private:
  isl::union_set initial_values(const IslModel& model) const;

  const IslModel& model_;
  const IslModel& reference_;
  isl::union_set continued_;
};

}  // namespace polyte::schedule
