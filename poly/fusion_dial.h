// How much of a Program without regions shares nests, between a nest for each statement and one for
// all: neighbours that go through one large tensor in different directions are one nest where that
// is cheaper. (Those that go through it alike are fused by clusters and tiles, affine_core.h.)
//
//   S0: A[i, j] = A[i, j] + u[i] * v[j]      one nest: a row of A is updated, and added up
//   S1: x[j]   += A[i, j] * y[i]             into x while it is in the cache
//   S2: w[i]   += A[i, j] * x[j]             needs all of x: a nest of its own
//
// Each run of neighbours is ordered by isl (instance_order.h) and priced, in one nest and apart; of
// all partitions into runs the one that gains most is taken, by dynamic programming.
#pragma once

#include <vector>

#include "poly/strategy_cpu.h"

namespace polyte::poly {

struct FusedRun {
  std::size_t first = 0, end = 0;  // of the Program's statements
  NestSchedule schedule;
};

struct FusionDial {
  // In the order of the Program, without those that are cheaper apart: proved, each by itself.
  std::vector<FusedRun> runs;
  std::vector<std::string> considered;  // all runs that were priced, a line each
};
FusionDial turn_fusion_dial(const ir::Program& program, const Machine& machine,
                            const StrategyOptions& options);

// The statements of a run as a Program.
ir::Program statements_of(const ir::Program& program, std::size_t first, std::size_t end);

}  // namespace polyte::poly
