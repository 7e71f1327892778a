// A kernel for a GPU as an artifact holds it: what starts it, on this processor, and its code for
// the device in all forms that are to be kept. PTX, for drivers to compile, but of a kernel that is
// for one generation alone; machine code where there is an assembler.
#pragma once

#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/nvptx/assembler.h"

namespace polyte::driver {

struct DeviceCode {
  struct Image {
    std::string architecture, bytes;
  };
  std::string module;  // its name, a word
  std::vector<codegen::LaunchInfo> launches;
  std::vector<Image> images;
  codegen::DeviceBinary assembled;  // what the assembler says; no bytes
};

struct GpuObject {
  codegen::ObjectCode host;
  DeviceCode device;
};

// `emulated`: also for the emulator.
GpuObject compile_for_gpu(const codegen::Kernel& kernel, const codegen::Target& target,
                          bool emulated);

}  // namespace polyte::driver
