// The last cache as the machine has it: what reports show beside Machine::l3, the share that
// schedules count on.
#pragma once

#include <cstdint>

namespace polyte {

struct SharedCache {
  std::int64_t bytes = 0;  // 0: the kernel does not say
  int sharers = 1;         // processors
};
SharedCache detect_last_cache();

}  // namespace polyte
