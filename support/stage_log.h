// How long the stages of a compilation take: what --time-passes prints. The one place that times
// them.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace polyte {

struct StageTime {
  std::string stage;  // "schedule", "vectorize loops"
  double milliseconds = 0;
};

// Milliseconds of real time that `f` took.
template <class F>
double milliseconds_of(F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// Runs stages, in the order in which they are listed in `times`.
class StageLog {
 public:
  explicit StageLog(std::vector<StageTime>& times) : times_(times) {}
  template <class F>
  void run(std::string stage, F f) {
    const double milliseconds = milliseconds_of(std::move(f));
    times_.push_back({std::move(stage), milliseconds});
  }

 private:
  std::vector<StageTime>& times_;
};

}  // namespace polyte
