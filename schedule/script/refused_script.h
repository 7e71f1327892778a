// What a scheduler of ours tried and the proof refused, kept for who wants to see it
// (--emit refused): the whole script, not only the line, so that it can be checked, fixed and
// tried again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedule/script/script.h"
#include "schedule/state/refusal.h"
#include "support/machine.h"

namespace polyte::schedule {

struct RefusedScript {
  std::string what;  // "fused, tiled"; "'stage x ..' is left out"
  Script script;
  Refusal refusal;
};

// The refusal with its counterexample as comments, then the script: as `polyte check` would tell it
// of this very text, with its line.
std::string print_refused(const RefusedScript& refused,
                          const std::shared_ptr<const ir::Program>& program,
                          const Machine& machine);

}  // namespace polyte::schedule
