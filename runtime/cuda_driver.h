// CudaDriver: NVIDIA's driver as far as the runtime calls it. It is a part of the system's driver,
// opened when it is first asked for and never linked, so that programs start on machines without
// one; the declarations are our own ("CUDA Driver API", CUDA 12).
//
//   const CudaDriver cuda;            // libcuda.so.1; UserError(Device) where there is none
//   cuda.mem_alloc(&address, bytes);  // CudaError naming the call and the result if it fails
//   cuda.mem_free.quietly(address);   // in destructors
//
// Every call is for the thread's current context; CudaDevice (cuda_device.h) makes one current.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "support/error.h"

namespace polyte::runtime {

using CudaAddress = std::uint64_t;  // in the device's memory
inline CudaAddress as_address(const void* pointer) {
  return reinterpret_cast<CudaAddress>(pointer);
}  // NOLINT
using CudaContext = struct CudaContextHandle*;
using CudaModuleHandle = struct CudaModuleObject*;
using CudaFunctionHandle = struct CudaFunctionObject*;
using CudaStreamHandle = struct CudaStreamObject*;
using CudaEventHandle = struct CudaEventObject*;
using CudaGraphHandle = struct CudaGraphObject*;
using CudaGraphExecHandle = struct CudaGraphExecObject*;

// Results, attributes and flags that are looked at, by the driver's numbers.
inline constexpr int kCudaOutOfMemory = 2;
inline constexpr int kCudaNoDevice = 100;
inline constexpr int kCudaInvalidDevice = 101;
inline constexpr int kCudaInvalidImage = 200;
inline constexpr int kCudaNoBinaryForGpu = 209;
inline constexpr int kCudaInvalidPtx = 218;
inline constexpr int kCudaUnsupportedPtxVersion = 222;
inline constexpr int kCudaInvalidSource = 300;
inline constexpr int kCudaNotFound = 500;
enum class CudaAttribute : int {
  ThreadsABlock = 1,
  SharedBytesABlock = 8,
  RegistersABlock = 12,
  ClockKilohertz = 13,
  Multiprocessors = 16,
  MemoryClockKilohertz = 36,
  MemoryBusBits = 37,
  L2Bytes = 38,
  ThreadsAMultiprocessor = 39,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  SharedBytesAMultiprocessor = 81,
  RegistersAMultiprocessor = 82,
  SharedBytesABlockOptIn = 97,
};
inline constexpr int kCudaMaxDynamicSharedBytes = 8;  // cuFuncSetAttribute
inline constexpr int kCudaCaptureThreadLocal = 1;     // cuStreamBeginCapture
inline constexpr unsigned kCudaStreamNonBlocking = 1;

// A call that the driver refused. Memory that has run out is ResourceLimit, code that it does not
// take Artifact, the rest Device.
class CudaError : public UserError {
 public:
  CudaError(int result, const std::string& text);
  int result() const { return result_; }

 private:
  int result_;
};

class CudaDriver;

template <class... Arguments>
class CudaCall {
 public:
  CudaCall(const CudaDriver& driver, const char* name);
  void operator()(Arguments... arguments) const;  // CudaError
  // For what goes away in any case: after an error of the device its driver refuses all.
  void quietly(Arguments... arguments) const noexcept { function_(arguments...); }

 private:
  const CudaDriver& driver_;
  const char* name_;
  int (*function_)(Arguments...);
};

class CudaDriver {
 public:
  // Empty: libcuda.so.1. It stays open until the process ends.
  explicit CudaDriver(const std::string& path = "");
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  std::string version() const;  // "12.4", of the CUDA that it goes with
  // CudaError.
  [[noreturn]] void fail(const char* call, int result) const;
  void* find(const char* name) const;  // UserError(Device) where it has no such function

 private:
  std::string path_;
  void* const library_;

  template <class... Arguments>
  using Call = CudaCall<Arguments...>;

