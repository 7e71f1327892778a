// CudaSteps: an artifact's steps on a GPU, and CudaRun, what one run of them needs for itself.
// The steps' own code is this processor's: it computes grids and starts kernels. What it starts
// in one run becomes one graph, which later runs on the same addresses with the same sizes start
// as a whole:
//
//   the graph      every step's launches and copies, and nothing else
//
// Each step has a status word of its own, so that what a kernel found on the device names its step.
// The words lie in this processor's memory, where a kernel that finds nothing never goes: a copy
// of them after each run would take longer than many a kernel. They stay as they are until somebody
// has looked at them and cleared them.
//
//   const CudaSteps steps(artifact, options);
//   std::unique_ptr<CudaRun> run = steps.make_run();
//   run->sizes = ...;
//   steps.fit(*run);
//   steps.use_own_tensors(*run);
//   driver.graph_launch(steps.graph_of(*run), stream);
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/cuda_code.h"
#include "runtime/step_list.h"
#include "runtime/tensor.h"

namespace polyte::runtime {

// A graph, and the addresses and sizes that it is of.
struct CapturedGraph {
  CudaGraphExec graph;
  std::vector<const void*> pointers;
  std::vector<std::int64_t> sizes;
};

struct CudaRun {
  const CudaCode* code = nullptr;
  CudaStream stream;
  CudaEvent done;        // of the last run in a caller's stream,
  bool is_open = false;  // which may not have come so far
  CudaMemory scratch, arena, tensors;
  CudaHostMemory statuses;     // the status words,
  CudaAddress statuses_there;  // and where the device finds them
  std::int64_t arena_bytes = 0, tensor_bytes = 0;
  // The buffers of all steps; sizes lie on this processor.
  std::vector<const void*> pointers;
  std::vector<std::int64_t> sizes;                       // of this run
  std::vector<const void*> input_places, output_places;  // in `tensors`
  polyte_host host{};
  std::exception_ptr failure;  // what a launch could not say to the code that asked for it
  std::vector<CapturedGraph> graphs;
  std::size_t next_graph = 0;          // to be replaced
  CudaGraphExecHandle last = nullptr;  // the graph that graph_of gave last
};

class CudaSteps {
 public:
  CudaSteps(std::shared_ptr<const Artifact> artifact, const CudaOptions& options);

  const Artifact& artifact() const { return *artifact_; }
  const CudaDevicePtr& device() const { return device_; }
  const CudaDriver& cuda() const { return device_->driver(); }
  std::size_t count() const { return list_.steps.size(); }

  // The device is current in all of these. A run has memory for the smallest sizes.
  std::unique_ptr<CudaRun> make_run() const;
  // Memory for run.sizes. It only grows, so sizes that come in turn cost none of their own.
  void fit(CudaRun& run) const;
  // Where inputs and outputs are: in memory of the run, or in the caller's.
  void use_own_tensors(CudaRun& run) const;
  void use_tensors(CudaRun& run, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) const;
  std::size_t input_bytes(const CudaRun& run, std::size_t i) const;
  std::size_t output_bytes(const CudaRun& run, std::size_t i) const;

  // Captured where there is none; a few are kept.
  CudaGraphExecHandle graph_of(CudaRun& run) const;
  // The same into run.stream, step by step. `events`: null, or one before the first step and
  // one after each.
  void enqueue(CudaRun& run, const std::vector<CudaEvent>* events) const;
  // Once the run is over. UserError(InvalidInput) by the first step that found something; all
  // words are cleared.
  void check_statuses(CudaRun& run) const;

 private:
  std::shared_ptr<const Artifact> artifact_;
  StepList list_;
  std::vector<OpenNumber> input_bytes_, output_bytes_;
  CudaDevicePtr device_;
  std::optional<CudaCode> code_;
  std::vector<CudaMemory> constants_;

  void copy_constants();
  void clear_statuses(CudaRun& run) const;
  std::size_t status_bytes() const;
  void execute(std::size_t number, CudaRun& run) const;
  CudaGraphExec capture(CudaRun& run) const;
};

}  // namespace polyte::runtime
