#include "driver/package/scheduling.h"

namespace polyte::driver {

runtime::StepScheduling scheduling_of(const BuiltKernel& kernel) {
  runtime::StepScheduling how{to_string(kernel.asked), to_string(kernel.used()), {}, {}};
  if (!kernel.declined) return how;
  how.reason = kernel.declined->reason;
  how.where = kernel.declined->where;
  return how;
}

}  // namespace polyte::driver
