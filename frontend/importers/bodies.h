// Nodes of a function, prepared for being imported among those of the model: attributes that refer
// to the function's take what the call gives, operands that the call leaves out are left out.
// Recursion follows subgraphs, whose depth protobuf limits.
#pragma once

#include <string>
#include <unordered_set>

#include "polyte_onnx.pb.h"

namespace polyte::frontend {

// Operands of these names become absent, in the node and in its subgraphs.
void remove_operands(onnx::NodeProto& node, const std::unordered_set<std::string>& names);

// Attributes that refer to those of the function take the call's value, or the function's
// own default.
void bind_attributes(onnx::NodeProto& node, const onnx::FunctionProto& function,
                     const onnx::NodeProto& call);

}  // namespace polyte::frontend
