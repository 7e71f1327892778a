// What Polyte compiled for a GPU as an arm, a Program or a model: a session of its artifact for
// each set of tensors, which lie on the device. An execution is what a caller with a stream of his
// own gets (Session::run_on): one start of the run's graph.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "driver/lab/contender.h"
#include "driver/lab/device_clock.h"
#include "runtime/artifact.h"

namespace polyte::lab {

// The artifact that runs on a set: constants of a Program are part of its artifact, those of a
// model come with its file.
using ArtifactFor =
    std::function<std::shared_ptr<const runtime::Artifact>(std::span<runtime::Tensor> tensors)>;

// After an error of the device nothing of this process runs there any more: CudaError, which the
// caller lets through.
std::unique_ptr<Contender> make_device_contender(Interface interface, ArtifactFor artifact_for,
                                                 std::shared_ptr<DeviceClock> clock);
std::unique_ptr<Contender> make_device_contender(driver::CompiledOperator op,
                                                 const codegen::Target& target,
                                                 std::shared_ptr<DeviceClock> clock);

}  // namespace polyte::lab
