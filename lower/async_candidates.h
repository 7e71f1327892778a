// Buffers of a block that asynchronous copies could fill (lower/async_copies.h), by what is stored
// in them; when they land is not looked at.
#pragma once

#include <map>
#include <string>

#include "ir/loop_program.h"
#include "lower/block_tree.h"

namespace polyte::lower {

// Of the block, each store a load from the device's memory, or zero, and nothing else. What the
// launch also writes could be overwritten before it is read. The Allocs are the Program's.
std::map<std::string, const ir::Alloc*> async_candidates(const BlockTree& tree,
                                                         const ir::LoopProgram& program);

// A vector that is read whole and written apart: one load now, as many copies if they landed later.
// It is written apart where the buffer does not run along it, or moves its elements one by one.
bool is_scattered(const ir::Stmt& region, const ir::Alloc& alloc);

}  // namespace polyte::lower
