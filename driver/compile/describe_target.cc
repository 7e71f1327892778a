#include "driver/compile/describe_target.h"

#include <algorithm>

#include "support/x86_features.h"

namespace polyte::driver {

// A named processor's features are instructions and what is fast on it; only instructions that the runtime can ask the
// processor for are needs.
void describe_target(const codegen::Target& target, runtime::ArtifactManifest& manifest) {
  manifest.cpu = target.machine.cpu;
  const std::vector<std::string> known = detect_x86_features();
  const auto has = [&](const std::string& feature) { return std::ranges::find(known, feature) != known.end(); };
  for (const std::string& feature : target.machine.features)
    if (feature.starts_with('+') && (known.empty() || has(feature) || has("-" + feature.substr(1))))
      manifest.features.push_back(feature);
}

}  // namespace polyte::driver
