// May a loop of a statement become vector lanes? What the lowering needs is that everything
// advances evenly along it; a scheduler asks here first, so that it takes another loop instead of
// one that would stay serial.
//
//   y[n, c, h, w] = x[n, c, h, w // 2]     w: no (a remainder), h: yes
//   y[i, j] = t[k[i, j], j]                j: yes, t lane by lane
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "support/machine.h"

namespace polyte::schedule {

// Elements from lane to lane: whole vectors are loaded and shuffled.
inline constexpr std::int64_t kNearLanes = 4;

// Every subscript and index value is linear in `loop`, no guard asks for its remainder. Border
// tests are fine: the loop is cut there. What is read at subscripts from memory (a gather) is read
// lane by lane. Vectors of a few lanes each that begin at a multiple of their number may also find
// all of their lanes in one place (iterations_in_place).
bool can_carry_lanes(const ir::Program& program, const ir::Statement& statement,
                     const std::string& loop, std::int64_t vector = 1);

// So many iterations, from a multiple of their number on, find an access in one place that the
// loop moves through divisions of its iterator alone: 16 of x[i//16]; 1: each has its own.
std::int64_t iterations_in_place(const std::vector<ir::Index>& indices, const std::string& loop);

// Iterations of the loop write side by side: the statement alone, or together with those that fill
// the places which it leaves out.
//
//   y[2*i] = ..      y[2*i + 1] = ..      i: with the other, whose vectors are shuffled into lines
bool fills_lines(const ir::Program& program, const ir::Statement& statement,
                 const std::string& loop, std::span<const ir::Statement* const> together);

// The loop along which what strides along `lane` is read element by element. With both in
// tiles of a vector the strided loads side by side read squares, which are loaded by rows and
// transposed in registers:
//
//   y[m, n] = x[n, m]      lane n: m        t[i] = sum[j] x[i, j]      lane i: j
//
// Empty: nothing strides, or one loop does not transpose all that does.
std::string turning_loop(const ir::Program& program, const ir::Statement& statement,
                         const std::string& lane);

// Rows and columns of such squares: a vector, or the power of two that holds a lane loop that is
// shorter. Lanes beyond it are masked off.
std::int64_t square_side(std::int64_t lane_extent, std::int64_t lanes);

// The loop along which the result lies where subscripts divide it by a few, so that lanes along it
// do not advance evenly: those of one phase do, and the phases' vectors fill lines together.
//
//   y[h, w] = x[h // 2, w // 2]      w: two phases, w = 2*w.o + w.i, lanes along w.o
struct LanePhases {
  std::string loop;
  std::int64_t count = 2;

  // Each phase has as many iterations as the others, and a vector of them or more.
  bool fill_vectors(std::int64_t extent, std::int64_t lanes) const {
    return extent % count == 0 && extent >= count * lanes;
  }
};
std::optional<LanePhases> lane_phases(const ir::Program& program, const ir::Statement& statement);

// Subscripts and values that divide the loop by more: in a block of so many iterations the quotient
// stands still and the remainder counts, so that lanes along the block advance evenly.
//
//   y[q] = x[q // 8] * f32(q % 8)      8: q = 8*q.o + q.i, lanes along q.i
//
// The size of such a block, half a vector of `lanes` to four of them; nullopt: none, or some
// statement does not have the loop.
std::optional<std::int64_t> lane_block(const ir::Program& program,
                                       std::span<const ir::Statement* const> statements,
                                       const std::string& loop, std::int64_t lanes);

// Of these two the loop whose squares come one after the other: more of what the statement reads
// and writes lies along it, and each line of memory is used up before the next.
//
//   y[m, n] = x[n, m] + z[m, n]      n: y and z lie along it, x alone along m
//
// Rows that a square finds in few sets of the first cache (4 KiB apart, or a multiple of 256 bytes)
// weigh more: lines that wait there for the next square drive each other out. Rows that are written
// most of all, for each line comes from memory before it is overwritten; past the caches, lines
// that follow each other go to one page of the memory. Measured on Zen 5: 1024 x 1024 numbers take
// 446 us across the rows of y and 234 us along them, past the caches 320 and 217 us.
std::string stepping_loop(const ir::Program& program, const ir::Statement& statement,
                          const std::string& lane, const std::string& turning, std::int64_t side,
                          const Machine& machine);

}  // namespace polyte::schedule
