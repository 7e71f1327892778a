// A single operator, compiled and run in this process: what `polyte op`, the C++ API and the
// benches use. The same path as a model's kernels (object, in-process link, memfd), without
// graph and artifact.
//
//   CompiledOperator op = compile_operator(program, target, {.scheduler = Scheduler::Poly});
//   OperatorRunner runner(op, tensors, 2);  // one per interface buffer, in their order
//   runner.run();
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/compile/build_kernel.h"
#include "runtime/emulator.h"
#include "runtime/shared_library.h"
#include "runtime/tensor.h"
#include "runtime/thread_pool.h"

namespace polyte::driver {

struct CompiledOperator {
  BuiltKernel built;
  codegen::ScratchLayout scratch;
  std::vector<ir::Buffer> rooms;  // temporaries of open size, whose memory the kernel is given
  std::string library;            // the shared object
  bool emulated = false;          // of a GPU: the library holds its threads' code too, for this CPU
  // The processor that it is for, and what one must have to run it: checked on the
  // way (runtime/manifest.h).
  std::string arch, cpu;
  std::vector<std::string> features;
};

CompiledOperator compile_operator(std::shared_ptr<const ir::Program> program,
                                  const codegen::Target& target, const KernelOptions& options);

// The code of a compiled operator in this process: mapped once, for any number of runners.
class LoadedOperator {
 public:
  // UserError(Artifact) where this processor lacks what the kernel was compiled for,
  // UserError(Device) for a GPU's.
  explicit LoadedOperator(const CompiledOperator& op);
  polyte_kernel kernel() const { return kernel_; }

 private:
  runtime::SharedLibrary library_;
  polyte_kernel kernel_;
};

// Who runs the iterations of parallel loops: threads of ours, which runners may share, or the
// caller's own.
struct Workers {
  std::shared_ptr<runtime::ThreadPool> pool;
  const polyte_host* host = nullptr;  // the pool's, or the caller's; outlives the runners

  static Workers of_threads(int threads);
};

// Binds a compiled operator to tensors; they must outlive it. Const buffers are packed at
// construction. `run` is for one thread at a time and, but for the emulator, never allocates. Where
// sizes are open, `resize` comes first.
class OperatorRunner {
 public:
  OperatorRunner(const CompiledOperator& op, std::span<runtime::Tensor> tensors, int threads);
  OperatorRunner(std::shared_ptr<const LoadedOperator> loaded, const CompiledOperator& op,
                 std::span<runtime::Tensor> tensors, Workers workers);
  // The open sizes, one per parameter of the Program, and the tensors of these sizes. Allocates
  // where temporaries grow.
  void resize(std::span<const std::int64_t> sizes, std::span<runtime::Tensor> tensors);
  // UserError if the kernel reports a failure, InternalError with what the emulator has found.
  void run();
  // The same on other memory of the same sizes, one address per tensor. Constants stay those
  // of the construction.
  void run_on(std::span<void* const> data);
  void set_emulation(const runtime::EmulatorOptions& options) { emulation_ = options; }
  // Of the last emulated run.
  const std::vector<runtime::LaunchCounts>& launch_counts() const { return counts_; }

 private:
  std::shared_ptr<const LoadedOperator> loaded_;
  Workers workers_;
  std::vector<runtime::Tensor> packed_;
  runtime::Tensor scratch_;
  std::vector<ir::Buffer> room_buffers_;
  std::vector<runtime::AlignedBuffer> rooms_;
  std::vector<std::int64_t> sizes_;  // behind all buffers; none where all are bound
  std::vector<const void*> buffers_;
  std::vector<const void*> others_;  // those of run_on
  std::vector<bool> is_const_;       // of the tensors
  std::vector<std::int64_t> bytes_;  // of each of them
  std::shared_ptr<const ir::Program> program_;
  bool emulated_;
  runtime::EmulatorOptions emulation_;
  std::vector<runtime::LaunchCounts> counts_;

  void run(const std::vector<const void*>& buffers);
  int run_emulated(const std::vector<const void*>& buffers);
};

// Interface tensors of a Program whose sizes are bound: inputs filled, outputs zeroed.
std::vector<runtime::Tensor> make_tensors(const ir::Program& program);

// Tensor <-> the interpreter's contents.
ir::Contents to_contents(const runtime::Tensor& tensor);
runtime::Tensor to_tensor(const ir::Contents& contents);

}  // namespace polyte::driver
