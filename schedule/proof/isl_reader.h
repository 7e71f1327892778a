// Schedules in isl's text, written by another tool or by hand, and not trusted: a union map, or
// a schedule tree (YAML). What cannot be read is a UserError that names the line and what was
// expected; isl itself says neither. Internal to schedule/proof.
#pragma once

#include "schedule/proof/isl_bridge.h"

namespace polyte::schedule {

// A band of a tree: its rows for the instances below it, and what the bands and sequences outside
// say of these.
struct IslBand {
  isl::union_map outside, rows;
  bool permutable = false;
  std::vector<bool> coincident;  // by member
  int line = 1;
};

// Children of a `set` node, which run in any order.
struct IslSet {
  isl::union_map outside;
  std::vector<isl::union_set> children;
  int line = 1;
};

struct IslText {
  // Instance -> time; of a tree flattened, shorter times filled up with zeros.
  isl::union_map times;
  bool is_tree = false;
  std::vector<IslBand> bands = {};
  std::vector<IslSet> sets = {};
};

// UserError(InvalidInput), also where it is deeper than such a text ever is; ResourceLimit beyond
// 1 MiB.
IslText read_isl_schedule(const IslContext& context, const std::string& text,
                          const std::string& origin);

// --- isl_tree_reader.cc

IslText read_isl_tree(const IslContext& context, const std::string& text,
                      const std::string& origin);

}  // namespace polyte::schedule
