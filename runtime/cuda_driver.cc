#include "runtime/cuda_driver.h"

#include <dlfcn.h>

#include <algorithm>

namespace polyte::runtime {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

// Code that the driver does not take is the artifact's fault, a lack of memory the run's;
// anything else is the device's.
ExitStatus status_of(int result) {
  constexpr int kOfCode[] = {kCudaInvalidImage, kCudaNoBinaryForGpu, kCudaInvalidPtx,
                             kCudaUnsupportedPtxVersion, kCudaInvalidSource};
  if (result == kCudaOutOfMemory) return ExitStatus::ResourceLimit;
  return std::ranges::find(kOfCode, result) == std::end(kOfCode) ? ExitStatus::Device
                                                                 : ExitStatus::Artifact;
}

void* open_library(const std::string& path) {
  if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* why = ::dlerror();
  throw UserError(ExitStatus::Device,
                  "no CUDA driver: " + std::string(why != nullptr ? why : path) +
                      "; a GPU's code runs where NVIDIA's driver is installed");
}

}  // namespace

CudaError::CudaError(int result, const std::string& text)
    : UserError(status_of(result), text), result_(result) {}

CudaDriver::CudaDriver(const std::string& path)
    : path_(path.empty() ? kLibrary : path), library_(open_library(path_)) {
  init(0);
}

// All entry points are members, so they are found when the driver is opened: an old one is
// reported then, by the name that it lacks.
void* CudaDriver::find(const char* name) const {
  if (void* function = ::dlsym(library_, name)) return function;
  throw UserError(ExitStatus::Device, "CUDA driver " + path_ + " has no " + name +
                                          ": expected the driver of CUDA 12 or later");
}

void CudaDriver::fail(const char* call, int result) const {
  const char *name = nullptr, *text = nullptr;
  get_error_name.quietly(result, &name);
  get_error_string.quietly(result, &text);
  throw CudaError(result, std::string(call) + ": " +
                              (name != nullptr ? name : "result " + std::to_string(result)) +
                              (text != nullptr ? " (" + std::string(text) + ")" : ""));
}

// 12040 is 12.4.
std::string CudaDriver::version() const {
  int number = 0;
  driver_get_version(&number);
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

}  // namespace polyte::runtime
