#include "schedule/cost/tile_waits.h"

#include <algorithm>
#include <ranges>

#include "schedule/cost/streams.h"
#include "schedule/cost/tile_ahead.h"
#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr double kPageWalk = 7;
// Cycles of a walk beyond kFarPages pages, whose entries are in no near table, so that nothing
// hides it.
constexpr double kFarWalk = 64, kFarPages = 2048;
// Lines that follow each other are fetched ahead, in so many streams at once; where a run begins
// they are waited for. The steps of a few rows that share it hide some, unless it is in memory.
constexpr double kRunStart = 10, kStreams = 16;
constexpr double kRunStartOfRows = 5, kRunStartFromMemory = 40;
constexpr double kFewRows = 8;  // that share an element: behind more, what begins is not waited for
// Bytes between runs that the prefetcher passes over: of any operand, and of one that rows share.
constexpr std::int64_t kSameRun = 128, kNearRuns = 1024;
// A line that comes in one of several streams of its tensor, for each more.
constexpr double kRowCycles = 0.2;
constexpr double kFetchCycles = 0.5;  // of asking for a line ahead
constexpr double kBlockEnd = 4;       // of a tile: its loop ends, and begins anew
constexpr double kSumCycles = 1;      // a vector of sums is stored and loaded between two blocks

}  // namespace

// Walks of address translation: boxes, times the pages of operands that touch more than kNearPages.
double TileWaits::page_walks(const TileCandidate& candidate, const TileLoops& tile) const {
  double walks = 0;
  for (const NestAccess& access : nest_.all) {
    if (!access.each_step || candidate.at.packed.contains(access.buffer)) continue;
    const double pages = access.pages(tile.points);
    if (pages > kNearPages) walks += pages * (pages > kFarPages ? kFarWalk : kPageWalk * kUnhidden);
  }
  return walks * boxes(tile.points);
}

// Between two blocks of a reduction sums leave their registers and come back: per tile, or, without
// rows, per vector of sums.
double TileWaits::block_ends(const TileCandidate& candidate, std::int64_t block) const {
  if (block == 0) return 0;
  const double times = static_cast<double>(ceil_div(nest_.reduction_steps(), block));
  const double vectors = nest_.accumulator.elements() / machine_.lanes(nest_.dtype);
  if (candidate.at.row == nest_.loops.size()) return vectors * kSumCycles * times;
  const double tiles =
      vectors / (candidate.tile.rows * candidate.tile.vectors * candidate.tile.outer_rows);
  return (times - 1) * (tiles * kBlockEnd + vectors * kSumCycles);
}

double TileWaits::run_starts(const TileCandidate& candidate, const TileLoops& tile) const {
  const std::size_t none = nest_.loops.size();
  if (candidate.at.lane == none) return 0;
  if (main_.reductions.empty()) return definition_starts(candidate, tile);
  const bool has_rows = candidate.at.row != none;
  const double in_rows = has_rows ? cycles_of_rows(nest_, tile, machine_) : 0;
  const std::vector<TileAhead> ahead = operands_ahead(nest_, tile, candidate.cycles, machine_);
  double starts = 0, fetches = 0;
  for (const NestAccess& access : nest_.all) {
    const double bytes = access.bytes();
    if (!access.each_step || candidate.at.packed.contains(access.buffer) ||
        bytes < kUsableShare * static_cast<double>(machine_.l2.bytes) ||
        (has_rows && !is_of_few_rows(access)))
      continue;
    if (std::ranges::find(ahead, access.buffer, &TileAhead::operand) != ahead.end()) {
      const int line = machine_.l1.line_bytes;
      fetches += access.footprint(tile.points, false, line) / line * boxes(tile.points);
      continue;
    }
    const bool is_hidden = has_rows && points_an_element(access) > 1,
               is_far = bytes >= static_cast<double>(machine_.l3.bytes);
    const std::int64_t gap = is_hidden ? kNearRuns : kSameRun;
    std::vector<std::int64_t> points = walked(access, tile, gap);
    // All of the few rows, a tile at a time.
    for (std::size_t l = 0; l < points.size() && has_rows; ++l)
      if (!access.moves_with(l)) points[l] = std::max<std::int64_t>(1, nest_.loops[l].extent);
    starts += access.runs(points, gap).count * boxes(points) *
              (!is_hidden ? kRunStart
               : is_far   ? kRunStartFromMemory
                          : kRunStartOfRows);
  }
  return in_rows + starts + fetches * kFetchCycles;
}

