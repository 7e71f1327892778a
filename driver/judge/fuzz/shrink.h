// Shrink: a failing case made small while it still fails the same way: directives dropped,
// statements and declarations dropped (a temporary may become an input), sizes lowered. Greedy, to
// a fixed point or a number of trials.
#pragma once

#include <functional>

#include "driver/judge/fuzz/judge.h"

namespace polyte::fuzz {

struct ShrinkOptions {
  std::function<bool(const Case&)> still_fails;  // judges a candidate
  // Makes the script anew after the Program has changed, false where there is none; null: the
  // script is a person's, its directives are dropped too.
  std::function<bool(Case&)> derive = {};
  int max_trials = 400;
};
Case shrink(Case c, const ShrinkOptions& options);

}  // namespace polyte::fuzz
