// isl's scheduler on a whole Program: all iterators of a statement are loops, those of reductions
// and of ordered regions too. Each attempt prepares the same dependences in another way, and is one
// candidate of an order; which is best is for the cost model to say (order_price.h), and whether it
// is right for the prover.
//
//   validity     every two accesses to one cell of which one writes, in reference order; terms of
//                a sum as well, so that results keep their bits, but for updates of which no order
//                changes a bit (class_of)
//   coincidence  the same, and those updates: they may come in any order, not at once
//   proximity    from the write whose value is read (value-based): cells that are written again and
//                again over time then do not tie a loop to all iterations before
// Sources: Verdoolaege, "isl: an integer set library for the polyhedral model"; Verdoolaege and
// Janssens, "Scheduling for PPCG" (the constraints); Bondhugula et al., "A practical automatic
// polyhedral parallelizer and locality optimizer" (permutable bands).
#pragma once

#include <set>

#include "poly/order_tree.h"

namespace polyte::poly {

struct OrderAttempt {
  std::string name;
  OrderTree tree;
  bool is_isls = true;  // false: made of one of isl's (pushed_sums.h)
  // Reductions whose terms change places: the contract has to name them.
  std::set<std::string> reassociated = {};
};

struct InstanceOrders {
  std::vector<OrderAttempt> found;  // no two alike
  std::vector<std::string> lost;    // attempts without a tree: each with why
  // Those of them that isl did not finish: reported, as another run may.
  std::vector<std::string> given_up;
};

// `keep_order`: of terms of sums, in all attempts.
InstanceOrders instance_orders(const ir::Program& program, bool keep_order = true);

}  // namespace polyte::poly
