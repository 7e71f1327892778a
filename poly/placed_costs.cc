#include "poly/placed_costs.h"

#include <algorithm>

#include "poly/row_span.h"
#include "schedule/state/state.h"
#include "support/is_among.h"

namespace polyte::poly {

PlacedCosts::PlacedCosts(const ir::Program& program, const OrderTree& tree, const Machine& machine,
                         bool keep_order, const LaneLayouts& layouts)
    : program_(program), statements_(statements_below(tree)) {
  for (const ir::Statement& s : program.statements) loops_[s.name];
  collect_rows(tree);
  find_told();
  for (const ir::Statement& s : program.statements) {
    const bool may_reorder = !keep_order || schedule::is_reorderable(s);
    prices_.emplace(s.name,
                    StatementPrice(program, s, rows_[s.name], machine, may_reorder, layouts));
  }
}

void PlacedCosts::collect_rows(const OrderTree& tree) {
  if (const auto* band = std::get_if<OrderBand>(&tree->op)) {
    for (const OrderLoop& loop : band->loops)
      for (const auto& [statement, row] : loop.rows) {
        rows_[statement].push_back(row);
        loops_[statement].push_back(&loop);
      }
    collect_rows(band->child);
  } else if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
    for (const OrderTree& child : sequence->children) collect_rows(child);
  }
}

std::size_t PlacedCosts::row_of(const std::string& statement, const OrderLoop* loop) const {
  const auto& loops = loops_.at(statement);
  return static_cast<std::size_t>(std::ranges::find(loops, loop) - loops.begin());
}

// The rows of a statement in the order in which `placed` has their loops; then loops that are not
// placed, in their own order, and the sunk one.
std::vector<PlacedRow> PlacedCosts::rows_at(const std::string& statement,
                                            const Placed& placed) const {
  std::vector<PlacedRow> rows, sunk;
  const auto& loops = loops_.at(statement);
  for (const PlacedLoop& p : placed)
    if (std::ranges::find(loops, p.loop) != loops.end())
      (is_sunk(statement, p) ? sunk : rows).push_back({row_of(statement, p.loop), p.tile});
  for (const OrderLoop* loop : loops)
    if (std::ranges::find(placed, loop, &PlacedLoop::loop) == placed.end())
      rows.push_back({row_of(statement, loop), 0});
  rows.insert(rows.end(), sunk.begin(), sunk.end());
  return rows;
}

StatementPrice::Loops PlacedCosts::counted(const std::string& statement,
                                           const Placed& placed) const {
  return prices_.at(statement).counted(rows_at(statement, placed));
}

// What a statement leaves in the second cache for those after it, in one iteration of the loops
// that they share. The innermost loop stands once for each statement (order_plan.cc): where
// `placed` includes it, it is not shared.
void PlacedCosts::add_touched(const std::string& statement, const Placed& placed,
                              const StatementPrice::Loops& loops,
                              StatementPrice::References& warm) const {
  const auto& own = loops_.at(statement);
  if (own.empty()) return;
  const auto shared =
      static_cast<std::size_t>(std::ranges::count_if(placed, [&](const PlacedLoop& p) {
        return !p.is_sunk && std::ranges::find(own, p.loop) != own.end();
      }));
  const bool is_inside = shared == placed.size() && shared == loops.size();
  const StatementPrice::References touched =
      prices_.at(statement).touched(loops, is_inside && shared > 0 ? shared - 1 : shared);
  warm.insert(warm.end(), touched.begin(), touched.end());
}

// All statements before it, in the order of the tree, leave what they have touched.
StatementPrice::Cost PlacedCosts::cost_of(const std::string& statement,
                                          const Placed& placed) const {
  StatementPrice::References warm;
  for (const std::string& other : statements_) {
    if (other == statement) break;
    add_touched(other, placed, counted(other, placed), warm);
  }
  return prices_.at(statement).cost(counted(statement, placed), warm);
}

// The same for a whole band in one walk: `warm` grows as the statements come.
double PlacedCosts::cycles_of(const OrderBand& band, const Placed& placed) const {
  const std::vector<std::string> own = statements_below(band.child);
  StatementPrice::References warm;
  std::size_t left = own.size();
  double cycles = 0;
  for (const std::string& statement : statements_) {
    const StatementPrice::Loops loops = counted(statement, placed);
    if (is_among(statement, own)) {
      cycles += prices_.at(statement).cost(loops, warm).cycles;
      if (--left == 0) break;
    }
    add_touched(statement, placed, loops, warm);
  }
  return cycles;
}

// Iterations of those among the first loops of `placed` that the statement has.
double PlacedCosts::iterations(const std::string& statement, const Placed& placed,
                               std::size_t first) const {
  const auto& loops = loops_.at(statement);
  const Placed outer(placed.begin(), placed.begin() + static_cast<std::ptrdiff_t>(first));
  const auto own = std::ranges::count_if(
      outer, [&](const PlacedLoop& p) { return std::ranges::find(loops, p.loop) != loops.end(); });
  const StatementPrice::Loops counts = counted(statement, placed);
  double iterations = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(own); ++i)
    iterations *= std::max(1.0, counts[i].trips);
  return iterations;
}

double PlacedCosts::longest(const OrderBand& band, const OrderLoop& loop) const {
  double longest = 1;
  for (const std::string& statement : statements_below(band.child))
    longest = std::max(longest, prices_.at(statement).extent(row_of(statement, &loop)));
  return longest;
}

bool PlacedCosts::is_chain(const OrderLoop& loop) const {
  return std::ranges::any_of(loop.rows, [&](const auto& row) {
    return prices_.at(row.first).is_chain(row_of(row.first, &loop));
  });
}

std::optional<LaneLayouts> PlacedCosts::layouts_for_lanes(const OrderLoop& loop) const {
  if (is_chain(loop)) return std::nullopt;
  LaneLayouts all;
  for (const auto& [statement, row] : loop.rows) {
    const auto own = prices_.at(statement).layouts_for_lanes(row_of(statement, &loop));
    if (!own) return std::nullopt;
    for (const auto& [buffer, layout] : *own)
      if (all.try_emplace(buffer, layout).first->second != layout) return std::nullopt;
  }
  std::erase_if(all, [&](const auto& entry) {  // those that lie so already
    return entry.second == LaneLayout{program_.buffer(entry.first).shape.size() - 1, 1};
  });
  return all;
}

// Rows that are combinations of the statement's other rows: such a loop has one iteration.
// RowSpan's add() says whether a row is new to the span of the others.
void PlacedCosts::find_told() {
  for (const auto& [statement, loops] : loops_)
    for (const OrderLoop* loop : loops) {
      RowSpan others(program_.statement(statement).iterators);
      for (const OrderLoop* other : loops)
        if (other != loop) others.add(other->rows.at(statement));
      if (!others.add(loop->rows.at(statement))) told_.emplace(statement, loop);
    }
}

}  // namespace polyte::poly
