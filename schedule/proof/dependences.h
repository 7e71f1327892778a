// Dependences of a Program in isl: pairs of instances that touch one cell, at least one writing, in reference
// order. Memory-based and ungisted: preserving all of them is exactly preserving the adjacent ones, and no flow
// computation is needed. Kept per pair of accesses, so that a rewrite re-examines only what it touched.
#pragma once

#include "schedule/proof/isl_bridge.h"

namespace polyte::schedule {

enum class DependenceKind { Flow, Anti, Output };

struct Dependence {
  DependenceKind kind = DependenceKind::Flow;
  int source = 0, sink = 0;  // statements of the basis model
  int buffer = 0;
  ir::Access source_access, sink_access;
  bool reduction = false;  // between updates of one cell by one reduction statement
  isl::map pairs;          // source instance -> sink instance
};

std::vector<Dependence> compute_dependences(const IslModel& basis);

// The pairs of `pairs` (a union over statement tuples) whose source comes at or after its sink under `order`.
isl::union_map backwards(const isl::union_map& pairs, const isl::multi_union_pw_aff& order);
// Of those: the pairs equal in the first `depth` dimensions and running backwards in dimension `depth`.
isl::union_map backwards_at(const isl::union_map& pairs, const isl::multi_union_pw_aff& order, int depth);

}  // namespace polyte::schedule
