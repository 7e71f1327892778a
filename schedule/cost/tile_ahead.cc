#include "schedule/cost/tile_ahead.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr double kFromMemory = 800;  // cycles from memory, with what waits before
constexpr double kMostLines = 32;    // that are fetched at a time
// Windows overlap, and rows begin within a line: two or three times is usual.
constexpr double kMostTimes = 4;          // that a line is fetched, on average
constexpr double kLineOfRowCycles = 0.2;  // a line that comes in one of several rows, for each more

class TileRows {
 public:
  TileRows(const NestAccesses& nest, const TileLoops& tile, const Machine& machine)
      : nest_(nest), tile_(tile), machine_(machine) {}

  // Whether a tile reads the operand in place, in several short rows that no prefetcher follows.
  // Subscripts are sums of loops; guarded reads are copied first, and do not count.
  bool is_in_rows(const NestAccess& access) const {
    if (!access.load || !access.each_step || access.load->otherwise ||
        tile_.packed.contains(access.buffer))
      return false;
    if (access.elements() * static_cast<double>(access.element_bytes) <
        static_cast<double>(machine_.l2.bytes))
      return false;
    const bool is_plain = std::ranges::all_of(access.load->indices, [](const ir::Index& index) {
      return !index.indirect && !index.affine.has_division();
    });
    return is_plain && steps() <= static_cast<double>(kWindowSteps) && row_of(access) &&
           !goes_on(access);
  }

  double rows(const NestAccess& access) const { return access.runs(tile_.points).count; }

  double lines_of_operand(const NestAccess& access) const {
    return access.elements() * static_cast<double>(access.element_bytes) / machine_.l1.line_bytes;
  }

  // Along which loop to prefetch, and how many iterations ahead: the innermost loop that comes to
  // other rows, if it runs at least twice as long as the latency of memory takes. Nothing where
  // tiles ask again and again for lines that are there: columns of an image that is near.
  std::optional<TileAhead> ahead(const NestAccess& access, double cycles) const {
    if (lines(access) > kMostLines) return std::nullopt;
    const std::size_t row = *row_of(access);
    TileAhead result{access.buffer};
    double turns = 1;
    for (const std::size_t loop : tile_.order) turns *= static_cast<double>(trips(loop));
    if (lines(access) * turns > kMostTimes * lines_of_operand(access)) return std::nullopt;
    bool has_place = false;
    for (auto loop = tile_.order.rbegin(); loop != tile_.order.rend(); ++loop) {
      if (access.moves_with(*loop) && trips(*loop) > 1 && !has_place) {
        result.at = *loop;
        has_place = true;
      }
      result.along = *loop;
      result.distance = static_cast<std::int64_t>(std::ceil(kFromMemory * turns / cycles));
      if (moves(access, *loop, row) && 2 * result.distance <= trips(*loop)) return result;
      turns /= static_cast<double>(trips(*loop));
    }
    return std::nullopt;
  }

 private:
  const NestAccesses& nest_;
  const TileLoops& tile_;
  const Machine& machine_;

  std::int64_t extent(std::size_t loop) const {
    return std::max<std::int64_t>(1, nest_.loops[loop].extent);
  }
  std::int64_t trips(std::size_t loop) const { return ceil_div(extent(loop), tile_.points[loop]); }

  double steps() const {
    double product = 1;
    for (std::size_t l = 0; l < nest_.loops.size(); ++l)
      if (nest_.loops[l].reduction) product *= static_cast<double>(extent(l));
    return product;
  }

  double lines(const NestAccess& access) const {
    return access.footprint(tile_.points, false, machine_.l1.line_bytes) / machine_.l1.line_bytes;
  }

  static std::int64_t span(const NestAccess& access, std::size_t dimension,
                           const std::vector<std::int64_t>& points) {
    std::int64_t span = 1;
    for (std::size_t l = 0; l < points.size(); ++l)
      span += access.subscripts[dimension][l] * (points[l] - 1);
    return span;
  }

  // The innermost dimension along which the tile reads several rows; those behind it lie along
  // a row.
  std::optional<std::size_t> row_of(const NestAccess& access) const {
    for (std::size_t d = access.shape.size(); d-- > 1;)
      if (span(access, d - 1, tile_.points) > 1) return d - 1;
    return std::nullopt;
  }

  // Whether the loop leads to other rows: it moves the row's dimension, or one before it.
  static bool moves(const NestAccess& access, std::size_t loop, std::size_t row) {
    for (std::size_t d = 0; d <= row; ++d)
      if (access.subscripts[d][loop] != 0) return true;
    return false;
  }

  // Whether the prefetcher can follow: the innermost loops go on along a row for a page, or they
  // read rows whole that lie one behind the other.
  bool goes_on(const NestAccess& access) const {
    const std::size_t row = *row_of(access);
    std::vector<std::int64_t> points = tile_.points;
    bool is_whole = true;
    for (auto loop = tile_.order.rbegin(); loop != tile_.order.rend() && !moves(access, *loop, row);
         ++loop) {
      is_whole = is_whole && (trips(*loop) == 1 || !access.moves_with(*loop));
      points[*loop] = extent(*loop);
    }
    std::int64_t elements = 1, pitch = 1;
    for (std::size_t d = access.shape.size(); d-- > row + 1;
         pitch *= std::max<std::int64_t>(1, access.shape[d]))
      elements += (span(access, d, points) - 1) * pitch;
    const std::int64_t line = machine_.l1.line_bytes;
    return elements * access.element_bytes >= kPageBytes ||
           (is_whole && (pitch - elements) * access.element_bytes < line);
  }
};

}  // namespace

std::vector<TileAhead> operands_ahead(const NestAccesses& nest, const TileLoops& tile,
                                      double cycles, const Machine& machine) {
  const TileRows rows(nest, tile, machine);
  std::vector<TileAhead> all;
  for (const NestAccess& access : nest.all) {
    const auto is_other = [&](const NestAccess& each) {
      return &each != &access && each.buffer == access.buffer;
    };
    if (!rows.is_in_rows(access) || std::ranges::any_of(nest.all, is_other)) continue;
    if (const auto ahead = rows.ahead(access, cycles)) all.push_back(*ahead);
  }
  return all;
}

double cycles_of_rows(const NestAccesses& nest, const TileLoops& tile, const Machine& machine) {
  const TileRows rows(nest, tile, machine);
  double cycles = 0;
  for (const NestAccess& access : nest.all)
    if (rows.is_in_rows(access))
      cycles += (rows.rows(access) - 1) * kLineOfRowCycles * rows.lines_of_operand(access);
  return cycles;
}

}  // namespace polyte::schedule
