// `stage w .. copy n.o > k > <n.i> > w.in`: order and kinds of the own loops of a stage's copies.
#pragma once

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

struct StageCopies {
  const std::string& buffer;               // what is staged
  const std::vector<std::string>& copies;  // the copy statements there are
  std::size_t prefix = 0;                  // how many loops above the site and the site
};
// A copy that the stage did not need (X.in, X.out) may be named: its loops then mean nothing.
std::optional<Refusal> arrange_copies(State& state, const NestTree& tree, const StageCopies& stage);

}  // namespace polyte::schedule
