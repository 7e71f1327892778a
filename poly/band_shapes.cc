#include "poly/band_shapes.h"

#include <algorithm>
#include <numeric>

namespace polyte::poly {
namespace {

constexpr double kTileSizes[] = {0, 8, 16, 32, 64, 256};
// For bands with more loops than kAllOrders: with s sizes and n loops there are s^n choices.
constexpr double kFewTileSizes[] = {0, 8, 32, 128};

}  // namespace

std::vector<std::vector<std::size_t>> orders_of(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::vector<std::size_t>> all;
  if (n <= kAllOrders) {
    do all.push_back(order);
    while (std::ranges::next_permutation(order).found);
    return all;
  }
  // Which loop is innermost decides most of the price, so each one is tried there.
  for (std::size_t last = n; last-- > 0;) {
    all.push_back(order);
    std::erase(all.back(), last);
    all.back().push_back(last);
  }
  return all;
}

std::span<const double> tile_sizes_of(std::size_t loops) {
  return loops > kAllOrders ? std::span<const double>(kFewTileSizes)
                            : std::span<const double>(kTileSizes);
}

}  // namespace polyte::poly
