#include "support/features.h"

#include <algorithm>

#include "support/aarch64_features.h"
#include "support/x86_features.h"

namespace polyte {

std::vector<std::string> detect_features() {
  return kNativeKind == TargetKind::X86 ? detect_x86_features() : detect_aarch64_features();
}

bool is_checkable(TargetKind kind, const std::string& feature) {
  const std::vector<std::string> names =
      kind == TargetKind::X86 ? x86_feature_names() : aarch64_feature_names();
  return std::ranges::find(names, feature) != names.end();
}

}  // namespace polyte
