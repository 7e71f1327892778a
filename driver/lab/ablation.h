// Why is it faster? A script measured without each of its lines, and the way from one script
// to another, step by step. Both are plans like any other (plan.h), whose arms are variants of
// scripts; what they are worth is read off the results.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "driver/lab/results.h"
#include "driver/lab/script_steps.h"

namespace polyte::lab {

// What a script is measured on.
struct Subject {
  std::string source, dtype;  // of Programs, as `programs` of an experiment
  Sizes sizes;
  int threads = 1;
  std::string fill = "normal:1", target = "cpu:native";
  Caches caches = Caches::Warm;
  StopRule stop;
  double tolerance = 0;  // as of an experiment, like those below
  std::uint64_t seed = 1;
  bool exact = false, emulate = false;
};

// What is taken away: whole lines (a param is set to 1), factors and params to their neighbours,
// markers of nests; and the first lines only, in order.
enum class Ablated { Lines, Factors, Markers, Order };
std::string to_string(Ablated what);
inline constexpr Ablated kAllAblated[] = {Ablated::Lines, Ablated::Factors, Ablated::Markers,
                                          Ablated::Order};

// Arms: the whole script (the baseline), and it without what is ablated. UserError(ResourceLimit)
// where these are more than 200.
Plan ablation_plan(const schedule::Script& script, const std::string& name, const Subject& subject,
                   const Sources& sources, std::span<const Ablated> what = kAllAblated);
std::string ablation_text(const Results& results);  // 80 columns

// Arms: the first script (the baseline), the script after each step, the second. Steps whose
// scripts are refused are taken together with others.
Plan path_plan(const schedule::Script& first, const std::string& first_name,
               const schedule::Script& second, const std::string& second_name,
               const Subject& subject, const Sources& sources);
// Of its results: each arm, its ratio to the one before that was timed, and what else is
// to be said.
struct PathRatio {
  const ArmResult* arm = nullptr;
  std::optional<Interval> ratio;
  std::string remark;  // "not distinguishable", "same loops", why it is not timed
};
std::vector<PathRatio> path_ratios(const Results& results);
std::string path_text(const Results& results);

}  // namespace polyte::lab