 public:
  const Call<int, const char**> get_error_name{*this, "cuGetErrorName"};
  const Call<int, const char**> get_error_string{*this, "cuGetErrorString"};
  const Call<unsigned> init{*this, "cuInit"};
  const Call<int*> driver_get_version{*this, "cuDriverGetVersion"};
  const Call<int*> device_get_count{*this, "cuDeviceGetCount"};
  const Call<int*, int> device_get{*this, "cuDeviceGet"};
  const Call<char*, int, int> device_get_name{*this, "cuDeviceGetName"};
  const Call<int*, CudaAttribute, int> device_get_attribute{*this, "cuDeviceGetAttribute"};
  const Call<std::size_t*, int> device_total_mem{*this, "cuDeviceTotalMem_v2"};
  const Call<CudaContext*, int> primary_context_retain{*this, "cuDevicePrimaryCtxRetain"};
  const Call<int> primary_context_release{*this, "cuDevicePrimaryCtxRelease_v2"};
  const Call<CudaContext> context_push{*this, "cuCtxPushCurrent_v2"};
  const Call<CudaContext*> context_pop{*this, "cuCtxPopCurrent_v2"};
  const Call<CudaAddress*, std::size_t> mem_alloc{*this, "cuMemAlloc_v2"};
  const Call<CudaAddress> mem_free{*this, "cuMemFree_v2"};
  const Call<void**, std::size_t> mem_alloc_host{*this, "cuMemAllocHost_v2"};
  const Call<void*> mem_free_host{*this, "cuMemFreeHost"};
  const Call<CudaAddress*, void*, unsigned> mem_host_get_device_pointer{
      *this, "cuMemHostGetDevicePointer_v2"};
  const Call<CudaAddress, const void*, std::size_t, CudaStreamHandle> copy_to_device{
      *this, "cuMemcpyHtoDAsync_v2"};
  const Call<void*, CudaAddress, std::size_t, CudaStreamHandle> copy_to_host{
      *this, "cuMemcpyDtoHAsync_v2"};
  const Call<CudaAddress, CudaAddress, std::size_t, CudaStreamHandle> copy_on_device{
      *this, "cuMemcpyDtoDAsync_v2"};
  const Call<CudaAddress, unsigned, std::size_t, CudaStreamHandle> set_words{*this,
                                                                             "cuMemsetD32Async"};
  const Call<CudaStreamHandle*, unsigned> stream_create{*this, "cuStreamCreate"};
  const Call<CudaStreamHandle> stream_destroy{*this, "cuStreamDestroy_v2"};
  const Call<CudaStreamHandle> stream_synchronize{*this, "cuStreamSynchronize"};
  const Call<CudaStreamHandle, CudaEventHandle, unsigned> stream_wait_event{*this,
                                                                            "cuStreamWaitEvent"};
  const Call<CudaStreamHandle, int> stream_begin_capture{*this, "cuStreamBeginCapture_v2"};
  const Call<CudaStreamHandle, CudaGraphHandle*> stream_end_capture{*this, "cuStreamEndCapture"};
  const Call<CudaGraphExecHandle*, CudaGraphHandle, unsigned long long> graph_instantiate{
      *this, "cuGraphInstantiateWithFlags"};
  const Call<CudaGraphExecHandle, CudaStreamHandle> graph_launch{*this, "cuGraphLaunch"};
  const Call<CudaGraphExecHandle> graph_exec_destroy{*this, "cuGraphExecDestroy"};
  const Call<CudaGraphHandle> graph_destroy{*this, "cuGraphDestroy"};
  const Call<CudaEventHandle*, unsigned> event_create{*this, "cuEventCreate"};
  const Call<CudaEventHandle, CudaStreamHandle> event_record{*this, "cuEventRecord"};
  const Call<CudaEventHandle> event_synchronize{*this, "cuEventSynchronize"};
  const Call<float*, CudaEventHandle, CudaEventHandle> event_elapsed_time{*this,
                                                                          "cuEventElapsedTime"};
  const Call<CudaEventHandle> event_destroy{*this, "cuEventDestroy_v2"};
  const Call<CudaModuleHandle*, const void*> module_load_data{*this, "cuModuleLoadData"};
  const Call<CudaModuleHandle> module_unload{*this, "cuModuleUnload"};
  const Call<CudaFunctionHandle*, CudaModuleHandle, const char*> module_get_function{
      *this, "cuModuleGetFunction"};
  const Call<CudaFunctionHandle, int, int> function_set_attribute{*this, "cuFuncSetAttribute"};
  const Call<CudaFunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
             unsigned, CudaStreamHandle, void**, void**>
      launch_kernel{*this, "cuLaunchKernel"};
};

template <class... Arguments>
CudaCall<Arguments...>::CudaCall(const CudaDriver& driver, const char* name)
    : driver_(driver),
      name_(name),
      function_(reinterpret_cast<int (*)(Arguments...)>(driver.find(name))) {}

template <class... Arguments>
void CudaCall<Arguments...>::operator()(Arguments... arguments) const {
  if (const int result = function_(arguments...); result != 0) driver_.fail(name_, result);
}

}  // namespace polyte::runtime
