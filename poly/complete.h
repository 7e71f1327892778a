// Completion: a script with holes made whole under what its lines pin (docs/scripts-with-holes.md).
//
//   split k by ?                        split k by 384   #: tile-model
//   nest par n.o > ...         ->       split m by 12 ...
//                                       nest par n.o > k.o > m.o > { ... }
//
// A script without holes is its own completion; one that pins nothing is poly's.
#pragma once

#include "poly/auto_schedule.h"
#include "schedule/script/replay.h"

namespace polyte::poly {

struct Completion {
  schedule::Script script;  // proved; every pin holds
  std::string source;       // which schedule it was learnt from, "poly"
};

// The refusal where nothing that is legal keeps all pins: of the first line that stands in the
// way, with the counterexample of the reference order under the pins. `considered` of the options
// receives the candidates with their prices, and why they lost.
Result<Completion, schedule::Refusal> complete(const std::shared_ptr<const ir::Program>& program,
                                               const schedule::Script& partial,
                                               const Machine& machine,
                                               const PolyOptions& options = {});

}  // namespace polyte::poly
