// Selectors: many loops by one name. `all` means every statement; the loop is a pattern with stars,
// `innermost` (holds statements only) or `outermost`.
//
//   unroll acc: *.i        m.i and n.i of acc.init and acc.update
//   vectorize all: innermost
#pragma once

#include "schedule/script/directives.h"
#include "schedule/state/refusal.h"
#include "support/result.h"

namespace polyte::schedule {

bool is_selector(const LoopName& name);
// The loops as `statement:loop`, outermost first in text order, each once. None is a refusal that
// lists what is there.
Result<std::vector<LoopName>, Refusal> select_loops(const State& state, const LoopName& name);

}  // namespace polyte::schedule
