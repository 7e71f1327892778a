// A compiled operator on a GPU: the artifact of one step that it is, in a session. What
// OperatorRunner is on a CPU.
#pragma once

#include <span>
#include <vector>

#include "driver/compile/operator.h"
#include "runtime/session.h"

namespace polyte::driver {

class OperatorSession {
 public:
  // One tensor an interface buffer, in the Program's order; they must outlive it. UserError(Device)
  // where there is no GPU.
  OperatorSession(const CompiledOperator& op, std::span<const runtime::Tensor> tensors,
                  const codegen::Target& target, const runtime::CudaOptions& cuda);
  void run();
  void replay() const { session_.replay(); }  // after a run

 private:
  runtime::Session session_;
  std::vector<runtime::TensorView> inputs_, outputs_;
  // Of tensors that are input and output at once: what a run begins with, for a session's inputs
  // stay as they are.
  struct InPlace {
    runtime::TensorView tensor;
    runtime::Tensor before;
  };
  std::vector<InPlace> in_place_;
};

}  // namespace polyte::driver
