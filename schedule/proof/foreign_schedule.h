// A schedule of another tool for one of our Programs: for each statement a time, as isl says it
// (a union map or a schedule tree), with the names that `polyte deps --format isl` shows. It is
// judged, not transformed: every pair of instances that the reference order keeps has to run in
// that order, every instance once.
//
//   ForeignSchedule schedule(program, "{ S0[t, i] -> [t, 2t + i] }", "pluto.isl");
//   schedule.judge(Terms::InOrder)     none: legal; else the smallest case that shows the fault
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedule/state/refusal.h"
#include "schedule/state/state.h"

namespace polyte::schedule {

// Whether terms of declared reductions may change places: `exact` and `reassoc` of a script.
enum class Terms { InOrder, AnyOrder };

// What a band of a tree says of itself: that its members may change places and be tiled, that the
// iterations of one run in parallel (isl's words: permutable, coincident). Other tools act on it.
struct JudgedMark {
  std::string text;  // "band t, i: permutable"
  std::optional<Refusal> refusal;
};

struct ForeignVerdict {
  std::optional<Refusal> refusal;        // of the order; Unknown where the budget is spent
  std::vector<JudgedMark> marks;         // of a tree whose order is legal
  const Refusal* first_refusal() const;  // of the order, then of the marks; null: legal
};

// The time of one statement, a value per dimension.
struct ForeignRows {
  std::string statement;
  std::vector<ir::Affine> rows;  // over its iterators and the sizes
};

class ForeignSchedule {
 public:
  // UserError(InvalidInput) with the line and what was expected: the text, a statement or size that
  // the Program does not have, times of different lengths.
  ForeignSchedule(std::shared_ptr<const ir::Program> program, const std::string& text,
                  const std::string& origin);
  ~ForeignSchedule();
  ForeignSchedule(ForeignSchedule&&) noexcept;
  ForeignSchedule& operator=(ForeignSchedule&&) noexcept;

  bool is_tree() const;
  ForeignVerdict judge(Terms terms) const;
  // In the order of the Program; empty where a time is not one quasi-affine expression, `why` says
  // which. After a judgement that is not illegal.
  std::vector<ForeignRows> rows(std::string& why) const;
  // Whether a State runs every two instances that have different times in their order; false too
  // where the budget is spent, or where it has other statements.
  bool is_order_of(const State& state) const;

  struct Impl;  // foreign_schedule_impl.h

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace polyte::schedule
