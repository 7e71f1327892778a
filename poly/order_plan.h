// From an order of a Program's instances to a nest: which loops are tiled and by how much,
// which runs innermost, which in vectors and which on threads. All that a band allows is priced
// (order_price.h), nothing is measured.
#pragma once

#include <map>

#include "poly/band_search.h"
#include "poly/order_tree.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

struct OrderPlan {
  std::string name;         // of the attempt, and what was done with it
  schedule::NestPlan nest;  // all of the kernel, kinds of loops left out
  double cycles = 0;        // of one core, as predicted
  // What is priced of innermost loops, and has to be proved: statements whose loop runs in vectors,
  // and sums whose terms are added up in parts.
  struct Inner {
    std::string loop, around;  // and the loop outside it; empty: none
    double cycles = 0;         // of the statement
    double serial = 0;         // the same, where it is not proved
    std::int64_t vectors = 1;  // a turn
  };
  std::map<std::string, Inner> in_vectors = {}, in_parts = {};
  // What is left when these are in: statements that it cuts have other names.
  std::vector<schedule::PlannedStep> last_steps = {};
  bool has_jams = true;        // rows may come together (jammed_sums.h)
  bool lanes_outside = false;  // of loops that hold others (outer_lanes.h)
  // A statement that is at the step itself stands behind one of later columns, as isl has it.
  bool is_unlikely = false;
  // Where the nest leaves threads no loop of their own: tiles of a front, loops that it cuts.
  std::vector<schedule::PlannedStep> for_threads = {};
};

// Of an order that isl did not find: maps and nest are the model's.
void say_by_model(OrderPlan& plan);

OrderPlan plan_of_shape(const ir::Program& program, const schedule::State& reference,
                        const std::string& name, const OrderTree& tree, const Machine& machine,
                        const FixedShape& shape, bool keep_order);

struct ShapedPlan {
  OrderPlan plan;
  std::vector<std::string> loops;        // of the band, by its number
  std::map<std::string, double> cycles;  // by statement
};
// With the statements of its last loop in isl's order, and in that in which they are in the
// loop, if it is another.
std::vector<ShapedPlan> plans_of_band(const ir::Program& program, const schedule::State& reference,
                                      const OrderTree& tree, const Machine& machine,
                                      const ShapedBand& given, bool keep_order);

// isl's order with tiles of 32 in each band that may be tiled, nothing priced: `--scheduler isl`.
OrderPlan plan_as_isl_says(const ir::Program& program, const schedule::State& reference,
                           const std::string& name, const OrderTree& tree, const Machine& machine);

// The best plan with tiles, the best of those that end with other loops, which may be legal where
// that is not, and the best without tiles, the cheapest first; the others are left out where the
// first has no tiles.
std::vector<OrderPlan> plans_of(const ir::Program& program, const schedule::State& reference,
                                const std::string& name, const OrderTree& tree,
                                const Machine& machine, bool keep_order);

}  // namespace polyte::poly
