// A compiled kernel as Python calls it.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/api/polyte.h"
#include "python/core/array.h"
#include "python/core/gpu_kernel.h"
#include "runtime/idle_pool.h"

namespace polyte::python {

// Of a kernel for a GPU: which one, and whether this processor emulates its threads where arrays
// are in its own memory.
struct GpuUse {
  runtime::CudaOptions cuda;
  bool is_played = false;
};

// Calls may come from several threads at once: each takes an execution of its own, kept for the
// next one. The GIL is released while the kernel runs, and held otherwise.
class CallableKernel {
 public:
  CallableKernel(api::Kernel kernel, int threads, std::optional<GpuUse> gpu = {});

  // Arrays in the order of the tensors that are read, or by name; `out`: those that are written,
  // else they are new. Of a GPU, `stream`: in which it runs.
  nanobind::object operator()(nanobind::args args, nanobind::kwargs named);
  void wait();  // for what was put into streams
  // The same kernel with these constants packed for good: they are no arguments any more.
  std::unique_ptr<CallableKernel> bind(const nanobind::kwargs& constants) const;
  const api::Kernel& kernel() const { return kernel_; }
  int threads() const { return threads_; }
  std::string description() const;

 private:
  api::Kernel kernel_;
  int threads_;
  std::vector<std::shared_ptr<Array>> bound_;  // one per tensor; null: an argument
  bool has_loose_constants_ = false;           // they are packed at every call
  runtime::IdlePool<api::Execution> executions_;
  std::optional<GpuUse> gpu_;
  std::unique_ptr<GpuKernel> on_gpu_;  // from the first call there on; guarded by the GIL

  struct Call;
  const std::vector<api::TensorInfo>& tensors() const { return kernel_.tensors(); }
  std::vector<api::Argument> bound_arguments() const;
  void run(const std::vector<std::shared_ptr<Array>>& arrays,
           const std::vector<std::int64_t>& sizes);
  GpuKernel& on_gpu();
};

void bind_kernels(nanobind::module_& module);

}  // namespace polyte::python
