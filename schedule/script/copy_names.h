// Several nests of a kernel may stage one tensor: a copy for each, and the second one's statement
// is x.in_2 (stage). A scheduler that writes one nest after another calls the copies of each x.in;
// here they get the names that they have.
#pragma once

#include <span>

#include "schedule/script/script.h"

namespace polyte::schedule {

// In the directives of one nest, behind those of the nests before it.
void name_copies(std::span<const Directive> before, std::span<Directive> nest);

}  // namespace polyte::schedule
