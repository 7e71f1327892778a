// Where the values of a network lie: which of them share bytes, which steps need not run, and where
// the rest of the arena goes. Rests on two kinds of facts, which the caller has proved: that a step
// only copies runs of bytes, and that it reads each element of an operand for nothing but the same
// element of a result.
//
//   0  conv    writes f1                     f1 and f2 are written to where they lie in w,
//   1  conv    writes f2
//   2  concat  w[0..n) = f1, w[n..2n) = f2   so nothing is left to copy;
//   3  relu    reads w, writes y             y lies over w, whose last reader this is
//
// check_storage replays a plan on a memory of labels: every reader finds what the network's
// text says, whatever the planner thought. Positions in `values` name values, positions in
// `steps` steps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace polyte::runtime {

enum class Home {
  Arena,
  // Memory that is there before the first step and that no step writes: an input, a constant.
  Given,
  Output  // the caller's memory for a result, read after the last step
};

struct StoredValue {
  std::int64_t bytes = 0;
  Home home = Home::Arena;
};

struct Copy {
  int from = 0;
  std::int64_t from_offset = 0;
  int to = 0;
  std::int64_t to_offset = 0;
  std::int64_t bytes = 0;
};

struct StorageStep {
  // `result` may lie over `operand`: as many bytes, and no other read of them comes after
  // the write.
  struct InPlace {
    int result, operand;
  };
  std::vector<int> reads, writes;
  // If any: all that the step does, each byte of its results once.
  std::vector<Copy> copies = {};
  std::vector<InPlace> in_place = {};  // of steps that compute
};

struct StoragePlan {
  struct Place {
    int inside = -1;          // the value, not of the arena, in whose memory it lies; -1: the arena
    std::int64_t offset = 0;  // a multiple of 64 in the arena, unless the value shares its place
  };
  struct Share {
    enum class Kind { Own, View, Part, InPlace } kind = Kind::Own;  // a view of, a part of, or over
    int of = -1;                                                    // that value
  };
  struct Left {
    bool runs = true;            // as it is
    std::vector<Copy> copies{};  // else: all that is left of it
  };
  std::vector<Place> places;  // one per value
  std::vector<Share> shares;  // one per value, for reports
  std::vector<Left> steps;
  std::int64_t arena_bytes = 0;
};

// Nothing; views and parts; results over operands as well.
enum class SharingLevel { None, Copies, All };

StoragePlan plan_storage(std::span<const StoredValue> values, std::span<const StorageStep> steps,
                         SharingLevel level = SharingLevel::All);

// Every read that would find other bytes than the value's own, and every write to where none
// may; empty if sound.
std::vector<std::string> check_storage(std::span<const StoredValue> values,
                                       std::span<const StorageStep> steps, const StoragePlan& plan);

}  // namespace polyte::runtime
