// Random scripts with holes: pins drawn from a finished schedule, its witness, and now and then
// against it.
#pragma once

#include "driver/judge/fuzz/random.h"
#include "schedule/script/replay.h"

namespace polyte::fuzz {

struct RandomPins {
  schedule::Script script;
  bool is_witnessed = true;  // the schedule that they were drawn from keeps them all
};

// Of poly, its affine core, the template, or the reference order, whichever is drawn: a line of
// it, a size of it or another one, `?`, a parallel or a vector loop, the order of two loops, two
// statements in one loop or apart.
RandomPins random_pins(const std::shared_ptr<const ir::Program>& program, const Machine& machine,
                       Random& random);

}  // namespace polyte::fuzz
