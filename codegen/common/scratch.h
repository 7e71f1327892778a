// ScratchLayout: where the temporaries of a kernel live. A Heap buffer outside every parallel loop
// gets a place in the shared part; below a parallel loop, a place in the slice of its worker:
//
//   scratch -> [ shared part ][ slice of worker 0 ][ slice of worker 1 ] ...
//
// Buffers whose lifetimes do not overlap share bytes (the tree gives lifetimes: siblings
// may overlay).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/loop_program.h"

namespace polyte::codegen {

inline constexpr std::int64_t kScratchAlignment = 64;
inline constexpr std::int64_t kStackLimit = 16 * 1024;

struct ScratchLayout {
  std::int64_t shared_bytes = 0;
  std::int64_t bytes_per_worker = 0;
  std::int64_t stack_bytes = 0;                 // of Stack buffers, all together
  std::map<std::string, std::int64_t> offsets;  // of each Heap buffer, in its part

  std::int64_t total_bytes(int workers) const { return shared_bytes + workers * bytes_per_worker; }
};

// UserError(ResourceLimit) where Stack buffers exceed kStackLimit.
ScratchLayout plan_scratch(const ir::LoopProgram& program);

}  // namespace polyte::codegen
