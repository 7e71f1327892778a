// What the loops of an order are called in a nest: after an iterator that a row is, or after one
// that it brings in.
#pragma once

#include <map>
#include <set>
#include <string>

#include "poly/order_tree.h"

namespace polyte::poly {

// Of all loops of the tree. `tiled`: those that run in tiles; `tile` means all loops of a name, so
// that no other loop has that of one of them. Any other name is used once on a path.
std::map<const OrderLoop*, std::string> loop_names(const ir::Program& program,
                                                   const OrderTree& tree,
                                                   const std::set<const OrderLoop*>& tiled);

}  // namespace polyte::poly
