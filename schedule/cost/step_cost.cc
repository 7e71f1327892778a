#include "schedule/cost/step_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "schedule/cost/lanes.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr double kLoadsACycle = 2;
constexpr std::int64_t kMostTaps = 8;  // of a reduction's innermost loop that is unrolled
// Bytes per cycle, where the rows of a tile do not stay in the first level.
constexpr double kStepL2Rate = 24;
constexpr double kUnhiddenMoves = 0.1;  // of loads behind operations, or the other way round
constexpr double kDivision = 5, kFunction = 12, kAddition = 0.5;  // vector instructions
// The greater of two floats on x86 without AVX-512, where zeros are told apart, and NaN is kept:
// two operations of the units that multiply, and two of others. With AVX-512 there are as many;
// they count as one.
constexpr double kGreaterOperations = 2;
constexpr int kGreaterTemporaries = 2;
constexpr double kElementCycles = 1;  // a lane loaded by itself and put into its vector
constexpr double kScatterCycles = 1;  // a lane taken out of its vector and stored
// Where the places of a vector's lanes drive each other out of the first cache (measured on
// Zen 5: 8 at every 2 KiB, 23 at every 4 KiB).
constexpr double kCrowdedScatterCycles = 12;
// A vector of a square that is transposed in registers: of as many steps as it has lanes, of fewer,
// which are loaded in pieces of a vector, and of eight f32, whose halves are loaded in their
// places. Measured on Zen 5.
constexpr double kTurnedCycles = 3, kTurnedPiecesCycles = 4.2, kTurnedEightCycles = 1.75;
// More where a square stays for those of another operand and they fill the registers.
constexpr double kTurnedAway = 1.6;
// A vector of every second element, or third, ..: so many loads and their shuffles, for
// each element between.
constexpr double kNearVectorCycles = 1.5;

// The sign of an operand is changed by the operation that takes it.
bool is_operation(const ir::ExprNode& node) {
  const auto* unary = std::get_if<ir::Unary>(&node.op);
  return (unary && unary->op != ir::UnaryOp::Neg) || std::holds_alternative<ir::Binary>(node.op) ||
         std::holds_alternative<ir::Fma>(node.op);
}

// Whether the core computes vectors of 512 bits as two halves.
bool has_halves(const Machine& machine) {
  return machine.fma_per_cycle == 1 && machine.vector_bits == 512;
}

}  // namespace

double instructions(const ir::Expr& e) {
  double all = 0;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    if (std::holds_alternative<ir::Load>(node.op) || std::holds_alternative<ir::Literal>(node.op) ||
        std::holds_alternative<ir::IndexValue>(node.op))
      return;
    const auto* binary = std::get_if<ir::Binary>(&node.op);
    const auto* unary = std::get_if<ir::Unary>(&node.op);
    const bool divides =
        binary && (binary->op == ir::BinaryOp::Div || binary->op == ir::BinaryOp::Mod);
    const bool is_function =
        (binary && binary->op == ir::BinaryOp::Pow) ||
        (unary && unary->op != ir::UnaryOp::Neg && unary->op != ir::UnaryOp::Abs);
    const bool adds =
        binary && (binary->op == ir::BinaryOp::Add || binary->op == ir::BinaryOp::Sub);
    all += is_function ? kFunction : divides ? kDivision : adds ? kAddition : 1;
  });
  return all;
}

StepCost::StepCost(const NestAccesses& nest, const ir::Statement& main, const Machine& machine)
    : nest_(nest),
      machine_(machine),
      is_reduction_(main.combiner != ir::Combiner::None),
      taps_(nest.loops.size()) {
  if (!main.reductions.empty() && nest.extent(main.reductions.back()) <= kMostTaps)
    taps_ = nest.loop_number(main.reductions.back());
  double count = 0;
  for (const ir::Expr& value : main.values)
    ir::for_each_node(value, [&](const ir::ExprNode& node) { count += is_operation(node); });
  const bool is_greatest = main.combiner == ir::Combiner::Max || main.combiner == ir::Combiner::Min;
  const bool is_sequence = machine.has("sse2") && !machine.has("avx512f") && is_float(nest.dtype);
  if (is_greatest && is_sequence) {
    count += kGreaterOperations;
    temporaries_ = kGreaterTemporaries;
  }
  operations_ = std::max(1.0, count);
}

