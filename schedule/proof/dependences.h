// Dependences of a Program in isl: pairs of instances that touch one cell, at least one writing,
// in reference order. Memory-based and ungisted: preserving all of them is exactly preserving the
// adjacent ones, and no flow computation is needed. Kept per pair of accesses, so that a rewrite
// re-examines only what it touched.
#pragma once

#include "schedule/proof/isl_bridge.h"

namespace polyte::schedule {

enum class DependenceKind { Flow, Anti, Output };
std::string to_string(DependenceKind kind);  // flow, anti, output

struct Dependence {
  DependenceKind kind = DependenceKind::Flow;
  int source = 0, sink = 0;  // statements of the basis model
  int buffer = 0;
  ir::Access source_access, sink_access;
  // Both ends are the step of an update: neither is a read that an expression states.
  bool updates = false;
  isl::map pairs;  // source instance -> sink instance
};

// Between updates of one statement.
inline bool is_reduction(const Dependence& d) { return d.updates && d.source == d.sink; }

std::vector<Dependence> compute_dependences(const IslModel& basis);

// The pairs of a dependence that keep their order under the contract of `state`: all, but for those
// of updates of one class (schedule/state/contract.h).
isl::map ordered_pairs(const Dependence& d, const IslModel& basis, const State& state);

}  // namespace polyte::schedule
