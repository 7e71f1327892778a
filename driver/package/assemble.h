// The last step of a model: buffers, memory plan, packed constants and manifest, from the groups
// and their code. A single operator becomes an artifact of one step, so that whoever can run a
// network can run it too.
#pragma once

#include <span>

#include "driver/compile/model.h"
#include "driver/compile/operator.h"
#include "runtime/artifact.h"

namespace polyte::driver {

runtime::ArtifactParts assemble(const CompiledModel& model, const codegen::Target& target,
                                const ModelOptions& options);

// `tensors` as OperatorRunner takes them: the contents of the Program's constants go
// into the artifact.
// A buffer that is input and output at once is an input and an output of the same name.
runtime::ArtifactParts assemble(const CompiledOperator& op,
                                std::span<const runtime::Tensor> tensors,
                                const codegen::Target& target);

}  // namespace polyte::driver
