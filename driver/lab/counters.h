// What the processor counts while code runs: instructions, cycles, and lines that came from beyond
// the last cache, of this thread's user code (Linux: perf_event_open). Many machines, virtual ones
// above all, have no such counters; then `problem` says why, and reports show the model's figures,
// which are named so.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace polyte::lab {

class Counters {
 public:
  Counters();
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  const std::string& problem() const { return problem_; }  // empty: they count
  // Of one execution, the mean of so many: "instructions", "cycles", "cache_misses"; those
  // that this machine has.
  std::map<std::string, double> count(const std::function<void()>& f, std::int64_t executions);

 private:
  std::map<std::string, int> events_;  // open files
  std::string problem_;
};

}  // namespace polyte::lab
