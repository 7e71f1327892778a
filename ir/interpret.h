// Interpreters: the slow, obvious references. They share no code with lower, codegen or isl.
// interpret(Program) executes the reference order on plain integers; interpret(LoopProgram)
// executes the loops in any form and checks bounds, initialisation and races. Both follow the
// arithmetic of expr.h.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/loop_program.h"
#include "ir/program.h"

namespace polyte::ir {

// Contents of one buffer: row-major, each element as wide as its type in memory.
struct Contents {
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;  // size_in_bytes(dtype) per element
};
using Environment = std::map<std::string, Contents>;

// One execution of a statement instance, in order, for traces and replays. Vector stores execute
// several at once: all lanes read, then all write. A copy of staged storage has an empty statement
// (and loops only have those).
struct Event {
  const std::string* statement = nullptr;
  std::vector<std::int64_t> instance;  // reference iterators; of lane 0
  // Change of each from lane to lane; empty: one lane, or not even.
  std::vector<std::int64_t> strides;
  int lanes = 1;           // that run
  bool is_vector = false;  // of those of a vector
  struct Cell {
    std::string buffer;
    std::vector<std::int64_t> index;
    bool write = false;
    double value = 0;           // as read or written, converted
    int lane = -1;              // -1: of all lanes
    std::int64_t position = 0;  // row-major, of the index
    bool combined = false;      // of a Program: the update's own read of what it writes
  };
  // Reads in order of appearance, a run-time guard's first, then writes.
  std::vector<Cell> cells = {};
  std::vector<std::vector<std::int64_t>> of_lanes = {};  // instances, where these are not even
};

struct InterpretOptions {
  Values sizes;                                // every parameter
  std::function<void(const Event&)> on_event;  // may be empty; costs time
  std::int64_t max_steps = 0;                  // 0: no limit; else UserError(ResourceLimit) beyond
  bool check_races = true;                     // LoopProgram: parallel and vector loops
};

// Runs on `buffers`: must hold every In, Const and InOut buffer (checked: type and shape; loops may
// see a view of it, ir/views.h); Out (and Temp) are created. Reading an element
// never written is UserError(InvalidInput), naming statement, instance and element; loops may copy
// it, and compute a vector of registers of it, until something else reads that.
void interpret(const Program& program, Environment& buffers, const InterpretOptions& options);
void interpret(const LoopProgram& program, Environment& buffers, const InterpretOptions& options);

Contents make_contents(DType dtype, std::vector<std::int64_t> shape);  // zeros
double get_real(const Contents& contents, std::int64_t position);
void set_real(Contents& contents, std::int64_t position, double value);  // rounds as Cast does

}  // namespace polyte::ir
