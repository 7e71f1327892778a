// Effects: what a directive asks for and does not achieve. There is no silent no-op: each is
// reported as one line, and is an error under --strict.
//
//   unroll m.i  has no effect: m.i runs once
//   vectorize n.i  n.i runs 6 iterations, no multiple of the 4 lanes of f32: some lanes stay idle
//   split m by 4   tail cut  has no tail: 4 divides the 128 iterations of m
//   param Kc = 384  is not used
#pragma once

#include <string>
#include <vector>

#include "schedule/script/replay.h"

namespace polyte::schedule {

// What one kind of directive may leave undone, as lines; `operation` led from `before` to `after`.
using IdleParts = std::vector<std::string> (*)(const State& before, const Operation& operation,
                                               const State& after,
                                               const ScriptEnvironment& environment);
std::vector<std::string> idle_kind(const State& before, const Operation& operation,
                                   const State& after, const ScriptEnvironment& environment);
std::vector<std::string> idle_cut(const State& before, const Operation& operation,
                                  const State& after, const ScriptEnvironment& environment);
std::vector<std::string> idle_peel(const State& before, const Operation& operation,
                                   const State& after, const ScriptEnvironment& environment);
std::vector<std::string> idle_prefetch(const State& before, const Operation& operation,
                                       const State& after, const ScriptEnvironment& environment);
std::vector<std::string> idle_stage(const State& before, const Operation& operation,
                                    const State& after, const ScriptEnvironment& environment);

// What the directive that led from `before` to `after` left undone.
std::vector<std::string> idle_parts(const State& before, const Directive& directive,
                                    const State& after, const ScriptEnvironment& environment);
// Params and lets that no later line mentions, each with its line.
std::vector<std::pair<int, std::string>> unused_names(const Script& script);

}  // namespace polyte::schedule
