#include "runtime/cuda_device.h"

#include <array>

namespace polyte::runtime {

CudaDevicePtr CudaDevice::open(const CudaOptions& options) {
  return std::make_shared<const CudaDevice>(options);
}

CudaDevice::CudaDevice(const CudaOptions& options)
    : driver_(options.driver), number_(options.device) {
  int count = 0;
  driver_.device_get_count(&count);
  if (number_ < 0 || number_ >= count)
    throw UserError(ExitStatus::Device, "no CUDA device " + std::to_string(number_) +
                                            ": the driver knows of " + std::to_string(count));
  driver_.device_get(&device_, number_);
  std::array<char, 256> text{};
  // The last byte stays 0, whatever the driver does with a name that is too long.
  driver_.device_get_name(text.data(), static_cast<int>(text.size() - 1), device_);
  name_ = text.data();
  compute_capability_ = 10 * attribute(CudaAttribute::ComputeCapabilityMajor) +
                        attribute(CudaAttribute::ComputeCapabilityMinor);
  // The primary context is the one that CUDA's runtime library uses: memory of other libraries
  // in this process can be passed to our kernels.
  driver_.primary_context_retain(&context_, device_);
}

// A destructor may run when the process ends and the driver has shut down.
CudaDevice::~CudaDevice() { driver_.primary_context_release.quietly(device_); }

std::int64_t CudaDevice::memory_bytes() const {
  std::size_t bytes = 0;
  driver_.device_total_mem(&bytes, device_);
  return static_cast<std::int64_t>(bytes);
}

int CudaDevice::attribute(CudaAttribute which) const {
  int value = 0;
  driver_.device_get_attribute(&value, which, device_);
  return value;
}

// Non-blocking: not ordered with the legacy default stream, which a host program may be using.
CudaStream make_cuda_stream(const CudaDevicePtr& device) {
  CudaStreamHandle stream = nullptr;
  device->driver().stream_create(&stream, kCudaStreamNonBlocking);
  return {device, stream};
}

CudaEvent make_cuda_event(const CudaDevicePtr& device, CudaEventKind kind) {
  // An event that keeps no time is cheaper to record and to wait for.
  constexpr unsigned kTimes = 0, kDisableTiming = 2;
  CudaEventHandle event = nullptr;
  device->driver().event_create(&event, kind == CudaEventKind::Time ? kTimes : kDisableTiming);
  return {device, event};
}

// From memory: PTX, a cubin or a fat binary; the driver tells them apart.
CudaModule load_cuda_module(const CudaDevicePtr& device, const void* image) {
  CudaModuleHandle module = nullptr;
  device->driver().module_load_data(&module, image);
  return {device, module};
}

CudaHostMemory make_cuda_host_memory(const CudaDevicePtr& device, std::int64_t bytes) {
  void* memory = nullptr;
  device->driver().mem_alloc_host(&memory, static_cast<std::size_t>(bytes));
  return {device, memory};
}

CudaMemory make_cuda_memory(const CudaDevicePtr& device, std::int64_t bytes,
                            const std::string& what) {
  // The driver refuses to allocate 0 bytes.
  if (bytes == 0) return {};
  CudaAddress memory = 0;
  try {
    device->driver().mem_alloc(&memory, static_cast<std::size_t>(bytes));
  } catch (const CudaError& error) {
    throw CudaError(error.result(), "GPU: no " + std::to_string(bytes) + " bytes of memory for " +
                                        what + ": " + error.problems().front());
  }
  return {device, memory};
}

}  // namespace polyte::runtime
