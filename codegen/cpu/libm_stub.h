// libm as the linker sees it: an object that defines the functions kernels may call, to be linked
// as a shared object named libm.so.6. So linking needs no libm on this machine, and a kernel loads
// the real one where it runs.
#pragma once

#include <string>

#include "support/target.h"

namespace polyte::codegen {

std::string libm_stub_object(TargetKind kind);

}  // namespace polyte::codegen
