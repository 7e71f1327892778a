// Programs with ordered regions, scheduled as a whole: isl orders all instances (instance_order.h), each order becomes
// nests that are priced (order_plan.h), and the cheapest that is proved is taken.
#pragma once

#include "poly/strategy_cpu.h"

namespace polyte::poly {

// Declines where isl finds no order, or none is proved: each with its reason.
Result<NestSchedule> schedule_whole_program(const ir::Program& program, const schedule::State& reference,
                                            const Machine& machine, const StrategyOptions& options);

// Sums over different loops of the same operand that isl brings into one nest, where that is cheaper than one nest
// each: A x and A^T y read A once. nullopt where there is nothing of the kind, and where an operand is worth tiles of
// registers.
std::optional<NestSchedule> schedule_fused_sums(const ir::Program& program, const schedule::State& reference,
                                                const Machine& machine, const StrategyOptions& options);

}  // namespace polyte::poly
