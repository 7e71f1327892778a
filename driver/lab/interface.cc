#include "driver/lab/interface.h"

#include "runtime/fill.h"

namespace polyte::lab {

Interface interface_of(const ir::Program& program) {
  Interface interface;
  for (const ir::Buffer* buffer : program.interface())
    interface.push_back({buffer->name, buffer->dtype, ir::constant_shape(*buffer), buffer->role});
  return interface;
}

std::vector<runtime::Tensor> filled_tensors(const Interface& interface, const std::string& fill) {
  const runtime::Fill how = runtime::parse_fill(fill);
  std::vector<runtime::Tensor> tensors;
  for (const Slot& slot : interface) {
    tensors.emplace_back(slot.dtype, slot.shape);
    if (slot.role != ir::Role::Out) runtime::fill(tensors.back(), how, slot.name);
  }
  return tensors;
}

}  // namespace polyte::lab
