// Sums that take their terms, turned into sums that are given them:
//
//   j > { T; k > S }     pulled: at element j, its terms of all steps k before it
//   c > { T; j > S }     pushed: at step c, its term for every element j behind it, which may
//                        be lanes
//
// Left-looking and right-looking factorisations are the two forms of one order of terms. isl takes
// the first where the writes of others draw S to the loop of its element.
#pragma once

#include <vector>

#include "poly/order_tree.h"

namespace polyte::poly {

// The tree with one sum in that form, for each that can be, and with all of them. Whether
// dependences run forwards then is for the caller to see.
std::vector<OrderTree> pushed_sums_of(const OrderTree& tree, const ir::Program& program);

}  // namespace polyte::poly
