// Nodes of functions and subgraphs, prepared for being imported among those of the model: values get names of their
// own, attributes that refer to the function's take what the call gives. Recursion follows subgraphs, whose depth
// protobuf limits.
#pragma once

#include <functional>
#include <string>

#include "polyte_onnx.pb.h"

namespace polyte::frontend {

using Rename = std::function<std::string(const std::string&)>;

// Every name of a value in the node and in its subgraphs; absent operands stay absent.
void rename_values(onnx::NodeProto& node, const Rename& rename);

// Attributes that refer to those of the function take the call's value, or the function's own default.
void bind_attributes(onnx::NodeProto& node, const onnx::FunctionProto& function, const onnx::NodeProto& call);

}  // namespace polyte::frontend
