// CudaCode: an artifact's code for GPUs, loaded on one: each module by its machine code for this
// device where the artifact has it, else by its PTX, which the driver compiles. All kernels are
// found and set up when it is made, so that launching one only starts it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/cuda_device.h"
#include "support/kernel_abi.h"

namespace polyte::runtime {

// What of a module's architectures runs on a device of this compute capability: "sm_90a" on 90
// alone, "sm_86" on 86 and later ones of the same generation, the nearest first; "ptx" where there
// is no other. Empty: nothing does.
std::string choose_architecture(const std::vector<std::string>& architectures,
                                int compute_capability);

class CudaCode {
 public:
  // The device is current. UserError(Artifact) where a module has nothing for it, or its code
  // is not taken.
  CudaCode(const CudaDevicePtr& device, const Artifact& artifact);

  // Starts a kernel on the stream, as support/kernel_abi.h has it. CudaError;
  // UserError(ResourceLimit) for a grid that no device takes; UserError(Artifact) for a kernel that
  // the artifact's manifest does not list so.
  void launch(const polyte_launch& launch, const std::int64_t* grid, const void* const* arguments,
              CudaStreamHandle stream) const;

 private:
  struct Kernel {
    DeviceKernel spec;
    CudaFunctionHandle function = nullptr;
  };
  CudaDevicePtr device_;
  std::string source_;
  std::vector<CudaModule> modules_;
  std::map<std::string, Kernel, std::less<>> kernels_;

  void load(const Artifact& artifact, const DeviceModule& module);
  void add_kernel(const CudaModule& module, const DeviceKernel& spec);
};

}  // namespace polyte::runtime
