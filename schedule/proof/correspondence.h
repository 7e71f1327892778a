// Instances of a State as those of its basis. phi is a function, not injective where something is
// computed again; IN and the values of guards stand for themselves.
#pragma once

#include "schedule/proof/reads.h"

namespace polyte::schedule {

class Correspondence {
 public:
  Correspondence(const IslModel& model, const IslModel& basis);

  // The range of `sources`, instances of the State or virtual ones, as instances of the basis.
  isl::union_map of_range(const isl::union_map& sources) const;
  // Of one statement of the State; the identity for OUT of the sink's buffer.
  isl::union_map of_sink(const Sink& sink) const;
  // All statements but copies.
  const isl::union_map& phi() const { return phi_; }

 private:
  const IslModel& model_;
  const IslModel& basis_;
  isl::union_map phi_;
};

isl::union_map no_pairs(const IslModel& model);
isl::union_set no_instances(const IslModel& model);
isl::union_set to_union(const isl::set& set);
// The statement that a tuple of a model names; -1 for IN, OUT and the values of guards.
int statement_of_tuple(const char* name);

}  // namespace polyte::schedule
