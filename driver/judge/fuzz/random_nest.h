// A random `nest` directive: the tree as it stands, with one to three edits of the kind a person
// would try, legal or not: loops swapped, kinds changed, siblings joined or parted or swapped, a
// leaf moved beside another one.
#pragma once

#include "driver/judge/fuzz/random.h"
#include "schedule/script/script.h"

namespace polyte::fuzz {

schedule::NestTree random_nest(const schedule::State& state, Random& random);

}  // namespace polyte::fuzz
