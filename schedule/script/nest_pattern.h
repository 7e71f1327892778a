// Whether a nest has the form of a pattern with holes. `...` at the end of a path stands for
// anything, before `>` for any loops, between braces for any statements:
//
//   pattern   ... > i > { ... > a; ... > b }
//   matches   t > i > { j > a; c; k > b }   a and b share t and i, and no loop below; c may stand
//                                           anywhere
//   not       t > i > j > { a; b }
#pragma once

#include <set>
#include <string>

#include "schedule/state/nest_tree.h"

namespace polyte::schedule {

std::set<std::string> statements_in(const NestTree& tree);  // without holes
// The tree with these statements alone; null where it has none of them.
NestTree restricted(const NestTree& tree, const std::set<std::string>& statements);

// A pattern that names statements is held against the nest of these; one that names none against
// each nest of the kernel. `strict`: a loop without brackets is serial; else it may have any kind.
bool matches(const NestTree& pattern, const NestTree& kernel, bool strict);

}  // namespace polyte::schedule
