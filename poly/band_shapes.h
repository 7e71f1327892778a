// How the loops of a band may run: in which order, and in tiles of which sizes.
#pragma once

#include <span>
#include <vector>

namespace polyte::poly {

// How a band runs: loops over tiles, then loops within them; of a loop that is not tiled the
// latter alone.
struct BandShape {
  std::vector<std::size_t> tiles, points;  // loops of the band, outermost first
  std::vector<double> sizes;               // by loop; 0: not tiled
};

constexpr std::size_t kAllOrders = 3;  // loops of a band that are tried in any order

// All orders of n loops, or of many loops isl's with one of them moved to the end.
std::vector<std::vector<std::size_t>> orders_of(std::size_t n);

// The sizes that a tile along a loop may have, 0: no tile.
std::span<const double> tile_sizes_of(std::size_t loops);

// Each choice of a size for each loop, in the same vector.
template <class Visit>
void for_each_sizes(std::vector<double>& sizes, const Visit& visit, std::size_t from = 0) {
  if (from == sizes.size()) return visit();
  for (const double size : tile_sizes_of(sizes.size())) {
    sizes[from] = size;
    for_each_sizes(sizes, visit, from + 1);
  }
  sizes[from] = 0;
}

}  // namespace polyte::poly
