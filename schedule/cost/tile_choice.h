// The register tile of one nest by cost: which loop carries the lanes, which is unrolled into
// rows, how large, in which order the loops around it run, what is packed in panels, whether the
// reduction is blocked.
// Every pair of loops is priced by what one step of the tile issues (FMAs, loads by how the lanes
// meet memory, stores at the end), the best pairs also by what the caches exchange in each order
// (schedule/cost/traffic.h). The resources work at the same time, so the busiest counts, and a
// little of the others.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/tile_model.h"
#include "schedule/state/nest_tree.h"
#include "support/machine.h"

namespace polyte::schedule {

// Vectors side by side that a definition fills of its own: it has no value to keep for others.
constexpr int kVectorsAPoint = 4;

// What a template leaves open: the loops that its tile may have, their sizes, and the order around
// the tile, which is its own.
struct TileForm {
  // Outermost first: lane, row, block, lane_blocks over blocks of the lanes' tiles, and the free
  // loops: all, or by the operands that they move, lane_free, row_free, batch for both. A second
  // row loop is one of them.
  std::vector<std::string> order;
  // Lane, row, outer_row may be there; block and turn are.
  std::set<std::string> loops;
  // Lane, row, outer_row -> the loop it has to be; empty: none.
  std::map<std::string, std::string> fixed;
  bool packs = true;                                      // operands may lie in panels
  std::set<std::int64_t> rows, outer_rows, lanes, block;  // sizes in elements; empty: any

  bool has(const char* loop) const { return loops.contains(loop); }
  bool has_lane_blocks() const { return std::ranges::find(order, "lane_blocks") != order.end(); }
};

struct TileQuestion {
  const ir::Program* program = nullptr;
  const ir::Statement* main = nullptr;            // the reduction, or the definition
  std::vector<const ir::Statement*> others = {};  // initial values and epilogue at its points
  std::vector<PricedLoop> loops = {};             // of main
  std::vector<std::string> candidates = {};       // may carry lanes or rows
  // Lanes of reductions whose operands can be transposed in registers, a vector without rows.
  std::vector<std::string> turned = {};
  std::vector<std::string> fixed_order = {};  // free loops that stay outermost, in this order
  // That a tile leaves of its rows, else of its lanes, where there are so many.
  int parts = 1;
  const TileForm* form = nullptr;  // of a template; null: anything
};

struct TileChoice {
  std::string lane = {}, row = {}, outer_row = {};  // empty: none
  RegisterTile tile = {};
  // Steps of the innermost reduction loop that are unrolled: with the lanes they are squares of
  // what strides along these, transposed in registers. 0: none.
  int turned = 0;
  // The loops around, outermost first: h, f.o of the lane, row or blocked loop; f.o.o and f.o.i of
  // `in_blocks`.
  std::vector<PlannedLoop> order = {};
  // The lane or row loop whose tiles come in blocks, so many, which stay in the second cache;
  // empty: none.
  std::string in_blocks = {};
  std::int64_t block_tiles = 0;
  std::set<std::string> packed = {};    // buffers that want panels
  std::set<std::string> in_place = {};  // guarded reads that are not worth a padded copy
  std::string block = {};               // the reduction loop that is split; empty: none
  std::int64_t block_size = 0;
  // Blocks of steps outside of the lanes' tiles, and no other loop around has several iterations.
  bool goes_by_lines = false;
  std::set<std::string> written_out = {};  // reduction loops of few steps (short_steps.h)
  // Inputs fetched ahead of the tile: at a loop around, so many iterations of that or another
  // one before.
  struct Ahead {
    std::string operand, at, along;
    std::int64_t distance = 1;
  };
  std::vector<Ahead> ahead = {};
  // Predicted, for the whole nest, and no less than its data takes to arrive; below 0: no tile has
  // the form that was asked for.
  double cycles = 0;
};

// So few steps that they are written one after the other.
bool is_short_block(const TileChoice& choice);

// Blocks of a reduction are a loop outside that of the lanes: so that threads share lanes all the
// same, these are cut in a part for each before. 0: no need.
std::int64_t lanes_a_thread(const TileChoice& choice, std::int64_t extent, std::int64_t lanes,
                            int threads);

TileChoice choose_tile(const TileQuestion& question, const Machine& machine);

}  // namespace polyte::schedule
