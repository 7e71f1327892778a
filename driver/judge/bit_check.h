// The same bits on every execution path: each distinct kernel of a model under naive, template and
// poly, with one thread and with two, on small-integer data (so that sums are exact in any order),
// against each other and against the Program interpreter. A kernel with exp, log, tanh, erf,
// sigmoid, sin, cos or pow is compared with the interpreter within kApproximationUlp units in the
// last place instead, of the tensor's largest element too; between schedulers its bits are equal.
// Where a script's contract lets sums run in another order and their terms are no integers, results
// may differ by kReorderedUlp such units of the largest; with two threads they are still the bits
// of one. For a GPU the emulator runs each kernel in order and in a random order of its threads;
// one that stays on one thread is a fallback.
//
//   BitCheck check(detect_host(), {});
//   check.model(import_onnx("digits.onnx").graph);        // check.report().problems is empty
#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "graph/graph.h"
#include "graph/passes/choose_layouts.h"
#include "ir/program.h"

namespace polyte::driver {

inline constexpr double kApproximationUlp = 4;
inline constexpr double kReorderedUlp = 64;

struct BitCheckOptions {
  // Of the interpreter; a longer kernel is compared between schedulers only.
  std::int64_t max_steps = 50'000'000;
  // Of a kernel's loops in the interpreter (driver/compile/second_judge.h).
  std::int64_t judge_steps = 50'000;
  std::uint64_t seed = 1;
  graph::Layout layout = graph::Layout::Auto;  // of a model
};

struct BitFallback {  // a scheduler that declined, so that the reference order was taken
  std::string kernel, asked, used, reason, where;
};

struct BitReport {
  int kernels = 0;  // compared
  // Kernels of a scheduler whose loops the second judge ran, or would have run too long.
  int executed = 0, not_executed = 0;
  // A line each: too long to interpret, or data that the kernel refuses.
  std::vector<std::string> skipped;
  std::vector<BitFallback> fallbacks;
  std::vector<std::string> problems;  // a line each: kernel, scheduler, threads, what differs
};

class BitCheck {
 public:
  BitCheck(codegen::Target target, BitCheckOptions options)
      : target_(std::move(target)), options_(options) {}

  // Optimised and fused as for compiling; constants of the model are replaced by small integers
  // as well.
  void model(graph::Graph graph);
  // A Program whose sizes are bound; one that was seen before is not run again.
  void kernel(const ir::Program& program);
  const BitReport& report() const { return report_; }

 private:
  codegen::Target target_;
  BitCheckOptions options_;
  BitReport report_;
  std::set<std::string> seen_;  // canonical texts
};

}  // namespace polyte::driver
