// What an arm reads and writes: the interface of a Program whose sizes are bound, or the inputs and
// outputs of a model.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "runtime/tensor.h"

namespace polyte::lab {

struct Slot {
  std::string name;
  DType dtype = DType::F32;
  runtime::Shape shape;
  ir::Role role = ir::Role::In;
  bool is_written() const { return role == ir::Role::Out || role == ir::Role::InOut; }
};
using Interface = std::vector<Slot>;  // in the order in which the kernel takes them

Interface interface_of(const ir::Program& program);

// One tensor per slot, inputs filled by the words of --fill, what is only written zero.
std::vector<runtime::Tensor> filled_tensors(const Interface& interface, const std::string& fill);

}  // namespace polyte::lab
