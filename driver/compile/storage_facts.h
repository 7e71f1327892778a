// What may share memory, proved from accesses and not from names of operators: which Programs only
// copy runs of bytes, and which results of a kernel may lie over which of its operands.
//
//   w[n, c, h, w] = f1[n, c, h, w]            32 channels: f1 is bytes [0, 4*32*H*W) of w
//   w[n, c + 32, h, w] = f2[n, c, h, w]       as long as n has one value
//   y[m, n] = max(x[m, n] + b[n], 0)          y may lie over x
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "schedule/state/state.h"

namespace polyte::driver {

// Bytes of one interface buffer that another one takes over; positions in Program::interface().
struct CopiedRun {
  std::size_t from = 0, to = 0;
  std::int64_t from_offset = 0, to_offset = 0, bytes = 0;
};

// The runs that make up every byte of every result, if copying them is all that the Program does.
std::optional<std::vector<CopiedRun>> copied_runs(const ir::Program& program);

// Pairs (result, operand) of interface positions, of one type: one statement writes the result,
// each element once, and reads of the operand nothing but the element at the same place; no other
// statement reads it. One result per kernel at most has pairs, so that no other result's reads come
// after its writes.
std::vector<std::pair<std::size_t, std::size_t>> in_place_pairs(const schedule::State& state);

}  // namespace polyte::driver
