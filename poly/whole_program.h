// Programs with ordered regions, scheduled as a whole: isl orders all instances (instance_order.h),
// each order becomes nests that are priced (order_plan.h), and the cheapest that is proved
// is taken.
#pragma once

#include <string>
#include <vector>

#include "poly/strategy_cpu.h"

namespace polyte::poly {

// Declines where isl finds no order, or none is proved: each with its reason.
Result<NestSchedule> schedule_whole_program(const ir::Program& program,
                                            const schedule::State& reference,
                                            const Machine& machine, const StrategyOptions& options);

// Orders of all kinds with the price of each, whether or not they are any good: what the price
// is held to, when they are measured. Each attempt untiled and in tiles of several sizes, and
// with other loops last.
struct Candidate {
  std::string name;   // the attempt, the tiles, the loop that is last; unique
  double cycles = 0;  // of one core, as predicted
  // Proved, with the vectors that it was priced for; empty: refused, or without these.
  std::string script;
};
// Without `with_scripts` nothing is proved, and none has a script.
std::vector<Candidate> candidates_of(const ir::Program& program, const Machine& machine,
                                     bool with_scripts);

// Sums over different loops of the same operand that isl brings into one nest, where that is
// cheaper than one nest each: A x and A^T y read A once. nullopt where there is nothing of the
// kind, and where an operand is worth tiles of registers.
std::optional<NestSchedule> schedule_fused_sums(const ir::Program& program,
                                                const schedule::State& reference,
                                                const Machine& machine,
                                                const StrategyOptions& options);

}  // namespace polyte::poly
