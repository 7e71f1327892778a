// How the loops of a band run: in which order, and in tiles of which sizes. All that it allows is
// priced.
#pragma once

#include <set>
#include <vector>

#include "poly/order_tree.h"
#include "poly/placed_costs.h"

namespace polyte::poly {

// How a band runs: loops over tiles, then loops within them; of a loop that is not tiled the
// latter alone.
struct BandShape {
  std::vector<std::size_t> tiles, points;  // loops of the band, outermost first
  std::vector<double> sizes;               // by loop; 0: not tiled
  // The last of the points stands once for each statement, below all loops that this one has of its
  // own: j of the tile in
  //   k.o > j.o > k.i > { nrm; i > <j.i> > S3; i > <j.i> > S4 }
  bool is_last_sunk = false;
};

// Nothing is chosen: each permutable band in tiles of one size, and a loop of it last, so many
// before isl's last one.
struct FixedShape {
  double tile = 32;  // 0: no tiles
  std::size_t turned = 0;
};

// A band of the tree in a shape that is given; the others have their best.
struct ShapedBand {
  const OrderBand* band = nullptr;
  BandShape shape;
};

struct ShapeRules {
  enum class How { Best, Untiled, Fixed } how = How::Best;
  FixedShape fixed = {};  // Fixed: of each band
  std::set<const OrderLoop*> not_last =
      {};                 // loops that are not to be the last of a permutable band
  ShapedBand given = {};  // null: none
};

// The loops of the band in this shape, inside of those around it.
Placed within(Placed around, const OrderBand& band, const BandShape& shape);

// All orders of the loops, untiled; then, within tiles, the best of these orders: with all sizes,
// with each tiled loop outermost, and with each loop last. Each of them also with the last loop
// below the loops that statements have of their own, where they have some.
BandShape best_shape(const OrderBand& band, const Placed& around, const PlacedCosts& costs,
                     const ShapeRules& rules);

}  // namespace polyte::poly
