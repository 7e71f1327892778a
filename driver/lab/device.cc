#include "driver/lab/device.h"

#include <array>
#include <cstdlib>
#include <sstream>

#include "driver/compile/describe_target.h"
#include "driver/lab/child.h"
#include "driver/lab/peers.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

// `device` of CUDA_VISIBLE_DEVICES, where that is given, else its own number; nvidia-smi
// takes both.
std::string number_for_smi(int device) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return std::to_string(device);
  std::istringstream words(visible);
  std::string word;
  for (int i = 0; i <= device; ++i) std::getline(words, word, ',');
  return word;
}

// What only NVIDIA's own program tells: nothing where it is not there, or does not know.
// One line of fields by commas, as --query-gpu lists them; "[N/A]" is a field that it does not
// know.
void add_clocks(int device, Json& json) {
  static constexpr std::array kKeys{"driver", "clock_mhz", "memory_clock_mhz", "most_clock_mhz"};
  const std::string program = on_path("nvidia-smi");
  if (program.empty()) return;
  run_child(
      {program, "--query-gpu=driver_version,clocks.sm,clocks.mem,clocks.max.sm",
       "--format=csv,noheader,nounits", "--id=" + number_for_smi(device)},
      "", 20, [&](const std::string& line) {
        std::istringstream words(line);
        std::string word;
        for (const char* key : kKeys) {
          if (!std::getline(words >> std::ws, word, ',') || word.empty() || word.front() == '[')
            continue;
          char* end = nullptr;
          const double number = std::strtod(word.c_str(), &end);
          if (key == kKeys.front())
            json[key] = word;
          else if (*end == '\0')
            json[key] = number;
        }
      });
}

}  // namespace

// A plan names its target; times are only of a GPU that is here and of that compute capability.
codegen::Target target_of(const Plan& plan) {
  const char* const next = "; target = \"cpu:native\" measures this processor";
  try {
    codegen::Target target = driver::target_named(plan.target);
    if (target.kind != TargetKind::Cuda) return target;
    const runtime::CudaDevicePtr device = runtime::CudaDevice::open();
    const int wanted = target.machine.gpu->compute_capability;
    if (!plan.emulate && device->compute_capability() != wanted)
      throw UserError(ExitStatus::Device, "it is of compute capability " + capability_text(wanted) +
                                              ", the GPU here, " + device->name() + ", of " +
                                              capability_text(device->compute_capability()) +
                                              "; target = \"cuda:native\" is that");
    return target;
  } catch (const UserError& e) {
    if (e.status() != ExitStatus::Device) throw;
    throw UserError(ExitStatus::Device,
                    "target '" + plan.target + "': " + e.problems().front() + next);
  }
}

std::shared_ptr<DeviceClock> open_device(const codegen::Target& target) {
  if (target.kind != TargetKind::Cuda) return nullptr;
  const runtime::CudaDevicePtr device = runtime::CudaDevice::open();
  return std::make_shared<DeviceClock>(device, device->attribute(runtime::CudaAttribute::L2Bytes));
}

Json describe_device(const runtime::CudaDevice& device) {
  using runtime::CudaAttribute;
  Json json{{"name", device.name()},
            {"compute_capability", capability_text(device.compute_capability())},
            {"multiprocessors", device.attribute(CudaAttribute::Multiprocessors)},
            {"memory_bytes", device.memory_bytes()},
            {"l2_bytes", device.attribute(CudaAttribute::L2Bytes)},
            {"cuda", device.driver().version()}};
  add_clocks(device.number(), json);
  return json;
}

}  // namespace polyte::lab
