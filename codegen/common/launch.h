// Launch: what a loop of blocks asks of the device, found before anything is emitted.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::codegen {

inline constexpr std::int64_t kSharedAlignment = 128;

// A loop of blocks. A grid is a box: bounds that depend on a loop of blocks outside are those of
// all its iterations here, and the blocks too many do nothing.
struct Axis {
  std::string var;
  std::vector<ir::Affine> lower, upper;  // maximum and minimum of these
};

struct Launch {
  std::vector<Axis> axes;            // outermost first: z, y, x
  std::vector<ir::Constraint> runs;  // of the blocks' numbers: the block has something to do
  ir::Stmt body;                     // inside them
  std::int64_t threads = 1;          // of a block: as many as its loops of threads number
  std::int64_t shared_bytes = 0;     // of a block
  // What offsets count from: where it has to be more, the block begins at the next such multiple.
  std::int64_t shared_alignment = kSharedAlignment;
  // Of buffers in shared memory.
  std::map<std::string, std::int64_t> offsets;
  std::set<std::string> buffers;  // that are used and not allocated inside
};

// UserError naming the loop where the grid or the number of threads is not known.
// `params`: what is known of the program's.
Launch describe_launch(const ir::For& outermost, const ir::LoopProgram& program,
                       const ir::Ranges& params = {});

// A loop of threads, warps or lanes, or an instruction of a warp.
bool has_threads(const ir::Stmt& s);

}  // namespace polyte::codegen
