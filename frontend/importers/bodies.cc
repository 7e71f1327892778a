#include "frontend/importers/bodies.h"

#include <vector>

namespace polyte::frontend {

void rename_values(onnx::NodeProto& node, const Rename& rename) {
  for (std::string& input : *node.mutable_input()) input = input.empty() ? "" : rename(input);
  for (std::string& output : *node.mutable_output()) output = output.empty() ? "" : rename(output);
  for (auto& attribute : *node.mutable_attribute()) {
    if (!attribute.has_g()) continue;
    for (auto& inner : *attribute.mutable_g()->mutable_node()) rename_values(inner, rename);
    for (auto& tensor : *attribute.mutable_g()->mutable_initializer()) tensor.set_name(rename(tensor.name()));
    for (auto& output : *attribute.mutable_g()->mutable_output()) output.set_name(rename(output.name()));
  }
}

void bind_attributes(onnx::NodeProto& node, const onnx::FunctionProto& function, const onnx::NodeProto& call) {
  std::vector<onnx::AttributeProto> bound;
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) {
      for (auto& inner : *attribute.mutable_g()->mutable_node()) bind_attributes(inner, function, call);
    }
    if (attribute.ref_attr_name().empty()) {
      bound.push_back(attribute);
      continue;
    }
    const auto take_from = [&](const auto& list) {
      for (const auto& given : list) {
        if (given.name() != attribute.ref_attr_name()) continue;
        bound.push_back(given);
        bound.back().set_name(attribute.name());
        return true;
      }
      return false;
    };
    take_from(call.attribute()) || take_from(function.attribute_proto());
  }
  node.clear_attribute();
  for (auto& attribute : bound) *node.add_attribute() = std::move(attribute);
}

}  // namespace polyte::frontend
