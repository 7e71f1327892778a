// Copies from the device's memory to shared memory that no thread waits for before the barrier
// (cp.async): a thread begins one after the other, where a load into a register would have to come
// first. Where they are begun some iterations before they are read, as `pipeline` has it, they go
// on while threads compute.
//
//   for k { thread e { x.c[(k + 2) % 3] = x };   for k { thread e { async x.c[(k + 2) % 3] = x };
//           thread t { acc += x.c[k % 3] * .. };         commit copies;
//           barrier }                       ->           thread t { .. };
//                                                        await copies but 1;  barrier }
//
// A group of copies is what a thread begins between two commits: what stands side by side, with
// loops and conditions around it. How many groups may be under way at a barrier follows from the
// conflicts that it stands for: the fewest commits between a copy and the barrier before its first
// reader, over all pairs of instances that meet in one place. Each thread waits for its own copies,
// then all threads meet. A wait goes where each of its pairs has another one on its way that is
// enough, and waits for no more than what is left to it.
//
// Internal to place_barriers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lower/conflicts.h"

namespace polyte::lower {

struct AsyncCopies {
  std::set<std::string> buffers;  // that are filled so, by every store to them
  std::set<Gap> commits;          // of a sequence, also behind its last child
  std::map<Gap, int> waits;       // at barriers: how many groups may be under way

  ir::Stmt begun(const ir::Stmt& region) const;  // its stores to the buffers, async
};

// `places`: of barriers, `of_block` those of them where all threads meet. What cannot be shown to
// be waited for stays as it is.
AsyncCopies async_copies(const BlockTree& tree, const ir::LoopProgram& program,
                         const std::vector<Conflict>& conflicts, const std::set<Gap>& places,
                         const std::set<Gap>& of_block, ConflictFinder& finder);

}  // namespace polyte::lower
