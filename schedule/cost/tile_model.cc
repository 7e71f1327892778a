#include "schedule/cost/tile_model.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kWholeReduction = 768;  // up to here a reduction is not split
constexpr std::int64_t kReductionBlock = 512;

// Cycles of one reduction step of one tile: FMA throughput, two loads a cycle, latency of each chain.
double tile_cycles(const Machine& machine, int rows, int vectors) {
  const double fmas = static_cast<double>(rows) * vectors / std::max(1, machine.fma_per_cycle);
  const double loads = (rows + vectors) / 2.0;
  return std::max({fmas, loads, static_cast<double>(machine.fma_latency)});
}

}  // namespace

double predicted_cycles(const Machine& machine, const ContractionShape& shape, const RegisterTile& tile) {
  const std::int64_t lanes = machine.lanes(shape.dtype);
  const std::int64_t columns = ceil_div(shape.n, lanes);
  const std::int64_t full_rows = shape.m / tile.rows, rest_rows = shape.m % tile.rows;
  const std::int64_t full_columns = columns / tile.vectors, rest_columns = columns % tile.vectors;
  double cycles = 0;
  for (auto [count, vectors] : {std::pair{full_columns, tile.vectors},
                                std::pair{std::int64_t{rest_columns > 0}, static_cast<int>(rest_columns)}}) {
    if (count == 0) continue;
    cycles += static_cast<double>(count * full_rows) * tile_cycles(machine, tile.rows, vectors);
    if (rest_rows > 0)
      cycles += static_cast<double>(count) * tile_cycles(machine, static_cast<int>(rest_rows), vectors);
  }
  return cycles;
}

RegisterTile choose_register_tile(const Machine& machine, const ContractionShape& shape) {
  const int lanes = machine.lanes(shape.dtype);
  const int budget = machine.vector_registers - 2;
  const int most_vectors = static_cast<int>(std::min<std::int64_t>(4, ceil_div(shape.n, lanes)));
  RegisterTile best{1, 1};
  double least = predicted_cycles(machine, shape, best);
  // Two vectors first: among equals they waste least at the edges and need the fewest broadcasts.
  for (int vectors : {2, 1, 3, 4}) {
    if (vectors > std::max(1, most_vectors)) continue;
    for (int rows = (budget - vectors) / vectors; rows >= 1; --rows) {
      if (rows > shape.m) continue;
      RegisterTile tile{rows, vectors};
      double cycles = predicted_cycles(machine, shape, tile);
      if (cycles < least * 0.995) {
        best = tile;
        least = cycles;
      }
    }
  }
  return best;
}

std::int64_t choose_reduction_block(const Machine& machine, const ContractionShape& shape, const RegisterTile& tile) {
  if (shape.k <= kWholeReduction) return std::max<std::int64_t>(1, shape.k);
  const std::int64_t panel_bytes = std::int64_t{tile.vectors} * machine.lanes(shape.dtype) * size_in_bytes(shape.dtype);
  const std::int64_t fits = std::max<std::int64_t>(64, machine.l2.bytes / 2 / std::max<std::int64_t>(1, panel_bytes));
  const std::int64_t target = std::min(kReductionBlock, fits);
  const std::int64_t blocks = std::max<std::int64_t>(1, (shape.k + target / 2) / target);
  return ceil_div(ceil_div(shape.k, blocks), 8) * 8;
}

std::int64_t choose_row_block(const Machine& machine, const ContractionShape& shape, const RegisterTile& tile,
                              std::int64_t reduction_block) {
  const std::int64_t row_bytes = std::max<std::int64_t>(1, reduction_block * size_in_bytes(shape.dtype));
  const std::int64_t rows = std::max<std::int64_t>(1, machine.l2.bytes / 2 / row_bytes / tile.rows) * tile.rows;
  const std::int64_t all = ceil_div(shape.m, tile.rows) * tile.rows;
  if (rows >= all) return all;
  const std::int64_t blocks = ceil_div(all, rows);
  return ceil_div(ceil_div(all, blocks), tile.rows) * tile.rows;
}

bool conflicts_in_cache(const Machine& machine, std::int64_t stride_bytes, int rows) {
  const std::int64_t ways = std::max(1, machine.l1.ways);
  const std::int64_t way_bytes = std::max<std::int64_t>(64, machine.l1.bytes / ways);
  return rows > ways && stride_bytes > 0 && stride_bytes % (way_bytes / 2) == 0;
}

}  // namespace polyte::schedule
