// What a nest of a statement costs, in cycles of one core: the greater of issue slots with latency
// chains, and the lines that each level of the memory hands over. It knows loops, strides and
// footprints, no operator and no kernel. Orders are compared by it; the time itself is off by what
// a processor does beside.
//
// Footprints as in Bondhugula et al. and in PolyMage: the box of what the loops below touch, in
// cache lines; traffic of a level is the footprint of the largest sub-nest that it holds, once for
// each iteration of the loops outside.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "poly/lane_layout.h"
#include "poly/loop_extents.h"
#include "poly/price_rates.h"
#include "support/machine.h"

namespace polyte::poly {

// A loop around a statement: over the values of one of its rows, or over tiles of so many of them.
struct PlacedRow {
  std::size_t row = 0;
  double tile = 0;  // 0: single values, within a tile where one is further out
};

class StatementPrice {
  struct Reference;

 public:
  // `rows` of the statement, outermost first, over its iterators and the Program's sizes.
  // `may_reorder`: terms of a sum may change places.
  StatementPrice(const ir::Program& program, const ir::Statement& statement,
                 const std::vector<ir::Affine>& rows, const Machine& machine, bool may_reorder,
                 const LaneLayouts& layouts = {});

  double extent(std::size_t row) const { return extents_.extent(row); }
  double middle(std::size_t row) const { return extents_.middle(row); }

  // Whether an iteration of the row's loop, alone, needs what the one before it has made: by the
  // subscripts, so that it is a guess where these are not alike.
  bool is_chain(std::size_t row) const { return is_chain_[row]; }
  // Whether the row is an iterator of a sum whose terms may come in parts.
  bool is_of_sum(std::size_t row) const { return can_part_[row]; }
  // With which lanes along the row's loop lie side by side in all that they move in, buffers among
  // it that lie so already; nullopt where one layout of a buffer does not do.
  std::optional<LaneLayouts> layouts_for_lanes(std::size_t row) const;
  // Loops outermost first; the innermost as it is cheapest: one after the other, in vectors where
  // that is no chain, or of a sum into one cell in parts, as many as keep the adders busy, which
  // are added up at its end.
  enum class Inner { Serial, Vector, Parts };
  struct Cost {
    double cycles = 0;
    double serial = 0;  // the same with one iteration of the innermost loop after the other
    Inner inner = Inner::Serial;
    std::int64_t vectors = 1;  // per turn, of vectors
  };
  // Of prices that are longer there. Those with equal moves in each dimension are of the same
  // elements.
  using References = std::vector<const Reference*>;
  // A loop with its iterations, each time that those outside of it turn.
  struct Loop {
    std::size_t row = 0;
    double step = 1;             // of the row, an iteration
    double trips = 1, most = 1;  // on average, and where a triangle is widest
  };
  using Loops = std::vector<Loop>;
  Loops counted(const std::vector<PlacedRow>& placed) const;
  // `warm`: what statements before it have just read or written in the same iteration of the
  // loops around both; it comes from the second cache.
  Cost cost(Loops loops, const References& warm) const;
  Cost cost(const std::vector<PlacedRow>& placed) const { return cost(counted(placed), {}); }
  // What this one reads and writes in an iteration of the `shared` outermost loops, where that
  // cache holds it.
  References touched(const Loops& loops, std::size_t shared) const;

 private:
  struct Reference {
    std::string buffer;
    std::set<std::vector<std::int64_t>> places;  // constants of the subscripts: neighbours
    // For each dimension of the buffer, what a step of each row moves.
    std::vector<std::vector<double>> by_dimension;
    std::vector<double> extents;  // of the buffer
    std::vector<double> strides;  // elements that a step of each row moves
    double bytes = 4;             // of an element
    bool is_written = false, is_read = true;

    bool reads_as(const Reference& other) const {
      return buffer == other.buffer && by_dimension == other.by_dimension;
    }
  };

  const Machine& machine_;
  LoopExtents extents_;
  std::size_t rows_;
  std::vector<Reference> references_;
  // How far reads of the written buffer, alike but for constants, are from the write, by dimension.
  std::vector<std::vector<double>> distances_;
  Operations operations_;
  std::vector<bool> is_chain_;  // by row
  std::vector<bool> can_part_;  // by row: it counts terms of a sum, of one cell
  int lanes_ = 1;

  void add_distances(const ir::Statement& statement);
  bool waits_along(std::size_t row) const;
  void lay_out(Reference& reference, const LaneLayout& layout) const;
  void add_reference(const ir::Program& program, const ir::Access& access, bool is_written,
                     const std::vector<std::string>& iterators,
                     const std::vector<std::vector<double>>& inverse);
  void cut_last_tiles(Loops& loops) const;
  bool is_sum_in_memory(std::size_t row) const;
  std::int64_t vectors_a_turn(const Loops& loops) const;
  static bool is_loop(const Loop& loop);
  bool stores_elsewhere(const Loops& loops) const;
  double cycles_of_parts(const Loops& loops, bool is_in_tile) const;
  double issue_cycles(const Loops& loops, Inner inner) const;
  // Of the loops from one on; at most: as large as it ever is.
  double footprint(const Reference& reference, const Loops& loops, std::size_t from,
                   bool at_most) const;
  // Of the loops from each one on, at most; infinite where that is more than any cache holds.
  std::vector<double> footprints(const Loops& loops) const;
  static double new_share(const Reference& reference, const Loops& loops, std::size_t from,
                          const Loop& outside);
  double traffic(const Loops& loops, const std::vector<double>& footprints, double capacity,
                 const References& warm) const;
};

}  // namespace polyte::poly
