// Random contents of a Program's interface.
#pragma once

#include <cstdint>

#include "ir/interpret.h"
#include "ir/program.h"

namespace polyte::fuzz {

// Integers of full width now and then, whole numbers in -4..4 otherwise, with zeros of both signs;
// what subscripts a tensor stays within its extent. Nothing for what is only written.
ir::Environment random_environment(const ir::Program& program, std::uint64_t seed);

}  // namespace polyte::fuzz
