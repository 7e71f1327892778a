#include "runtime/cuda_code.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace polyte::runtime {
namespace {

constexpr std::int64_t kSharedUnasked = 48 * 1024;  // that a block may have without further ado

// How near machine code is to what the device is; nothing where it does not run there.
std::optional<int> distance(std::string_view architecture, int compute_capability) {
  if (!architecture.starts_with("sm_")) return std::nullopt;
  int number = 0;
  const char* const end = architecture.data() + architecture.size();
  const auto [at, error] = std::from_chars(architecture.data() + 3, end, number);
  const bool is_specific = std::string_view(at, static_cast<std::size_t>(end - at)) == "a";
  if (error != std::errc() || (at != end && !is_specific)) return std::nullopt;
  if (is_specific) return number == compute_capability ? std::optional(-1) : std::nullopt;
  const bool runs = number / 10 == compute_capability / 10 && number <= compute_capability;
  return runs ? std::optional(compute_capability - number) : std::nullopt;
}

std::string list_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "nothing" : text;
}

}  // namespace

std::string choose_architecture(const std::vector<std::string>& architectures,
                                int compute_capability) {
  std::string best;
  std::optional<int> least;
  for (const std::string& architecture : architectures) {
    const std::optional<int> here = distance(architecture, compute_capability);
    if (!here || (least && *least <= *here)) continue;
    least = here;
    best = architecture;
  }
  if (best.empty() && std::ranges::find(architectures, kPtx) != architectures.end()) return kPtx;
  return best;
}

CudaCode::CudaCode(const CudaDevicePtr& device, const Artifact& artifact)
    : device_(device), source_(artifact.source()) {
  for (const DeviceModule& module : artifact.manifest().device) load(artifact, module);
}

void CudaCode::load(const Artifact& artifact, const DeviceModule& module) {
  const std::string who = "artifact '" + source_ + "': device code '" + module.name + "' ";
  const std::string architecture =
      choose_architecture(module.architectures, device_->compute_capability());
  if (architecture.empty())
    throw UserError(ExitStatus::Artifact, who + "is for " + list_text(module.architectures) +
                                              ", this GPU is sm_" +
                                              std::to_string(device_->compute_capability()));
  const Bytes code = artifact.device_code(module.name, architecture);
  // PTX is text that ends with a zero.
  std::vector<std::byte> image(code.begin(), code.end());
  image.push_back(std::byte{0});
  try {
    modules_.push_back(load_cuda_module(device_, image.data()));
  } catch (const CudaError& error) {
    throw CudaError(error.result(),
                    who + "for " + architecture + " is not taken: " + error.problems().front());
  }
  for (const DeviceKernel& kernel : module.kernels) add_kernel(modules_.back(), kernel);
}

void CudaCode::add_kernel(const CudaModule& module, const DeviceKernel& spec) {
  Kernel kernel{spec, nullptr};
  try {
    device_->driver().module_get_function(&kernel.function, module.get(), spec.name.c_str());
  } catch (const CudaError& error) {
    if (error.result() != kCudaNotFound) throw;
    throw UserError(
        ExitStatus::Artifact,
        "artifact '" + source_ + "': its device code has no kernel '" + spec.name + "'");
  }
  if (spec.shared_bytes > kSharedUnasked)
    device_->driver().function_set_attribute(kernel.function, kCudaMaxDynamicSharedBytes,
                                             static_cast<int>(spec.shared_bytes));
  kernels_.emplace(spec.name, std::move(kernel));
}

void CudaCode::launch(const polyte_launch& launch, const std::int64_t* grid,
                      const void* const* arguments, CudaStreamHandle stream) const {
  // The manifest is what was checked and set up (shared memory above 48 KiB); a launch that
  // says otherwise would run with the wrong attributes.
  const auto found = kernels_.find(std::string_view(launch.kernel));
  if (found == kernels_.end() || found->second.spec.threads != launch.threads ||
      found->second.spec.shared_bytes != launch.shared_bytes)
    throw UserError(ExitStatus::Artifact, "artifact '" + source_ + "': kernels.so starts '" +
                                              launch.kernel + "' otherwise than its manifest says");
  // CUDA's limits of a grid (compute capability 3.0 and later): 2^31 - 1 blocks along x, 65,535
  // along y and z.
  constexpr std::int64_t kMost[] = {2147483647, 65535, 65535};
  for (int axis = 0; axis < 3; ++axis)
    if (grid[axis] < 1 || grid[axis] > kMost[axis])
      throw UserError(ExitStatus::ResourceLimit, "kernel '" + std::string(launch.kernel) +
                                                     "' needs " + std::to_string(grid[axis]) +
                                                     " blocks along " + "xyz"[axis] + ", at most " +
                                                     std::to_string(kMost[axis]) + " are possible");
  device_->driver().launch_kernel(found->second.function, static_cast<unsigned>(grid[0]),
                                  static_cast<unsigned>(grid[1]), static_cast<unsigned>(grid[2]),
                                  static_cast<unsigned>(launch.threads), 1, 1,
                                  static_cast<unsigned>(launch.shared_bytes), stream,
                                  const_cast<void**>(arguments), nullptr);  // NOLINT
}

}  // namespace polyte::runtime
