#include "codegen/common/instructions.h"

namespace polyte::codegen {

using Value = llvm::Value;

Value* Instructions::extremum(Builder& /*b*/, llvm::Intrinsic::ID /*which*/, Value* /*x*/,
                              Value* /*y*/) const {
  return nullptr;
}

Value* Instructions::times_power_of_two(Builder& /*b*/, Value* /*value*/, Value* /*n*/) const {
  return nullptr;
}

bool Instructions::has_within(const llvm::Type* /*type*/) const { return false; }

Value* Instructions::within(Builder& /*b*/, Value* /*x*/, llvm::Constant* /*limit*/) const {
  return nullptr;
}

// Nothing to do: such stores are ordered like all others by the barriers around a parallel loop.
void Instructions::fence_streams(Builder& /*b*/) const {}

std::string feature_string(const Machine& machine) {
  std::string text;
  for (const std::string& feature : machine.features) text += (text.empty() ? "" : ",") + feature;
  return text;
}

}  // namespace polyte::codegen
