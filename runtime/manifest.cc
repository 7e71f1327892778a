#include "runtime/manifest.h"

#include <algorithm>

#include "runtime/tensor.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/target.h"

namespace polyte::runtime {

bool is_open(const TensorSpec& tensor) { return !tensor.open.empty(); }

// `open` holds the open extents alone, in the order of their dimensions.
std::vector<std::int64_t> shape_at(const TensorSpec& tensor, std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> shape = tensor.shape;
  auto next = tensor.open.begin();
  for (std::int64_t& extent : shape) {
    if (extent == kOpenExtent) extent = (next++)->at(sizes);
  }
  return shape;
}

std::string shape_text(const TensorSpec& tensor, std::span<const SymbolSpec> symbols) {
  std::string text;
  auto next = tensor.open.begin();
  for (const std::int64_t extent : tensor.shape) {
    text += text.empty() ? "" : ", ";
    text += extent == kOpenExtent ? to_text(*next++, symbols) : std::to_string(extent);
  }
  return "[" + text + "]";
}

OpenNumber byte_count(const TensorSpec& tensor) {
  if (!is_open(tensor)) return {count_bytes(tensor.dtype, tensor.shape), {}};
  POLYTE_CHECK(tensor.open.size() == 1, "tensor '" + tensor.name + "' has several open extents");
  // An OpenNumber is linear in the sizes, so one extent may be open: the others are a factor.
  std::vector<std::int64_t> others = tensor.shape;
  *std::ranges::find(others, kOpenExtent) = 1;
  return times(tensor.open.front(), count_bytes(tensor.dtype, others));
}

std::vector<OpenNumber> byte_counts(const std::vector<TensorSpec>& tensors) {
  std::vector<OpenNumber> counts;
  for (const TensorSpec& tensor : tensors) counts.push_back(byte_count(tensor));
  return counts;
}

std::int64_t unit_bytes(const TensorSpec& tensor) { return unit_bytes(byte_count(tensor)); }

OpenNumber copied_bytes(const ArtifactManifest& manifest, const BufferSpec& buffer) {
  if (buffer.exact) return *buffer.exact;
  const auto index = static_cast<std::size_t>(buffer.index);
  // The caller's tensors have just as many bytes as the run's sizes say, no room beyond that.
  if (buffer.place == BufferPlace::Input && is_open(manifest.inputs[index]))
    return byte_count(manifest.inputs[index]);
  if (buffer.place == BufferPlace::Output && is_open(manifest.outputs[index]))
    return byte_count(manifest.outputs[index]);
  return {buffer.bytes, {}};
}

std::string device_member(const std::string& module, const std::string& architecture) {
  return "device/" + module + "." + architecture + (architecture == kPtx ? "" : ".cubin");
}

void check_abi(const ArtifactManifest& manifest, const std::string& source) {
  if (manifest.kernel_abi == kKernelAbi) return;
  throw UserError(ExitStatus::Artifact, "artifact '" + source + "': has kernel ABI " +
                                            std::to_string(manifest.kernel_abi) + ", expected " +
                                            std::to_string(kKernelAbi));
}

void check_features(const ArtifactManifest& manifest, const std::vector<std::string>& present,
                    const std::string& source) {
  std::string missing;
  // As LLVM writes features: "+avx2" is needed, "-avx512f" was only not used and may be there.
  for (const std::string& feature : manifest.features) {
    if (feature.starts_with('-')) continue;
    if (std::ranges::find(present, feature) != present.end()) continue;
    missing +=
        (missing.empty() ? "" : ", ") + (feature.starts_with('+') ? feature.substr(1) : feature);
  }
  if (!missing.empty())
    throw UserError(ExitStatus::Artifact,
                    "artifact '" + source + "': needs processor features that this machine " +
                        "lacks: " + missing + " (built for " + manifest.cpu + ")");
}

void check_cpu(const ArtifactManifest& manifest, const std::vector<std::string>& present,
               const std::string& source) {
  // In this order, since each check presumes the one before: another architecture's features
  // are no words of this one.
  const std::string arch = to_string(kNativeKind);
  if (manifest.arch != arch)
    throw UserError(ExitStatus::Artifact, "artifact '" + source + "': is built for " +
                                              manifest.arch + ", this processor is " + arch);
  check_abi(manifest, source);
  check_features(manifest, present, source);
}

}  // namespace polyte::runtime
