// Programs with ordered regions, scheduled as a whole: isl orders all instances (instance_order.h),
// each order becomes nests that are priced (order_plan.h), and the cheapest that is proved
// is taken.
#pragma once

#include <string>
#include <vector>

#include "poly/instance_order.h"
#include "poly/order_plan.h"
#include "poly/strategy_cpu.h"

namespace polyte::poly {

std::string cycles_text(double cycles);  // "1.25e+07 cycles predicted"

// Of all attempts, the cheapest first.
std::vector<OrderPlan> plans_of_attempts(const ir::Program& program,
                                         const schedule::State& reference, const Machine& machine,
                                         const std::vector<OrderAttempt>& attempts,
                                         bool keep_order);
// The first of the plans that keeps the vectors for which it was priced, or else, where it
// `may_be_slow`, the first that is legal; with all that was weighed.
Result<NestSchedule> first_that_is_proved(const ir::Program& program, const Machine& machine,
                                          const InstanceOrders& orders,
                                          std::vector<OrderPlan> plans,
                                          const StrategyOptions& options, bool may_be_slow);

// Declines where isl finds no order, or none is proved: each with its reason.
Result<NestSchedule> schedule_whole_program(const ir::Program& program,
                                            const schedule::State& reference,
                                            const Machine& machine, const StrategyOptions& options);

// Of a Program without regions, in this order: lanes outside of loops whose steps wait for each
// other. Declines where no loop can have them, or where that is not the cheapest: with both prices.
Result<NestSchedule> schedule_with_lanes_outside(const ir::Program& program,
                                                 const schedule::State& reference,
                                                 const Machine& machine, const OrderAttempt& order,
                                                 const StrategyOptions& options);

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

}  // namespace polyte::poly
