// What a GPU's warps do and what their accesses cost in memory, told from the loops alone: every
// affine subscript is evaluated for the 32 threads of a warp.
//
//   for (const MemoryAccess& a : launches_of(loops, {}, Extent::Representative).at(0).accesses) ...
//   // {"acc.update", "x.c", read, shared, 4 bytes, 2.0 wavefronts per request, ideal 1}
//
// Shared memory: 32 banks of 4 bytes; threads that read one word share it, different words of one
// bank take turns, a wavefront each; of 8 (16) bytes per thread the halves (quarters) of a warp
// come one after the other. Global memory: sectors of 32 bytes, where buffers begin at a sector.
// The emulator counts the same from addresses (runtime/access_counter.h), and knows nothing
// of this.
//
// A load that repeats an earlier one of the same thread, with no store in between, is not
// counted, and of several stores to one place with no read in between only the last is: so LLVM
// compiles them. Conditions on data are taken to hold; an access whose subscript is read is not
// `known`, its cost is 0.
#pragma once

#include <string>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::ir {

// Of all accesses of one statement to one buffer, reads or writes, in one launch.
struct MemoryAccess {
  std::string statement, buffer;  // of a copy the statement is the buffer that it fills
  bool write = false, shared = false, known = true;
  std::int64_t bytes = 0;     // of a thread, the most
  std::int64_t requests = 0;  // of warps
  std::int64_t cost = 0;      // wavefronts of shared memory, sectors of global memory
  // A wavefront for each half or quarter at work; as few sectors as the bytes could lie in.
  std::int64_t ideal = 0;
};

// All: every iteration of every block. Representative: the first block, two iterations of the
// loops around loops of threads, 64 of those inside; where a loop of the host or of blocks runs,
// its first.
enum class Extent { All, Representative };

// All that the warps of a loop of blocks do, each time that the host launches it. Iterations that
// Representative leaves out are taken to be like those that it walks.
struct LaunchWork {
  double launches = 0;
  double blocks = 0;        // of all launches, as is what follows
  double instructions = 0;  // of arithmetic, outside of tensor cores,
  // And those of them that wait for one another: of a tile of 64 sums one in 64.
  double chained = 0;
  double products = 0;      // multiply-adds of tensor cores; of so many bits as 16 go in that time
  double requests = 0;      // of warps to memory,
  double far_requests = 0;  // those of them to global memory for which a thread waits
  double wavefronts = 0;    // of shared memory
  // Of global memory; an access whose subscript is read takes one per thread.
  double sectors = 0;
};

struct WalkedLaunch {
  std::vector<MemoryAccess> accesses;
  LaunchWork work;
};

// For Flat loops of a GPU; one per loop of blocks that no other one contains, in program order.
// `sizes` gives every parameter.
std::vector<WalkedLaunch> launches_of(const LoopProgram& program, const Values& sizes,
                                      Extent extent);

}  // namespace polyte::ir
