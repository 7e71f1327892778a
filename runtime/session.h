// Session: an artifact made ready to run: kernels loaded, arena and scratch reserved,
// threads started.
//
//   Session session(Artifact::open("digits.polyte"), {.threads = 2});
//   session.run({x.view()}, {y.view()});            // on the caller's buffers
//
// `run` may be called from several threads at once: each run has its own arena and scratch, kept
// for the next; a run allocates nothing once as many runs have been in flight before. Results do
// not depend on the number of threads' timing. A processor without the needed features is refused
// by the constructor (UserError(Artifact)).
//
// Where the artifact leaves sizes open (symbols()), each run takes their values from
// the extents of its inputs. The arena of a run grows with the largest scale that it has
// met (runtime/open_number.h) and is kept so; a run that finds no memory for it fails
// with UserError(ResourceLimit).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/cuda_options.h"
#include "runtime/emulator.h"
#include "runtime/run_profile.h"
#include "runtime/tensor.h"
#include "runtime/thread_pool.h"

namespace polyte::runtime {

// How a session runs.
struct SessionOptions {
  int threads = 0;     // 0: as many as processors
  CudaOptions cuda{};  // of an artifact for a GPU
  // Of one that was compiled for the emulator too: it runs there, not on a GPU. A fault
  // is an InternalError.
  std::optional<EmulatorOptions> emulator{};
};

// See above. What it returns by reference lives as long as it.
class Session {
 public:
  // UserError: the artifact does not fit this machine, or there is no memory or no GPU for it.
  explicit Session(std::shared_ptr<const Artifact> artifact, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;  // leaves an empty session behind, good for destruction alone
  Session& operator=(Session&&) = delete;

  const std::vector<TensorSpec>& inputs() const;   // as declared: kOpenExtent where a shape is open
  const std::vector<TensorSpec>& outputs() const;  // likewise
  // The sizes left open; none: all shapes are fixed.
  const std::vector<SymbolSpec>& symbols() const;
  const std::vector<StepSpec>& steps() const;  // kernels and copies, in the order of a run
  const Artifact& artifact() const;            // that it was made from
  int threads() const;                         // that share a run

  // Of what shape the outputs of a run on these inputs are; their data is not looked at and may be
  // null. Wrong inputs are refused as by run.
  std::vector<std::vector<std::int64_t>> output_shapes(std::span<const TensorView> inputs) const;
  // Tensors in the order of inputs() and outputs(), type and shape exactly theirs, open extents by
  // one value of each symbol; outputs must not overlap inputs or each other. All problems of the
  // arguments are listed at once (UserError(InvalidInput)).
  void run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const;
  void run(std::initializer_list<TensorView> inputs,
           std::initializer_list<TensorView> outputs) const;
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;  // allocates the outputs
  // The same run, with the time of every step and of every worker's part.
  RunProfile profile(std::span<const TensorView> inputs, std::span<const TensorView> outputs) const;

  // Of the last run; empty where it is not emulated.
  std::vector<LaunchCounts> launch_counts() const;
  // Where the steps run: a processor, or which GPU.
  polyte_dl_device device() const;
  // Of a GPU: puts a run on tensors in its memory into the caller's stream (a CUstream of the
  // device's primary context; null: the default stream) and returns. The tensors are used until the
  // stream has come so far. What such runs find later (a subscript outside its dimension, a failed
  // launch) is thrown by wait(), which waits for all of them. Runs may follow each other in any
  // streams: what they share waits for itself.
  void run_on(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
              void* stream) const;
  void wait() const;
  // Of a GPU: the last run() once more, on what lies on the device; nothing is copied. For timing:
  // a graph's launch, and the wait for its end. UserError(Usage) where nothing has run.
  void replay() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace polyte::runtime
