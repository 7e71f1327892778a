// Dependences of a Program in isl: pairs of instances that touch one cell, at least one writing, in reference
// order. Memory-based and ungisted: preserving all of them is exactly preserving the adjacent ones, and no flow
// computation is needed. Kept per pair of accesses, so that a rewrite re-examines only what it touched.
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
  bool reduction = false;  // between updates of one cell by one statement: neither end is a read that it states
  isl::map pairs;          // source instance -> sink instance
};

std::vector<Dependence> compute_dependences(const IslModel& basis);

}  // namespace polyte::schedule
