// Loops that only move elements, at the speed of memory: how constants are packed at compile
// time. The result is that of interpret(LoopProgram); an innermost loop is one run, whose ends are
// checked instead of every element.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "ir/loop_program.h"

namespace polyte::ir {

// Serial, Flat, without parameters, and every store moves one element of its own type or writes
// a literal.
bool only_copies(const LoopProgram& program);

// Bytes of the interface buffers, row-major: those that are read, and the results, zeroed
// by the caller.
struct CopyMemory {
  std::map<std::string, std::span<const std::byte>> from;
  std::map<std::string, std::span<std::byte>> to;
};
// Of a program that only_copies(). UserError(InvalidInput) where an access leaves its buffer.
void run_copies(const LoopProgram& program, const CopyMemory& memory);

}  // namespace polyte::ir
