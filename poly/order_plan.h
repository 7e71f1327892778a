// From an order of a Program's instances to a nest: which loops are tiled and by how much, which runs innermost, which
// in vectors and which on threads. All that a band allows is priced (order_price.h), nothing is measured.
#pragma once

#include <map>

#include "poly/order_tree.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

struct OrderPlan {
  std::string name;         // of the attempt, and what was done with it
  schedule::NestPlan nest;  // all of the kernel, kinds of loops left out
  double cycles = 0;        // of one core, as predicted
  // What is priced of innermost loops, and has to be proved: statements whose loop runs in vectors, and sums whose
  // terms are added up in parts.
  struct Inner {
    std::string loop, around;  // and the loop outside it; empty: none
    double cycles = 0;         // of the statement
  };
  std::map<std::string, Inner> in_vectors = {}, in_parts = {};
};

// Of an order that isl did not find: maps and nest are the model's.
void say_by_model(OrderPlan& plan);

// isl's order with tiles of 32 in each band that may be tiled, nothing priced: the arm `isl`.
OrderPlan plan_as_isl_says(const ir::Program& program, const schedule::State& reference, const std::string& name,
                           const OrderTree& tree, const Machine& machine);

// The best plan with tiles and the best without, the cheaper one first; the second is left out where it is the same.
std::vector<OrderPlan> plans_of(const ir::Program& program, const schedule::State& reference, const std::string& name,
                                const OrderTree& tree, const Machine& machine, bool keep_order);

}  // namespace polyte::poly
