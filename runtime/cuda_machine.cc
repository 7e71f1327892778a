#include "runtime/cuda_machine.h"

#include <algorithm>
#include <cctype>

#include "support/gpu_machines.h"

namespace polyte::runtime {
namespace {

// "NVIDIA GeForce RTX 4090" and "rtx4090" alike.
std::string letters_of(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      text += static_cast<char>(std::tolower(c));
  return text;
}

// Of the model, else of the latest generation that is not later.
Machine nearest(const CudaDevice& device) {
  const std::string model = letters_of(device.name());
  std::optional<Machine> best;
  for (const std::string& name : gpu_names()) {
    const Machine machine = *gpu_machine(name);
    const int capability = machine.gpu->compute_capability;
    if (capability == device.compute_capability() && model.find(name) != std::string::npos)
      return machine;
    if (capability <= device.compute_capability() &&
        (!best || capability > best->gpu->compute_capability))
      best = machine;
  }
  if (!best)
    throw UserError(ExitStatus::Unsupported, "GPU " + device.name() + " is of compute capability " +
                                                 std::to_string(device.compute_capability() / 10) +
                                                 "." +
                                                 std::to_string(device.compute_capability() % 10) +
                                                 ", expected 8.0 or later");
  // Rates depend on the model and cannot be asked for, so they are those of the nearest one and
  // marked as assumed.
  best->assumed = {"f32_fma_a_cycle", "bf16_tensor_fma_a_cycle"};
  best->cpu = "sm_" + std::to_string(device.compute_capability());
  best->gpu->specific = false;
  return *best;
}

}  // namespace

Machine machine_of(const CudaDevice& device) {
  // The tables give what cannot be asked; whatever the driver answers (more than 0) replaces
  // theirs.
  Machine machine = nearest(device);
  Gpu& gpu = *machine.gpu;
  const auto ask = [&](CudaAttribute which, auto& value) {
    if (const int said = device.attribute(which); said > 0) value = said;
  };
  gpu.compute_capability = device.compute_capability();
  ask(CudaAttribute::Multiprocessors, gpu.multiprocessors);
  ask(CudaAttribute::ThreadsAMultiprocessor, gpu.threads_a_multiprocessor);
  ask(CudaAttribute::RegistersAMultiprocessor, gpu.registers_a_multiprocessor);
  ask(CudaAttribute::ThreadsABlock, gpu.threads_a_block);
  ask(CudaAttribute::SharedBytesABlockOptIn, gpu.shared_block_bytes);
  ask(CudaAttribute::SharedBytesAMultiprocessor, gpu.shared_multiprocessor_bytes);
  ask(CudaAttribute::L2Bytes, gpu.l2_bytes);
  double kilohertz = 0, memory_kilohertz = 0, bus_bits = 0;
  ask(CudaAttribute::ClockKilohertz, kilohertz);
  ask(CudaAttribute::MemoryClockKilohertz, memory_kilohertz);
  ask(CudaAttribute::MemoryBusBits, bus_bits);
  if (kilohertz > 0) gpu.clock_ghz = kilohertz / 1e6;
  // Two transfers a clock.
  if (memory_kilohertz > 0 && bus_bits > 0)
    gpu.memory_gb_a_second = 2 * memory_kilohertz * 1e3 * bus_bits / 8 / 1e9;
  Machine result = machine_of_gpu(gpu);
  result.cpu = machine.cpu;
  result.model_name = device.name();
  result.assumed = machine.assumed;
  return result;
}

}  // namespace polyte::runtime
