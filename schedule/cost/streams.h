// How a nest walks through memory. A tile touches runs of neighbours; the loops around it,
// innermost first, go on where a run ends, or begin elsewhere:
//
//   i > j > k.o > tile of 32 k            x[i, j, k]: one stream, from end to end
//   i > j.o > k.o > tile of 3 j, 32 k     three streams, each as long as a row; then three others
//   i > c.o > j > tile of 32 c            x[i, j, c], 63 c: streams of 32, then the next row's
//
// What prefetchers follow comes as fast as memory delivers; where a stream begins, the first lines
// are waited for. Measured on Zen 3: rows of 1 KiB from memory, two or three at a time, take twice
// as long as one stream; from a nearer cache 10 cycles each; rows of 4 KiB nothing. Rows that lie
// together within 768 bytes are one stream.
#pragma once

#include <cstdint>

#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/traffic.h"
#include "support/machine.h"

namespace polyte::schedule {

// What a prefetcher takes for one stream, in bytes. Results are written on at several places in
// turns: eight blocks of channels of an image, measured on Zen 5, cost nothing; rows 3.5 KiB apart,
// each on a page of its own, 175 cycles each.
struct StreamReach {
  std::int64_t together = 768;  // rows within
  std::int64_t gap = 32;        // what is left out between neighbours
  double at_once = 0;           // streams that take turns and go on
};
constexpr StreamReach kOfReads, kOfResults{kPageBytes, 256, 16};

struct Streams {
  std::int64_t bytes = 0;  // of each
  double starts = 1;       // how often one begins, in the whole nest
};

// `followed`: there are few enough at a time that prefetchers follow them all; else each run of a
// tile begins one.
Streams streams_of(const NestAccess& access, const NestAccesses& nest, const TileLoops& tile,
                   bool followed = true, const StreamReach& reach = kOfReads);

// To begin so many, where the nest touches so many bytes.
double start_cycles(const Streams& streams, double bytes, const Machine& machine);

}  // namespace polyte::schedule
