#include "lower/open_trips.h"

#include <algorithm>

namespace polyte::lower {

using ir::Affine;
using ir::Stmt;

namespace {

constexpr std::int64_t kMostBranches = 32;  // the rows of a tile

// One bound on either side, or the number is a minimum or maximum and no single expression.
std::optional<Affine> trips_of(const ir::For& loop) {
  if (loop.lower.size() != 1 || loop.upper.size() != 1) return std::nullopt;
  return loop.upper[0] - loop.lower[0];
}

bool is_of(const Affine& count, const std::vector<std::string>& params) {
  std::set<std::string> symbols;
  count.collect_symbols(symbols);
  return !symbols.empty() && std::ranges::all_of(symbols, [&](const std::string& symbol) {
    return std::ranges::find(params, symbol) != params.end();
  });
}

}  // namespace

// The first unrolled loop whose number of iterations depends on sizes alone and has few possible
// values, which partition_loops then makes a branch of each.
std::optional<OpenTrips> open_trips(const Stmt& s, const ir::Facts& facts,
                                    const std::vector<std::string>& params) {
  std::optional<OpenTrips> found;
  ir::for_each_stmt(s, [&](const Stmt& each) {
    const auto* loop = std::get_if<ir::For>(&each->op);
    if (found || !loop || loop->kind != ir::LoopKind::Unrolled) return;
    const std::optional<Affine> count = trips_of(*loop);
    if (!count || !is_of(*count, params)) return;
    const ir::Interval range = facts.range(*count);
    // Of N % 3 it is 0, 1 or 2; of N itself any number.
    if (range.min && range.max && *range.min >= 0 && *range.max < kMostBranches)
      found = {*count, *range.min, *range.max};
  });
  return found;
}

// The caller puts `if count == number` around each copy, so this may replace the trip count by it.
Stmt with_trips(const Stmt& s, const Affine& count, std::int64_t number) {
  Stmt below =
      ir::rewrite_children(s, [&](const Stmt& child) { return with_trips(child, count, number); });
  const auto* loop = std::get_if<ir::For>(&below->op);
  if (!loop || trips_of(*loop) != count) return below;
  ir::For copy = *loop;
  copy.upper = {loop->lower[0] + number};
  return ir::make_for(std::move(copy));
}

}  // namespace polyte::lower
