// Executor: what a session's steps run on, this processor (cpu_executor.cc), a GPU
// (cuda_executor.cc) or this processor that emulates one (emulated_executor.cc). One of them serves
// runs from several threads at once, each with memory of its own that is kept for the next.
#pragma once

#include <memory>
#include <span>

#include "runtime/artifact.h"
#include "runtime/cuda_options.h"
#include "runtime/emulator.h"
#include "runtime/run_profile.h"
#include "runtime/tensor.h"

namespace polyte::runtime {

class Executor {
 public:
  Executor() = default;
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  using Views = std::span<const TensorView>;
  virtual void run(Views inputs, Views outputs) = 0;  // on tensors in this processor's memory
  virtual RunProfile profile(Views inputs, Views outputs) = 0;
  virtual int threads() const = 0;  // of this processor
  // On tensors in the GPU's memory; UserError(Usage) where the steps run on a processor.
  virtual void run_on(Views inputs, Views outputs, void* stream);
  virtual void wait();
  virtual void replay();
  // Of the last run, where it is emulated.
  virtual std::vector<LaunchCounts> launch_counts() const { return {}; }
  virtual polyte_dl_device device() const { return {POLYTE_DL_CPU, 0}; }
};

std::unique_ptr<Executor> make_cpu_executor(std::shared_ptr<const Artifact> artifact, int threads);
// Of an artifact for a GPU that has code for the emulator; UserError(Artifact) where it has none.
std::unique_ptr<Executor> make_emulated_executor(std::shared_ptr<const Artifact> artifact,
                                                 const EmulatorOptions& options);
std::unique_ptr<Executor> make_cuda_executor(std::shared_ptr<const Artifact> artifact,
                                             const CudaOptions& options);

}  // namespace polyte::runtime
