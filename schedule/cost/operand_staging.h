// Which operands of a tiled reduction want a copy of their own, and the stages that make it: a
// padded copy of a guarded input, panels of a packed operand. Mechanism and formula shared by the
// templates and by poly.
//
//   w[k, n], lane n, Nr = 32      stage w layout (k, n) [n//Nr, k, n%Nr] when compile
//   x[c, h+r, w+s] else 0         stage x, or stage x at acc.update:c where c is the outermost loop
//   B[b, k, n], loops b > n.o     stage B at C.update:b layout (b, k, n) [n//Nr, b, k, n%Nr]
//
//   D[k, i] * D[k, j], written before     stage S: D[k, j] layout (k, j) [j//Nr, k, j%Nr], and
//                                         D[k, i]; or stage S: D for both, where that is as good
//
// A copy for the whole kernel is a nest of its own, whose loops threads share where that
// pays: parallel w.in:n.o. What a panel holds across, B[n, k] for lanes n, is copied in squares of
// lanes, which are transposed in registers: split B.in: k by L, unroll B.in:k.i
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/state/nest_plan.h"
#include "support/machine.h"

namespace polyte::schedule {

struct TiledReduction {
  const ir::Program* program = nullptr;
  const Machine* machine = nullptr;
  const ir::Statement* update = nullptr;
  struct Side {
    std::string loop;         // an iterator; empty: none
    TileSize size;            // of the tile
    std::int64_t panels = 0;  // tiles of it
  };
  Side lane, row;
  std::set<std::string> packed;    // buffers that want panels
  std::set<std::string> in_place;  // guarded reads that stay as they are
  std::vector<PlannedLoop> order;  // the loops around the tile, outermost first
  std::string threads;             // the one of them that threads share; empty: none
};

// False where the update itself reads its elements, a statement of the nest is at others of them,
// or a subscript divides or leaves out elements of a result (8*i + j, j in 0..6); where the Program
// writes them at some iterations only, known when it runs, or at subscripts read from memory; and
// for the whole kernel where another nest writes them or they are read with a guard.
bool can_stage_accumulator(const ir::Program& program, const ir::Statement& update,
                           std::span<const ir::Statement* const> nest, bool for_whole_kernel);

// Whether a copy in panels of the lanes, else of the rows, is possible: each subscript an iterator
// of its own or a number, no border; and of use, since a step of the reduction moves. Of a result,
// which no statement of the nest may write, that read alone is copied, with an iterator each.
bool can_pack(const ir::Program& program, const ir::Statement& update, const ir::Load& load,
              const std::string& lane, const std::string& row);

// The loop along which the elements of a packed operand lie side by side where its panels hold
// them across, `side` along the panel: a copy in squares of both takes a third of the instructions.
// Empty: they lie alike, there is not one vector of them, or they are of another type than the
// tile, whose vectors the squares are of.
std::string square_loop(const ir::Program& program, const ir::Statement& update,
                        const Machine& machine, const ir::Load& load, const std::string& side);

// A guarded read whose guards each bound one subscript, a constant outside: a copy of the box
// stands for it (a stride's remainder, of a transposed convolution, asks for holes inside).
bool has_border(const ir::Load& load);

// In order of the operands' appearance. `whole`: what nests before this one staged for the whole
// kernel, which serves every reader; what this one stages so is added.
std::vector<PlannedStage> operand_stages(const TiledReduction& reduction,
                                         std::set<std::string>& whole);

}  // namespace polyte::schedule
