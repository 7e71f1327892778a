// What an AArch64 processor and its operating system offer, by the bits that Linux hands to every
// program (AT_HWCAP, arch/arm64/include/uapi/asm/hwcap.h), under LLVM's feature names.
#pragma once

#include <string>
#include <vector>

namespace polyte {

// Every known feature with its sign, "+dotprod" or "-sve", sorted by name. Empty off AArch64.
std::vector<std::string> detect_aarch64_features();
std::vector<std::string> aarch64_feature_names();

}  // namespace polyte
