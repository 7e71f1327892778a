// Calls of a kernel for a GPU: on arrays in its memory, in the caller's stream, or on arrays of
// this processor, which are copied there and back.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "driver/api/polyte.h"
#include "python/core/array.h"
#include "runtime/cuda_device.h"
#include "runtime/idle_pool.h"
#include "runtime/session.h"

namespace polyte::python {

class GpuKernel {
 public:
  // `constants`: arguments whose memory stays for as long. Opens the GPU: UserError(Device)
  // where there is none.
  GpuKernel(const api::Kernel& kernel, const std::vector<api::Argument>& constants,
            const runtime::CudaOptions& cuda);

  using Arrays = std::span<const std::shared_ptr<Array>>;  // one per tensor, of constants null
  // On this processor's arrays. Throws UserError; without the GIL.
  void run(Arrays arrays) const;
  // On the GPU's, in a stream; without one in the default stream, and then it waits for the end.
  void run_on(Arrays arrays, std::optional<Stream> stream);
  void wait() const { session_->wait(); }
  const runtime::CudaDevicePtr& device() const { return device_; }

 private:
  // What tensors that are updated in place held before: a session's inputs stay as they are.
  struct Before {
    std::vector<runtime::CudaMemory> memory;
    runtime::CudaEvent used;  // by the last run
  };

  std::vector<api::TensorInfo> tensors_;
  std::shared_ptr<const runtime::Session> session_;
  runtime::CudaDevicePtr device_;
  runtime::IdlePool<Before> befores_;

  bool is_in_place() const;
  std::unique_ptr<Before> make_before() const;
};

}  // namespace polyte::python
