// Times of the accesses of one buffer, with IN before and OUT after everything. Times are compared
// only between accesses of one cell, so what the cell fixes is left out: the dimensions down to a
// buffer's scope, loops whose iteration follows from the cell, and what is the same constant for
// all. Flow over what remains is cheap.
#pragma once

#include "schedule/proof/isl_bridge.h"

namespace polyte::schedule {

class Clock {
 public:
  explicit Clock(const IslModel& model) : model_(model) {}

  // Instances of a statement that accesses the buffer -> time.
  isl::map of_statement(int statement, int buffer);
  // The virtual statement over `cells`: position -1 before everything, 1 after everything.
  isl::map of_virtual(const isl::set& cells, int buffer, int position);

 private:
  // By statement; one value per dimension that counts.
  using Times = std::map<int, std::vector<isl::aff>>;

  const IslModel& model_;
  std::map<int, Times> times_;  // by buffer

  const Times& times_of(int buffer);
  std::vector<isl::aff> full_time(int statement, int buffer, std::map<LoopId, bool>& fixed) const;
};

}  // namespace polyte::schedule
