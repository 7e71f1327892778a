// Target: what is compiled for. `machine` is what the schedulers see of the processor; `kind` is
// which family of instructions it has: codegen picks what emits them by it, and an artifact says
// it, so that no other processor runs the code.
//
//   Target target{detect_machine(), kNativeKind};
#pragma once

#include <string>

#include "support/machine.h"

namespace polyte {

enum class TargetKind { X86, AArch64, Cuda };

// The processor this program was built for.
#ifdef __aarch64__
inline constexpr TargetKind kNativeKind = TargetKind::AArch64;
#else
inline constexpr TargetKind kNativeKind = TargetKind::X86;
#endif

struct Target {
  Machine machine;
  TargetKind kind = kNativeKind;
};

// As `uname -m` has it, "x86_64" or "aarch64"; "cuda".
std::string to_string(TargetKind kind);

}  // namespace polyte
