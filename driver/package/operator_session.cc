#include "driver/package/operator_session.h"

#include <cstring>

#include "driver/package/assemble.h"

namespace polyte::driver {

OperatorSession::OperatorSession(const CompiledOperator& op,
                                 std::span<const runtime::Tensor> tensors,
                                 const codegen::Target& target, const runtime::CudaOptions& cuda)
    : session_(runtime::Artifact::from_parts(assemble(op, tensors, target)), {.cuda = cuda}) {
  const std::vector<const ir::Buffer*> interface = op.built.program->interface();
  in_place_.reserve(tensors.size());  // views of its tensors stay
  for (std::size_t i = 0; i < interface.size(); ++i) {
    const ir::Role role = interface[i]->role;
    if (role == ir::Role::In) inputs_.push_back(tensors[i].view());
    if (role == ir::Role::InOut) {
      in_place_.push_back(
          {tensors[i].view(), runtime::Tensor(tensors[i].dtype(), tensors[i].shape())});
      inputs_.push_back(in_place_.back().before.view());
    }
    if (role == ir::Role::Out || role == ir::Role::InOut) outputs_.push_back(tensors[i].view());
  }
}

// The session reads `before` and writes the tensor: what a run begins with is what the one before
// it has left, as an update in place on a CPU does.
void OperatorSession::run() {
  for (InPlace& each : in_place_)
    std::memcpy(each.before.data(), each.tensor.data, each.before.raw().size());
  session_.run(inputs_, outputs_);
}

}  // namespace polyte::driver
