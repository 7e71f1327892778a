// What a processor offers, under LLVM's feature names: enough for a runtime without LLVM to check
// what an artifact needs. One table per kind of processor: x86_features.cc and aarch64_features.cc.
#pragma once

#include <string>
#include <vector>

#include "support/target.h"

namespace polyte {

// Of this processor: every feature that can be asked for with its sign, "+avx2" or "-amx-tile",
// sorted by name.
std::vector<std::string> detect_features();

// Whether a processor of this kind can be asked for a feature ("avx2"): others are what is fast, or
// what only an operating system uses.
bool is_checkable(TargetKind kind, const std::string& feature);

}  // namespace polyte
