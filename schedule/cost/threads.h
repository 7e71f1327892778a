// Which loop of a nest threads share, and whether it is worth their while: templates, poly and the
// copies of operands ask the same question. A loop of few iterations leaves cores idle at its end;
// an inner one begins a region in each iteration of the loops around.
//
//   n (1 iteration) > c (32) > h (56)   two cores: c      n has nothing to share
//   c (3) > h (56)                      two cores: h where three regions cost less than the third
//                                       iteration of c
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "schedule/state/nest_tree.h"
#include "support/machine.h"

namespace polyte::schedule {

struct CountedLoop {
  std::string name;  // as the path writes it, "n.o"
  std::int64_t trips = 1;
  bool coincident = true;       // no dependence between its iterations
  std::string iterator = name;  // that it counts, "n"
};

// By the predicted cycles of the nest: below, a region costs more than a second core gives.
bool is_worth_threads(const Machine& machine, double cycles);

// Of the loops of a nest, outermost first, the coincident one that ends it first. Empty: none
// ends it sooner than one thread does, or the nest is not worth threads. Loops over iterators of
// `open` (ir::Program::open), n and n.o of n, may have one trip in a run: another is taken that
// is nearly as good.
std::string loop_for_threads(const Machine& machine, double cycles,
                             std::span<const CountedLoop> loops,
                             const std::set<std::string>& open = {});

// Tiles of two loops, each of which waits for its neighbours before it in either: those of one
// front come at once, front after front (Lamport, *The parallel execution of DO loops*).
struct FrontsOfTiles {
  double tiles = 1, fronts = 1;  // in all
};
// Whether threads that share each front are done in `kWorthFronts` of the time that one takes.
bool are_worth_threads(const Machine& machine, double cycles, const FrontsOfTiles& fronts);

// The loops as a nest has them, the one that is named parallel.
NestPath path_of(std::span<const CountedLoop> loops, const std::string& parallel);

}  // namespace polyte::schedule