std::int64_t StepCost::extent(std::size_t loop) const {
  return loop == nest_.loops.size() ? 1 : std::max<std::int64_t>(1, nest_.loops[loop].extent);
}

std::int64_t StepCost::lane_vectors(std::size_t lane) const {
  return lane == nest_.loops.size() ? 1 : ceil_div(extent(lane), lanes());
}

// Full tiles of the lanes, and the remainder in vectors: where a core issues one FMA of full width
// or two of half width per cycle, the remainder counts in half vectors.
std::vector<StepCost::Part> StepCost::lane_parts(std::size_t lane, int vectors) const {
  const std::int64_t whole = std::int64_t{vectors} * lanes(), rest = extent(lane) % whole;
  std::vector<Part> parts;
  if (lane == nest_.loops.size()) return {{1, 1}};
  if (extent(lane) >= whole) parts.push_back({static_cast<double>(vectors), extent(lane) / whole});
  if (rest == 0) return parts;
  const std::int64_t unit = has_halves(machine_) ? lanes() / 2 : lanes();
  parts.push_back(
      {static_cast<double>(ceil_div(rest, unit)) * static_cast<double>(unit) / lanes(), 1});
  return parts;
}

// Full tiles and the remainder.
std::vector<std::pair<int, std::int64_t>> StepCost::row_parts(std::size_t loop, int size) const {
  std::vector<std::pair<int, std::int64_t>> parts{{size, extent(loop) / size}};
  const std::int64_t rest = extent(loop) % size;
  if (rest > 0) parts.emplace_back(static_cast<int>(rest), 1);
  return parts;
}

// All points of the loops outside the tile, times: steps of the sum, and what each point does once.
double StepCost::cycles(const TileLoopNumbers& at, const RegisterTile& tile) const {
  double steps = 1, points = 1;
  for (std::size_t l = 0; l < nest_.loops.size(); ++l) {
    if (l == at.lane || l == at.row || l == at.outer_row) continue;
    (nest_.loops[l].reduction ? steps : points) *= static_cast<double>(extent(l));
  }
  double total = 0;
  for (const Part& part : lane_parts(at.lane, tile.vectors)) {
    for (const auto& [inner, inner_count] : row_parts(at.row, tile.rows)) {
      for (const auto& [outer, outer_count] : row_parts(at.outer_row, tile.outer_rows)) {
        const std::int64_t count = part.count * inner_count * outer_count;
        if (count == 0) continue;
        const Rows rows{inner, outer};
        total += (steps * step(at, rows, part.vectors) + once(at, rows, part.vectors)) *
                 static_cast<double>(count);
      }
    }
  }
  return total * points;
}

double StepCost::copies(const NestAccess& access, const TileLoopNumbers& at,
                        const Rows& rows) const {
  const auto of = [&](std::size_t loop, int size) {
    return access.moves_with(loop) && access.stays[loop] % size != 0 ? size : 1.0;
  };
  return of(at.row, rows.inner) * of(at.outer_row, rows.outer);
}

// The share of the loads of a vector that remains where one row reads what another row read some
// taps before, x[q + s] over rows q and taps s: span / gcd + 1 distinct places in place of rows *
// taps. These stay in registers where sums take no more than half of them.
double StepCost::shared(const NestAccess& access, const TileLoopNumbers& at, const Rows& rows,
                        double vectors) const {
  if (at.row == nest_.loops.size() || taps_ == nest_.loops.size() || at.turned) return 1;
  const std::int64_t taps = extent(taps_);
  if (2 * rows.inner * rows.outer * vectors > machine_.vector_registers) return 1;
  for (const std::vector<std::int64_t>& loops : access.subscripts) {
    if (loops[at.row] == 0 || loops[taps_] == 0) continue;
    const std::int64_t span = loops[at.row] * (rows.inner - 1) + loops[taps_] * (taps - 1);
    const std::int64_t distinct = span / std::gcd(loops[at.row], loops[taps_]) + 1;
    return std::min(1.0, static_cast<double>(distinct) / static_cast<double>(rows.inner * taps));
  }
  return 1;
}

double StepCost::turned_cycles(int steps) const {
  if (steps < lanes()) return kTurnedPiecesCycles;
  return lanes() == 8 && nest_.dtype == DType::F32 ? kTurnedEightCycles : kTurnedCycles;
}

