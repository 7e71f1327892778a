// What ptxas -v says of the code that it has assembled, as figures; libnvJitLink has the
// same words. Internal.
#pragma once

#include <string>

#include "codegen/nvptx/assembler.h"

namespace polyte::codegen {

void read_report(const std::string& log, DeviceBinary& binary);

}  // namespace polyte::codegen
