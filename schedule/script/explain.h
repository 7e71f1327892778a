// Explain: what a refusal does not know when it is made. The line that a fault found at the end of
// a script goes back to, and small additions by which a script would be legal, each of them proved:
//
//   parallel y:i.o  is illegal: parallel loop i.o carries a dependence through t[7]
//     would be legal: stage t at y:i.o  before it
#pragma once

#include "schedule/script/replay.h"

namespace polyte::schedule {

// The refusal with the place and the text of the directive.
Refusal located(Refusal refusal, const Directive& directive);

struct ScriptPoint {
  const State& state;
  const ScriptEnvironment& environment;
};
// A refusal of the whole script, at the directive before which the same fault was not there; with
// storage that would settle a race of what is recomputed.
Refusal explained(Refusal refusal, const ScriptPoint& start, const ScriptPoint& end,
                  const Script& script, Prover& prover);

// A refused `parallel` or `vectorize`, with the directives that make it legal where they stand
// before it.
Refusal with_race_advice(Refusal refusal, const State& before, const Directive& directive,
                         const ScriptEnvironment& environment, Prover& prover);

}  // namespace polyte::schedule
