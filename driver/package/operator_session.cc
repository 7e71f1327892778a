#include "driver/package/operator_session.h"

#include "driver/package/assemble.h"

namespace polyte::driver {

OperatorSession::OperatorSession(const CompiledOperator& op, std::span<const runtime::Tensor> tensors,
                                 const codegen::Target& target, const runtime::CudaOptions& cuda)
    : session_(runtime::Artifact::from_parts(assemble(op, tensors, target)), {.cuda = cuda}) {
  const std::vector<const ir::Buffer*> interface = op.built.program->interface();
  for (std::size_t i = 0; i < interface.size(); ++i) {
    if (interface[i]->role == ir::Role::In) inputs_.push_back(tensors[i].view());
    if (interface[i]->role == ir::Role::Out) outputs_.push_back(tensors[i].view());
  }
}

}  // namespace polyte::driver
