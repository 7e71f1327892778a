// Shrink: a failing case made small while it still fails the same way: directives dropped, statements and declarations
// dropped (a temporary may become an input), sizes lowered. Greedy, to a fixed point or a number of trials.
#pragma once

#include <functional>

#include "driver/fuzz/judge.h"

namespace polyte::fuzz {

// `still_fails` judges a candidate; invalid candidates are those it answers false to.
Case shrink(Case c, const std::function<bool(const Case&)>& still_fails, int max_trials = 400);

}  // namespace polyte::fuzz
