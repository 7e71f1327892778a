// The second judge: what the proof accepts is executed at small sizes, every value followed to
// the instance that computed it (lower/trace_check.h). It shares nothing with the proof but the
// Program and the loops, and decides for the sizes it ran at. It runs where that costs less than
// the proof did: `budget` bounds the instances of the reference order, which is what the cost goes
// by. Where the two judges disagree, one of them is wrong: an InternalError with all that shows it.
// docs/second-judge.md is its page for users.
//
//   M, N, K open or bound by --shape   M=17, N=33, K=5: a whole tile and a ragged one of each split
//                                      loop, less where that is too much; the script is applied to
//                                      the Program at these sizes
//   sizes of the Program's own         as they are, or not at all
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ir/loop_program.h"
#include "schedule/script/script.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::driver {

struct SecondJudgement {
  bool ran = false;
  // "agrees (executed at M=17, N=33)", "not run (would take 2.6e+08 steps, ...)".
  std::string text = "not asked";
};

// What the proof has accepted.
struct AcceptedSchedule {
  const schedule::State& state;
  const schedule::Script& script;
  // The Program before its sizes were bound, if there is one.
  std::shared_ptr<const ir::Program> open = nullptr;
  // The loops that will run, before and after the passes; null: made from the State.
  const ir::LoopProgram* nest = nullptr;
  const ir::LoopProgram* loops = nullptr;
};

// Instances that cost less to execute than a proof of so many milliseconds took: kLeastJudgeSteps
// times a power of 4, so that a busy machine seldom changes it; never fewer than that many.
std::int64_t judge_budget(double proof_milliseconds, bool of_gpu);
inline constexpr std::int64_t kLeastJudgeSteps = 500;
// Of `polyte check`, whose answer is the verdict alone: the same whatever the machine is doing.
inline constexpr std::int64_t kPatientJudgeSteps = 20'000;

// InternalError where execution shows a fault.
SecondJudgement ask_second_judge(const AcceptedSchedule& accepted, const Machine& machine,
                                 std::int64_t budget);

}  // namespace polyte::driver
