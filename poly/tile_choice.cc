#include "poly/tile_choice.h"

#include <algorithm>
#include <cstdlib>

#include "ir/contraction.h"
#include "schedule/lanes.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

constexpr double kLoadsACycle = 2;
constexpr double kGatherACycle = 0.5;  // lanes loaded one by one, then inserted
constexpr std::int64_t kUnknownStride = 1 << 20;
// Bytes a cycle that a core draws from each level, sustained (a panel that fills more than half of a level comes
// from the next one).
constexpr double kL1Rate = 128, kL2Rate = 24, kL3Rate = 8;

struct Operand {
  std::int64_t lane_stride = 0, row_stride = 0;  // elements; 0: does not move
};

class Pricing {
 public:
  Pricing(const ir::Program& program, const ir::Statement& statement, const std::vector<TileLoop>& loops,
          const Machine& machine)
      : program_(program),
        statement_(statement),
        loops_(loops),
        machine_(machine),
        dtype_(program.buffer(statement.writes[0].buffer).dtype) {}

  int lanes() const { return machine_.lanes(dtype_); }

  std::int64_t extent(const std::string& loop) const {
    auto it = std::ranges::find(loops_, loop, &TileLoop::name);
    return it == loops_.end() ? 1 : std::max<std::int64_t>(1, it->extent);
  }

  // Cycles of the whole statement with this tile.
  double cycles(const std::string& lane, const std::string& row, const schedule::RegisterTile& tile) const {
    const std::int64_t lane_steps = lane.empty() ? 1 : ceil_div(extent(lane), lanes());
    const std::int64_t row_steps = row.empty() ? 1 : extent(row);
    double steps = 1, points = 1;
    for (const TileLoop& loop : loops_) {
      if (loop.name == lane || loop.name == row) continue;
      (loop.reduction ? steps : points) *= static_cast<double>(std::max<std::int64_t>(1, loop.extent));
    }
    double total = 0;
    for (const auto& [rows, row_count] : parts(row_steps, tile.rows)) {
      for (const auto& [vectors, lane_count] : parts(lane_steps, tile.vectors)) {
        const double one = steps * step_cycles(lane, row, rows, vectors) + store_cycles(lane, rows, vectors);
        total += one * static_cast<double>(row_count * lane_count);
      }
    }
    return total * points;
  }

 private:
  const ir::Program& program_;
  const ir::Statement& statement_;
  const std::vector<TileLoop>& loops_;
  const Machine& machine_;
  DType dtype_;

  // Full tiles and the remainder: {size, how many}.
  static std::vector<std::pair<int, std::int64_t>> parts(std::int64_t extent, int size) {
    std::vector<std::pair<int, std::int64_t>> result;
    if (extent / size > 0) result.emplace_back(size, extent / size);
    if (extent % size > 0) result.emplace_back(static_cast<int>(extent % size), 1);
    return result;
  }

  std::int64_t stride(const ir::Load& load, const std::string& loop) const {
    if (loop.empty()) return 0;
    return std::abs(ir::stride_of(program_, load, loop).value_or(kUnknownStride));
  }

  // An element of its own line costs the line: where neither lanes, rows nor steps are neighbours in memory.
  double bytes_an_element(const ir::Load& load, const std::string& lane, const std::string& row) const {
    const std::int64_t size = size_in_bytes(program_.buffer(load.buffer).dtype);
    std::int64_t nearest = kUnknownStride;
    auto see = [&](std::int64_t stride) {
      if (stride != 0) nearest = std::min(nearest, stride);
    };
    see(stride(load, lane));
    see(stride(load, row));
    for (const TileLoop& loop : loops_) {
      if (loop.reduction) see(stride(load, loop.name));
    }
    return static_cast<double>(std::clamp<std::int64_t>(nearest * size, size, machine_.l1.line_bytes));
  }

