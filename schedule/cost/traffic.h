// Bytes that the caches of a nest exchange, by footprints: what the loops from some depth inwards
// touch fits in a cache or does not, and what fits is fetched once for each iteration of the loops
// outside that it moves with.
//
//   for j.o, i.o { tile 14 x 32 over all k }    B[k, j] waits in L2 while i.o runs; A[i, k] streams
//                                               once per j.o
//
//   for k.o, m.o.o, j.o, m.o.i { tile 6 x 8 over 240 k }    the rows of a block of m wait in L2
//   while
//                                                           j.o and m.o.i run
//
//   for q.o, h { tile 16 pixels, taps r, s }    rows h + r of x: of three, two are there from the h
//                                               before
//
// Prices orders of loops and sizes of blocks; capacity by three quarters of a cache.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "schedule/cost/nest_accesses.h"
#include "support/machine.h"

namespace polyte::schedule {

constexpr double kUsableShare = 0.75;  // of a cache; the rest is others' and badly placed lines

struct TileLoops {                   // a proposal
  std::vector<std::int64_t> points;  // of each loop inside the tile
  // Of the loops around it, outermost first, by number; one of them may come twice: over blocks of
  // its tiles, and over the tiles of a block.
  std::vector<std::size_t> order;
  std::set<std::string> packed;  // buffers whose elements lie in the order of their use
  bool blocked = false;          // a reduction is among the loops around
  std::int64_t block_tiles = 0;  // of the loop that comes twice
};

// At which data of this size is read again, from the nearest cache beyond the first that holds
// it, or from memory.
double bytes_per_cycle(double bytes, const Machine& machine);

// Cycles that each boundary between caches is busy, nearest first: L1-L2, L2-L3, L3-memory. What a
// cache holds is in it already: nothing comes from beyond.
std::vector<double> traffic_cycles(const NestAccesses& nest, const TileLoops& tile,
                                   const Machine& machine);

// Cycles in which all data comes once from where another core or an earlier kernel left it: at the
// rate of memory.
double cycles_to_arrive(const NestAccesses& nest, const Machine& machine);

// Cycles that tiles wait for sums which left the registers between blocks of a reduction: each of
// their rows is a line elsewhere, which no prefetcher of the processor has seen coming.
double cycles_of_returns(const NestAccesses& nest, const TileLoops& tile, const Machine& machine);

}  // namespace polyte::schedule
