// --order of --emulate: in which order the emulator runs a GPU's threads. What it finds does not
// depend on it; values may, of atomic updates and of code that is wrong, and so may what an
// asynchronous copy has brought when somebody looks.
//
//   forward          one after another, copies land at once: as without --order
//   backward         the last thread first
//   random[:SEED]    another order between every two barriers
//   adverse[:SEED]   random, threads also take turns between accesses, copies land as late
//                    as they may
#pragma once

#include <string>

#include "driver/cli/verb.h"
#include "runtime/emulator.h"

namespace polyte::cli {

void add_order_option(const Verb& verb, std::string& order);
// UserError(Usage) for words that are none of these, and for an order where nothing is emulated.
// "": forward.
runtime::EmulatorOptions emulator_options(const std::string& order, bool emulate);

}  // namespace polyte::cli
