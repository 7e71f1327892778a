// Dependences joined by what a reader tells apart: kind, statements, tensor. `direct_pairs` has
// those without a write of the element between (isl's dataflow analysis); `all_pairs` all, as the
// proof has them. Internal to schedule/proof.
#pragma once

#include "schedule/proof/dependences.h"

namespace polyte::schedule {

struct RelatedPairs {
  DependenceKind kind = DependenceKind::Flow;
  int source = 0, sink = 0;  // statements of the model
  int buffer = 0;
  bool reduction = false;  // between updates of one cell by one statement, stated by no read
  bool exact = true;       // of each end it is known which cell it touches
  isl::map pairs;          // source instance -> sink instance
};

// Sorted by source, sink, buffer and kind. isl::exception_quota where the context has a limit.
std::vector<RelatedPairs> direct_pairs(const IslModel& basis);
std::vector<RelatedPairs> all_pairs(const IslModel& basis);

}  // namespace polyte::schedule
