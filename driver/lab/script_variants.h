// Scripts that differ from one in a single decision inside of a line, and the change of a line
// taken apart. What is legal others say.
#pragma once

#include <string>
#include <vector>

#include "schedule/script/script.h"

namespace polyte::lab {

struct Variant {
  std::string text;  // "m by 2, not 4", "[m.i] of C.update serial"
  schedule::Script script;
};

// Each factor of a split, and each param, at half, at twice, and (of splits) at 1, as far as it is
// a number or a multiple of L. Splits of loops of one name by one factor are changed together: a
// nest that shares their loops wants them alike.
std::vector<Variant> factor_variants(const schedule::Script& script);

// Each [ ], < > and `par` of a nest line taken away, one at a time: that loop becomes serial.
std::vector<Variant> marker_variants(const schedule::Script& script);

// What may stand between a line and what it becomes, where the two differ in several ways: of nests
// the new order with the old markers, then one marker after the other; of splits the factor, then
// the tail; of stages the place, then the memory. Without both ends; empty where they differ in one
// way, or in a way that cannot be taken apart.
std::vector<schedule::Directive> between(const schedule::Directive& from,
                                         const schedule::Directive& to);

}  // namespace polyte::lab
