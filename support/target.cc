#include "support/target.h"

namespace polyte {

std::string to_string(TargetKind kind) { return kind == TargetKind::X86 ? "x86_64" : "aarch64"; }

}  // namespace polyte
