// How many times this thread has called operator new; the test binary replaces it to count.
#pragma once

#include <cstdint>

namespace polyte::testing {

std::int64_t allocations_of_this_thread();

}  // namespace polyte::testing
