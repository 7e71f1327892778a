// Random Scripts for a Program: up to twelve directives over all primitives, with real names of
// loops, statements and tensors as they stand after the directives so far, and now and then a name
// that means nothing.
//
// `program` may have open sizes.
//
// Most are legal by their own obligation (each proposal is tried with a Prover), so that long
// scripts stay accepted; some illegal ones are kept on purpose. The whole script's proof is
// the caller's business.
#pragma once

#include <map>
#include <string>

#include "driver/judge/fuzz/random.h"
#include "schedule/script/replay.h"

namespace polyte::fuzz {

struct ScriptStatistics {  // by name of directive: tried, and legal by its own obligation
  std::map<std::string, int> proposed, applied;
};

// `reassociate`: the contract may allow reordered sums. An InternalError of a primitive ends the
// script with the directive that caused it.
schedule::Script random_script(std::shared_ptr<const ir::Program> program, const Machine& machine,
                               bool reassociate, Random& random, ScriptStatistics& statistics);

}  // namespace polyte::fuzz