double TileWaits::points_an_element(const NestAccess& access) const {
  double shared = 1;
  for (std::size_t l = 0; l < nest_.loops.size(); ++l)
    if (!access.moves_with(l))
      shared *= static_cast<double>(std::max<std::int64_t>(1, nest_.loops[l].extent));
  return shared;
}

bool TileWaits::is_of_few_rows(const NestAccess& access) const {
  double points = 1;
  for (const PricedLoop& loop : nest_.loops)
    points *= static_cast<double>(std::max<std::int64_t>(1, loop.extent));
  const double shared = points_an_element(access);
  return shared <= kFewRows && access.elements() * shared >= points;
}

// The innermost loop around goes on with each of few runs; those outside of it do as long as they
// begin where it ends, pixels of all channels along a line.
std::vector<std::int64_t> TileWaits::walked(const NestAccess& access, const TileLoops& tile,
                                            std::int64_t gap) const {
  std::vector<std::int64_t> points = tile.points;
  double runs = access.runs(points, gap).count;
  if (runs > kStreams) return points;
  std::int64_t reach = -1;  // elements from an iteration to the next; none so far
  for (const std::size_t loop : std::views::reverse(tile.order)) {
    if (tile.points[loop] >= nest_.loops[loop].extent) continue;
    const std::int64_t step = access.strides[loop] * tile.points[loop];
    std::vector<std::int64_t> more = points;
    more[loop] = nest_.loops[loop].extent;
    const double count = access.runs(more, gap).count;
    if (reach >= 0 && (step < reach || count > runs)) break;
    points = std::move(more);
    runs = count;
    reach = step;
  }
  return points;
}

double TileWaits::result_starts(const TileLoops& tile) const {
  if (main_.reductions.empty()) return 0;  // among those of a definition
  double at_once = 0, bytes = 0, cycles = 0;
  for (const NestAccess& access : nest_.all) {
    if (!access.each_step) at_once += access.runs(tile.points).count;
    bytes += access.bytes();
  }
  if (bytes < static_cast<double>(machine_.l3.bytes)) return 0;
  for (const NestAccess& access : nest_.all)
    if (!access.each_step && access.bytes() >= static_cast<double>(machine_.l2.bytes))
      cycles += start_cycles(streams_of(access, nest_, tile, at_once <= kStreams, kOfResults),
                             bytes, machine_);
  return cycles;
}

std::pair<double, double> TileWaits::streams(const TileLoops& tile) const {
  double at_once = 0, starts = 0;
  auto in_place = std::views::filter(
      nest_.all, [&](const NestAccess& each) { return !tile.packed.contains(each.buffer); });
  for (const NestAccess& access : in_place) at_once += access.runs(tile.points).count;
  for (const NestAccess& access : in_place)
    starts += streams_of(access, nest_, tile, at_once <= kStreams).starts;
  return {at_once, starts};
}

// Boxes of so many points that cover all loops.
double TileWaits::boxes(const std::vector<std::int64_t>& points) const {
  double count = 1;
  for (std::size_t l = 0; l < nest_.loops.size(); ++l)
    count *=
        static_cast<double>(ceil_div(std::max<std::int64_t>(1, nest_.loops[l].extent), points[l]));
  return count;
}

// A definition reads and writes each element once, so nothing but the beginnings of streams waits,
// and streams beyond those that the processor follows.
double TileWaits::definition_starts(const TileCandidate& candidate, const TileLoops& tile) const {
  double at_once = 0, bytes = 0;
  for (const NestAccess& access : nest_.all) {
    at_once += access.runs(tile.points).count;
    bytes += access.bytes();
  }
  double cycles = 0;
  for (const NestAccess& access : nest_.all) {
    const double own = access.bytes();
    if (access.strides[candidate.at.lane] != 0 && own >= static_cast<double>(machine_.l1.bytes))
      cycles += start_cycles(streams_of(access, nest_, tile, at_once <= kStreams), bytes, machine_);
  }
  if (bytes < static_cast<double>(machine_.l1.bytes)) return cycles;
  const double rows = at_once / static_cast<double>(nest_.all.size());
  return cycles + (rows - 1) * kRowCycles * bytes / static_cast<double>(machine_.l1.line_bytes);
}

}  // namespace polyte::schedule
