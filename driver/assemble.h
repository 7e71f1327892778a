// The last step of a model: buffers, memory plan, packed constants and manifest, from the groups and their code.
#pragma once

#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "driver/model.h"

namespace polyte::driver {

// `scratch` has one entry a kernel of the model; `library` is the linked shared object.
runtime::ArtifactParts assemble(const CompiledModel& model, const std::vector<codegen::ScratchLayout>& scratch,
                                const std::string& library, const codegen::Target& target, const ModelOptions& options);

}  // namespace polyte::driver
