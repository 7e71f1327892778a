// isl itself loses what it holds where its quota ends inside isl_basic_map_intersect, and
// where a text is wrong that its readers are in the middle of. While one of these lives, leaks
// are not looked for.
#pragma once

#if defined(POLYTE_ADDRESS_SANITIZER)
#include <sanitizer/lsan_interface.h>
#endif

namespace polyte::schedule {

struct LeaksOfIsl {
#if defined(POLYTE_ADDRESS_SANITIZER)
  __lsan::ScopedDisabler disabler;
#endif
};

}  // namespace polyte::schedule
