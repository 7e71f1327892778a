// What tests of planted faults share: a statement of a State to change behind the primitives'
// backs, and what the proof says then.
#pragma once

#include "schedule/proof/prover.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule {

inline ScheduledStatement& statement(State& state, const std::string& name) {
  for (ScheduledStatement& s : state.statements) {
    if (s.body.name == name) return s;
  }
  FAIL("no statement " << name);
  return state.statements[0];
}

inline std::string names_of(const State& state) {
  std::string names;
  for (const ScheduledStatement& s : state.statements) names += s.body.name + " ";
  return names;
}

// Of the end-to-end proof: "legal", the headline of a refusal, or that it is undecided.
inline std::string verdict(const State& state) {
  Prover prover(state.reference);
  const std::optional<Refusal> refusal = prover.check_end_to_end(state);
  if (!refusal) return "legal";
  return refusal->kind == RefusalKind::Illegal ? refusal->headline
                                               : "undecided: " + refusal->headline;
}

}  // namespace polyte::schedule
