// An order of all instances of a Program, as a tree in which each statement has rows of its own:
//   Band      loops around all statements below; an iteration of a loop is, for each statement,
//             the value of a row
//   Sequence  children in order
//   Leaf      a statement
// Reductions are loops as all others. It is what isl's schedule trees say, brought back to names
// (instance_order.h), and what becomes `map` and `nest` (order_plan.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/program.h"
#include "poly/affine_core.h"

namespace polyte::poly {

struct OrderNode;
using OrderTree = std::shared_ptr<const OrderNode>;

struct OrderLoop {
  // By statement, over its iterators and the Program's sizes.
  std::map<std::string, ir::Affine> rows;
  bool coincident = false;  // no dependence between its iterations
};
struct OrderBand {
  std::vector<OrderLoop> loops;
  bool permutable = false;  // in any order, and in tiles
  OrderTree child;
};
struct OrderSequence {
  std::vector<OrderTree> children;
};
struct OrderLeaf {
  std::string statement;
};
struct OrderNode {
  std::variant<OrderBand, OrderSequence, OrderLeaf> op;
};

OrderTree order_band(OrderBand band);
// Flattens; one child is returned itself.
OrderTree order_sequence(std::vector<OrderTree> children);
OrderTree order_leaf(std::string statement);

std::vector<std::string> statements_below(const OrderTree& tree);  // in order

// What the affine core found, none of its bands mapped: each statement of a cluster with loops over
// the iterators that the bands around have not taken.
OrderTree order_of(const Core& core);

// The tree with loops of one iteration around statements whose rows do not tell all their
// iterators, and with statements that it lacks (they have no instances) at its end.
OrderTree completed(const OrderTree& tree, const ir::Program& program);

// Where the iterator, which statements share, stands still: rows without it, loops that say
// nothing else gone.
OrderTree without_iterator(const OrderTree& tree, const std::string& iterator);

bool is_innermost(const OrderBand& band);  // its statements have no loops of their own below it

// Wavefronts of a band that holds all statements: one row becomes its sum with another, so that of
// the other the iterations within a front do not wait for each other; none of rows where they do
// not as it is. Sums of rows of a permutable band are rows of one.
std::vector<OrderTree> wavefronts_of(const OrderTree& tree);

// The same with any of the rows but the kept one becoming its sum with another: by the number of
// such sums. None of bands with many loops.
std::vector<std::vector<OrderTree>> skewed_around(const OrderTree& tree, std::size_t kept);

// The outer rows of a band that holds all statements, one or more, and below them each statement
// with loops of its own: rows that only follow the skew of those outside are straight again. What
// makes them wait for each other is not known here; not every such order is legal.
std::vector<OrderTree> straightened(const OrderTree& tree, const ir::Program& program);

// P<cc- S:i,j,k T:i,j,0>{ S; T }: `P` permutable, `b` not; c coincident. For --explain and tests.
std::string to_string(const OrderTree& tree);

}  // namespace polyte::poly
