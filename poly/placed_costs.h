// What the statements of an order cost in loops as a nest would place them: each by its price
// (poly/order_price.h), warm with what statements before it have read.
//
//   costs.cost_of("acc.update", {{&m, 64}, {&k}, {&m}})   over tiles of 64 of m, then k, then m
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "poly/order_price.h"
#include "poly/order_tree.h"

namespace polyte::poly {

// A loop of a nest: over single values, or over tiles of so many.
struct PlacedLoop {
  const OrderLoop* loop = nullptr;
  double tile = 0;  // 0: single values
  // Inside of all other loops of a statement, those that are not placed among them; where they say
  // which iteration of it the statement is in, it stays here.
  bool is_sunk = false;
};
using Placed = std::vector<PlacedLoop>;

// By statement, over the loops of one tree. Keeps all of its arguments by reference.
class PlacedCosts {
 public:
  // `keep_order`: terms of sums stay in theirs.
  PlacedCosts(const ir::Program& program, const OrderTree& tree, const Machine& machine,
              bool keep_order, const LaneLayouts& layouts = {});

  // Outermost first.
  const std::vector<const OrderLoop*>& loops_of(const std::string& statement) const {
    return loops_.at(statement);
  }
  StatementPrice::Cost cost_of(const std::string& statement, const Placed& placed) const;
  // Of all statements of a band in these loops; where they have more below, these as they are.
  double cycles_of(const OrderBand& band, const Placed& placed) const;

  // Of a loop of the statement: how many values it has, and the one in their middle.
  double extent(const std::string& statement, const OrderLoop& loop) const {
    return prices_.at(statement).extent(row_of(statement, &loop));
  }
  double middle(const std::string& statement, const OrderLoop& loop) const {
    return prices_.at(statement).middle(row_of(statement, &loop));
  }
  // Of a statement in the `first` loops that are placed, in all.
  double iterations(const std::string& statement, const Placed& placed, std::size_t first) const;
  // The longest that a loop is for a statement of its band.
  double longest(const OrderBand& band, const OrderLoop& loop) const;
  // Whether the loop adds up terms of one element of the statement.
  bool is_of_sum(const std::string& statement, const OrderLoop& loop) const {
    return prices_.at(statement).is_of_sum(row_of(statement, &loop));
  }
  // Whether an iteration of the loop waits for the one before it, in any of its statements.
  bool is_chain(const OrderLoop& loop) const;
  // With which lanes along the loop lie side by side in all that its statements stride over.
  std::optional<LaneLayouts> layouts_for_lanes(const OrderLoop& loop) const;
  // Whether the other loops of a statement say which iteration of this one it is in.
  bool is_told_by_others(const std::string& statement, const OrderLoop& loop) const {
    return told_.contains({statement, &loop});
  }

 private:
  const ir::Program& program_;
  std::vector<std::string> statements_;                         // in the order of the tree
  std::map<std::string, std::vector<ir::Affine>> rows_;         // by statement, outermost first
  std::map<std::string, std::vector<const OrderLoop*>> loops_;  // the same
  std::map<std::string, StatementPrice> prices_;
  std::set<std::pair<std::string, const OrderLoop*>> told_;

  void collect_rows(const OrderTree& tree);
  void find_told();
  bool is_sunk(const std::string& statement, const PlacedLoop& placed) const {
    return placed.is_sunk && !is_told_by_others(statement, *placed.loop);
  }
  // The number of a loop among the rows of a statement.
  std::size_t row_of(const std::string& statement, const OrderLoop* loop) const;
  // The loops of a statement, outermost first: those that are placed, then the rest of its own
  // as they are.
  std::vector<PlacedRow> rows_at(const std::string& statement, const Placed& placed) const;
  StatementPrice::Loops counted(const std::string& statement, const Placed& placed) const;
  // Adds what a statement touches in one iteration of the loops that it shares with those after it:
  // all but the last of an innermost band, of different nests those around.
  void add_touched(const std::string& statement, const Placed& placed,
                   const StatementPrice::Loops& loops, StatementPrice::References& warm) const;
};

}  // namespace polyte::poly
