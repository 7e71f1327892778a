// What the parts of the API share: schedulers as the driver names them, and its targets.
#pragma once

#include "driver/api/polyte.h"
#include "driver/compile/describe_target.h"
#include "driver/compile/model.h"
#include "runtime/cuda_options.h"

namespace polyte::api {

driver::Scheduler scheduler_of(Scheduler scheduler);
driver::ModelOptions driver_options(const ModelOptions& options);
Scheduling scheduling_of(const driver::BuiltKernel& kernel);
codegen::Target target_of(const CompileOptions& options);
schedule::Script script_of(const CompileOptions& options);  // its params filled in
Refusal refusal_of(const schedule::Refusal& refusal);       // as the API says it

// What is asked of the driver for one kernel. `options` points to `script`.
struct KernelRequest {
  KernelRequest(const Program& program, const CompileOptions& asked);
  KernelRequest(const KernelRequest&) = delete;
  KernelRequest& operator=(const KernelRequest&) = delete;

  codegen::Target target;
  std::shared_ptr<const ir::Program> bound;
  schedule::Script script;
  driver::KernelOptions options;
};
inline runtime::CudaOptions cuda_options(const GpuChoice& gpu) { return {gpu.driver, gpu.device}; }

}  // namespace polyte::api
