#include "poly/band_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

namespace polyte::poly {
namespace {

constexpr double kWorthTiles = 0.95;   // of the cycles without them
constexpr std::size_t kAllOrders = 3;  // loops of a band that are tried in any order
constexpr double kTileSizes[] = {0, 8, 16, 32, 64, 256};
// For bands with more loops than kAllOrders: with s sizes and n loops there are s^n choices.
constexpr double kFewTileSizes[] = {0, 8, 32, 128};

// All orders of n loops, or of many loops isl's with one of them moved to the end.
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

BandShape in_isls_order(const OrderBand& band) {
  BandShape shape{{}, {}, std::vector<double>(band.loops.size(), 0)};
  shape.points.resize(band.loops.size());
  std::iota(shape.points.begin(), shape.points.end(), std::size_t{0});
  return shape;
}

BandShape fixed_shape(const OrderBand& band, const PlacedCosts& costs, const FixedShape& fixed) {
  BandShape shape = in_isls_order(band);
  const std::size_t n = band.loops.size(), last = n - 1 - fixed.turned % n;
  std::erase(shape.points, last);
  shape.points.push_back(last);
  for (std::size_t m = 0; m < n && n > 1 && fixed.tile > 0; ++m) {
    if (costs.longest(band, band.loops[m]) <= fixed.tile) continue;
    shape.tiles.push_back(m);
    shape.sizes[m] = fixed.tile;
  }
  return shape;
}

}  // namespace

Placed within(Placed around, const OrderBand& band, const BandShape& shape) {
  for (const std::size_t m : shape.tiles) around.push_back({&band.loops[m], shape.sizes[m]});
  for (const std::size_t m : shape.points) around.push_back({&band.loops[m]});
  around.back().is_sunk = shape.is_last_sunk;
  return around;
}

BandShape best_shape(const OrderBand& band, const Placed& around, const PlacedCosts& costs,
                     const ShapeRules& rules) {
  if (rules.given.band == &band) return rules.given.shape;
  if (!band.permutable) return in_isls_order(band);
  if (rules.how == ShapeRules::How::Fixed) return fixed_shape(band, costs, rules.fixed);
  const std::size_t n = band.loops.size();
  const bool may_sink =
      n > 1 && !is_innermost(band) && std::ranges::none_of(around, &PlacedLoop::is_sunk);
  BandShape best = in_isls_order(band);
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](BandShape shape) {
    if (rules.not_last.contains(&band.loops[shape.points.back()])) return;
    for (const bool is_last_sunk : {false, true}) {
      if (is_last_sunk && !may_sink) continue;
      shape.is_last_sunk = is_last_sunk;
      const double cycles = costs.cycles_of(band, within(around, band, shape));
      if (cycles >= least) continue;
      least = cycles;
      best = shape;
    }
  };
  for (auto& points : orders_of(n)) consider({{}, points, std::vector<double>(n, 0)});
  if (rules.how == ShapeRules::How::Untiled || n < 2) return best;
  least *= kWorthTiles;
  const std::vector<std::size_t> points = best.points;
  // With many loops a last one is tried only if it is no chain, and the best order's is one.
  const auto may_be_last = [&](std::size_t m) {
    return n <= kAllOrders ||
           (costs.is_chain(band.loops[points.back()]) && !costs.is_chain(band.loops[m]));
  };
  std::vector<double> sizes(n, 0);
  for_each_sizes(sizes, [&] {
    for (std::size_t outer = 0; outer < n; ++outer) {
      if (sizes[outer] == 0) continue;
      BandShape shape{{outer}, points, sizes};
      for (std::size_t m = 0; m < n; ++m)
        if (m != outer && sizes[m] > 0) shape.tiles.push_back(m);
      consider(shape);
      for (std::size_t last = 0; last < n; ++last) {
        if (!may_be_last(last)) continue;
        std::erase(shape.points, last);
        shape.points.push_back(last);
        consider(shape);
      }
    }
  });
  return best;
}

}  // namespace polyte::poly