  // Cycles to bring a load's elements for one step: what the tile touches over all steps decides the level.
  double supply_cycles(const ir::Load& load, const std::string& lane, const std::string& row, int rows,
                       int vectors) const {
    const double bytes = bytes_an_element(load, lane, row);
    double step = stride(load, row) == 0 ? 1 : rows;
    if (stride(load, lane) != 0) step *= static_cast<double>(vectors) * lanes();
    double panel = step * bytes;
    for (const TileLoop& loop : loops_) {
      if (loop.reduction && stride(load, loop.name) != 0)
        panel *= static_cast<double>(std::max<std::int64_t>(1, loop.extent));
    }
    const auto half = [](const Cache& cache) { return static_cast<double>(cache.bytes) / 2; };
    const double rate = panel <= half(machine_.l1) ? kL1Rate : panel <= half(machine_.l2) ? kL2Rate : kL3Rate;
    return step * bytes / rate;
  }

  double step_cycles(const std::string& lane, const std::string& row, int rows, int vectors) const {
    double loads = 0, gathers = 0, operations = 0, supply = 0;
    for (const ir::Expr& value : statement_.values) {
      for (const ir::Load* load : ir::loads_of(value)) {
        supply += supply_cycles(*load, lane, row, rows, vectors);
        const double copies = stride(*load, row) == 0 ? 1 : rows;
        const std::int64_t across = stride(*load, lane);
        if (across > 1 && !lane.empty()) {
          gathers += copies * vectors * lanes();
        } else {
          loads += copies * (across == 0 ? 1 : vectors);
        }
      }
      ir::for_each_node(value, [&](const ir::ExprNode& node) {
        operations += std::holds_alternative<ir::Unary>(node.op) || std::holds_alternative<ir::Binary>(node.op) ||
                      std::holds_alternative<ir::Fma>(node.op);
      });
    }
    operations = std::max(1.0, operations) * rows * vectors / std::max(1, machine_.fma_per_cycle);
    const double chain = statement_.combiner == ir::Combiner::None ? 0 : machine_.fma_latency;
    return std::max({operations, loads / kLoadsACycle + gathers / kGatherACycle, supply, chain});
  }

  double store_cycles(const std::string& lane, int rows, int vectors) const {
    const std::int64_t across =
        lane.empty() ? 1 : ir::stride_of(program_, statement_.writes[0], lane).value_or(kUnknownStride);
    return static_cast<double>(rows) * vectors * (across == 1 ? 1 : lanes());
  }
};

// A result that leaves the registers as it is wants neighbours in its lanes; one that an epilogue takes up may lie
// across memory.
bool suits_lanes(const ir::Program& program, const ir::Statement& s, const std::string& loop) {
  if (!schedule::can_carry_lanes(program, s, loop)) return false;
  const std::int64_t stride = ir::stride_of(program, s.writes[0], loop).value_or(0);
  return program.buffer(s.writes[0].buffer).role == ir::Role::Temp ? stride != 0 : stride == 1;
}

}  // namespace

TileChoice choose_tile(const ir::Program& program, const ir::Statement& statement, const std::vector<TileLoop>& loops,
                       const std::vector<std::string>& candidates, const Machine& machine) {
  const Pricing pricing(program, statement, loops, machine);
  TileChoice best{"", "", {1, 1}, pricing.cycles("", "", {1, 1})};
  auto consider = [&](const std::string& lane, const std::string& row, const schedule::RegisterTile& tile) {
    const double cycles = pricing.cycles(lane, row, tile);
    if (cycles < best.cycles * 0.995) best = {lane, row, tile, cycles};
  };
  std::vector<std::string> lanes{""}, rows{""};
  for (const std::string& loop : candidates) {
    if (pricing.extent(loop) < 2) continue;
    rows.push_back(loop);
    if (suits_lanes(program, statement, loop)) lanes.push_back(loop);
  }
  const int budget = machine.vector_registers - 2;
  for (const std::string& lane : lanes) {
    const std::int64_t lane_steps = lane.empty() ? 1 : ceil_div(pricing.extent(lane), pricing.lanes());
    for (const std::string& row : rows) {
      if (row == lane && !row.empty()) continue;
      for (int vectors : {2, 1, 3, 4}) {
        if (vectors > lane_steps) continue;
        const std::int64_t most =
            row.empty() ? 1 : std::min<std::int64_t>(pricing.extent(row), (budget - vectors) / vectors);
        for (std::int64_t r = most; r >= 1; --r) consider(lane, row, {static_cast<int>(r), vectors});
      }
    }
  }
  return best;
}

}  // namespace polyte::poly
