// Our kernel on a GPU as an arm: a session of its artifact for each set of tensors, which lie on
// the device. An execution is what a caller with a stream of his own gets (Session::run_on): one
// start of the run's graph.
#pragma once

#include <memory>

#include "driver/lab/contender.h"
#include "driver/lab/device_clock.h"

namespace polyte::lab {

// After an error of the device nothing of this process runs there any more: CudaError, which the
// caller lets through.
std::unique_ptr<Contender> make_device_contender(driver::CompiledOperator op,
                                                 const codegen::Target& target,
                                                 std::shared_ptr<DeviceClock> clock);

}  // namespace polyte::lab