// Elements from one lane to the next in memory.
std::int64_t StepCost::across(const NestAccess& access, const TileLoopNumbers& at) const {
  if (at.lane == nest_.loops.size()) return 1;
  const bool is_in_place = access.stays[at.lane] > 1;  // for all lanes of a tile
  const std::int64_t stride = is_in_place ? 0 : access.strides[at.lane];
  return stride != 0 && at.packed.contains(access.buffer) ? 1 : stride;
}

// Of the loads of vectors along a line, the share that lies in two lines of the cache: of vectors
// of V bytes that begin at multiples of g bytes, (V - g) of a line's.
double StepCost::line_crossings(const NestAccess& access, const TileLoopNumbers& at) const {
  if (at.packed.contains(access.buffer)) return 0;
  const std::int64_t bytes = lanes() * access.element_bytes;
  std::int64_t places = bytes;
  for (std::size_t l = 0; l < nest_.loops.size(); ++l)
    if (l != at.lane && extent(l) > 1)
      places = std::gcd(places, access.strides[l] * access.element_bytes);
  return static_cast<double>(bytes - places) / machine_.l1.line_bytes;
}

double StepCost::step(const TileLoopNumbers& at, const Rows& rows, double vectors) const {
  double loads = 0, singles = 0, crowded = 0, turned = 0;
  int turned_operands = 0;
  const double fma_rate = std::max(1, machine_.fma_per_cycle);
  for (const NestAccess& access : nest_.all) {
    if (!access.each_step) continue;
    const double times = copies(access, at, rows);
    const std::int64_t stride = across(access, at);
    if (times > 1 && at.row != nest_.loops.size() && !at.packed.contains(access.buffer) &&
        conflicts_in_cache(machine_, access.strides[at.row] * access.element_bytes, rows.inner))
      crowded += times * machine_.l1.line_bytes / kStepL2Rate;
    if (at.turned > 0 && stride > kNearLanes) {
      singles += times * vectors * turned_cycles(at.turned);
      turned += times * vectors;
      ++turned_operands;
      // Lines that drive each other out come again for each square.
      const int side = static_cast<int>(std::ceil(vectors)) * lanes();
      if (conflicts_in_cache(machine_, stride * access.element_bytes, side))
        crowded += times * vectors * lanes() * machine_.l1.line_bytes / (at.turned * kStepL2Rate);
    } else if (stride == 0) {
      loads += times;  // an operand in memory: nothing to keep
    } else if (stride == 1) {
      loads += times * shared(access, at, rows, vectors) * std::ceil(vectors) *
               (1 + line_crossings(access, at));
    } else if (stride <= kNearLanes) {
      singles += times * vectors * kNearVectorCycles * static_cast<double>(stride);
    } else {
      singles += times * vectors * lanes() * kElementCycles;
    }
  }
  const double kept = turned * at.turned + rows.inner * rows.outer * vectors;
  if (turned_operands > 1 && kept > machine_.vector_registers) singles += turned * kTurnedAway;
  // A step of a sum takes no less than the latency of its addition.
  const double chain = is_reduction_ ? machine_.fma_latency : 0;
  const double operations = operations_ * rows.inner * rows.outer * vectors / fma_rate,
               moves = loads / kLoadsACycle + singles;
  return std::max({operations, moves, chain, crowded}) +
         kUnhiddenMoves * std::min(operations, moves);
}

// Reads and writes of what is no operand of the steps: results, and what is made of the sums.
double StepCost::once(const TileLoopNumbers& at, const Rows& rows, double vectors) const {
  double cycles = 0;
  for (const NestAccess& access : nest_.all) {
    if (access.each_step) continue;
    const double times = copies(access, at, rows);
    const std::int64_t stride = across(access, at);
    const int side = static_cast<int>(std::ceil(vectors)) * lanes();
    const double stored = conflicts_in_cache(machine_, stride * access.element_bytes, side)
                              ? kCrowdedScatterCycles
                              : kScatterCycles;
    const double one = stride <= 1 ? 1 : lanes() * (access.load ? kElementCycles : stored);
    cycles += times * (stride == 0 ? 1 : vectors * one);
  }
  return cycles;
}

}  // namespace polyte::schedule
