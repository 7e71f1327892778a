// A nest brought into the forms that the lines of a script ask for: loops moved within their paths,
// kinds set, loops that statements share taken apart or made one. What the forms leave open stays
// as it was.
//
//   form     ... > par i > ... > S             { ... > a; ... > b }
//   before   t > i > <j> > S                   i > { j > a; k > b }
//   after    t > par i > <j> > S               { i > j > a; i > k > b }
//
// Nothing is proved here, and a form that cannot be had is left as it is: who asks looks at
// the pins, and proves.
#pragma once

#include "schedule/script/pins.h"

namespace polyte::poly {

// The whole nest of the State, as a `nest` says it.
schedule::NestTree fit_nest(const schedule::State& state, const schedule::Pins& pins);

}  // namespace polyte::poly
