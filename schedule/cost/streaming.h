// Which results are stored past the caches: those that are defined once, never read again here, and
// together with what is read exceed by far the last cache that a core can count on. Then no line is
// fetched before it is overwritten.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/program.h"
#include "support/machine.h"

namespace polyte::schedule {

// In the order of the interface. None of those in whose memory a nest keeps a temporary. Sizes of
// the Program must be numbers.
std::vector<std::string> streamed_results(const ir::Program& program, const Machine& machine,
                                          const std::set<std::string>& reused);
double bytes_of_interface(const ir::Program& program);

}  // namespace polyte::schedule
