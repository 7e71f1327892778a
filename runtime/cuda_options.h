// Which GPU, by which driver.
#pragma once

#include <string>

namespace polyte::runtime {

struct CudaOptions {
  std::string driver{};  // the driver's library; empty: libcuda.so.1
  int device = 0;        // by the driver's number
};

}  // namespace polyte::runtime
