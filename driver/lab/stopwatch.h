// Times executions of one contender under a state of the caches.
#pragma once

#include <cstdint>
#include <vector>

#include "driver/lab/contender.h"

namespace polyte::lab {

class Stopwatch {
 public:
  // Makes tensors of its own, one set or, for Caches::Rotated, several that take turns, and binds
  // the contender to them. Where the Program updates a tensor in place, every execution begins with
  // what it held at first, put back outside of the time.
  // `cache`: bytes of the last cache of what executes them.
  Stopwatch(Contender& contender, const Interface& interface, const std::string& fill,
            Caches caches, std::int64_t cache = last_cache());
  static std::int64_t last_cache();  // of this processor

  // Executions that fill about `milliseconds`, after at least one that warms up.
  std::int64_t calibrate(double milliseconds);
  double nanoseconds(std::int64_t executions);  // an execution, the mean of so many

  std::size_t sets() const { return sets_.size(); }
  bool is_single() const { return single_; }  // each execution is timed by itself

 private:
  Contender& contender_;
  std::vector<std::vector<runtime::Tensor>> sets_;
  std::vector<std::size_t> in_place_;    // tensors that are put back
  std::vector<runtime::Tensor> before_;  // what they held
  bool cold_, single_;
  std::int64_t evicted_;  // bytes before each execution; 0: none
  std::size_t next_ = 0;

  std::size_t turn() { return next_ = (next_ + 1) % sets_.size(); }
  void prepare(std::size_t set);
};

}  // namespace polyte::lab
