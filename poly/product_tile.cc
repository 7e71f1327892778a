#include "poly/product_tile.h"

#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/step_cost.h"

namespace polyte::poly {
namespace {

constexpr int kMostTileRows = 16, kMostTileVectors = 4;
// Registers of a tile for a row's element in all lanes, while the next one is loaded.
constexpr int kBroadcasts = 2;
// The share of a tile's predicted rate that is left with its beginning, end and order.
constexpr double kFullRate = 0.9;

}  // namespace

std::optional<ProductTile> product_tile(const ir::Program& program, const ir::Statement& sum,
                                        const ProductLoops& loops, std::int64_t edge,
                                        const std::set<std::string>& packed,
                                        const Machine& machine) {
  const std::vector<schedule::PricedLoop> priced = {
      {loops.row, edge, false}, {loops.lane, edge, false}, {loops.step, edge, true}};
  const schedule::NestAccesses nest = schedule::nest_accesses(program, sum, {}, priced);
  const schedule::StepCost price(nest, sum, machine);
  const std::int64_t lanes = machine.lanes(nest.dtype);
  std::optional<ProductTile> best;
  for (int vectors = 1; vectors <= kMostTileVectors; ++vectors)
    for (int rows = 2; rows <= kMostTileRows; ++rows) {
      if (edge % rows != 0 || edge % (vectors * lanes) != 0) continue;
      if (rows * vectors + vectors + kBroadcasts > machine.vector_registers) continue;
      // `cycles` is of edge^3 multiply-adds; each step of each tile costs a turn of the loop
      // beside.
      const double cycles = price.cycles({1, 0, priced.size(), packed, false}, {rows, vectors});
      const std::int64_t tiles = (edge / rows) * (edge / (vectors * lanes));
      const double turns = static_cast<double>(edge * tiles);
      const double each = (cycles + turns) / static_cast<double>(edge * edge * edge) / kFullRate;
      if (!best || each < best->cycles) best = ProductTile{{rows, vectors}, each};
    }
  return best;
}

}  // namespace polyte::poly
