// How the lanes of a warp meet memory: which loop neighbouring threads had better run along.
// Memory moves in sectors of 32 bytes; a warp that reads 32 neighbours of 4 bytes takes 4 of them,
// one that strides 32.
// Source: NVIDIA, "CUDA C++ Best Practices Guide", coalesced access to global memory.
#pragma once

#include <string>

#include "ir/program.h"

namespace polyte::schedule {

constexpr std::int64_t kSectorBytes = 32;

// Sectors that one instance of the statement in each of 32 lanes touches, where neighbouring lanes
// are neighbouring iterations of the loop; loops longer than that. Gathers take one for each lane.
double sectors_a_warp(const ir::Program& program, const ir::Statement& statement,
                      const std::string& loop, std::int64_t extent);
double sectors_a_warp(const ir::Program& program, const ir::Load& load, const std::string& loop,
                      std::int64_t extent);

}  // namespace polyte::schedule
