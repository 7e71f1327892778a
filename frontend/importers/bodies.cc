#include "frontend/importers/bodies.h"

#include <vector>

namespace polyte::frontend {

// An operand that is not there is an empty name in ONNX. Branches of an If may read a function's
// inputs too, so the walk goes into subgraphs.
void remove_operands(onnx::NodeProto& node, const std::unordered_set<std::string>& names) {
  if (names.empty()) return;
  for (std::string& input : *node.mutable_input()) {
    if (names.contains(input)) input.clear();
  }
  for (auto& attribute : *node.mutable_attribute()) {
    if (!attribute.has_g()) continue;
    for (auto& inner : *attribute.mutable_g()->mutable_node()) remove_operands(inner, names);
  }
}

void bind_attributes(onnx::NodeProto& node, const onnx::FunctionProto& function,
                     const onnx::NodeProto& call) {
  std::vector<onnx::AttributeProto> bound;
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) {
      for (auto& inner : *attribute.mutable_g()->mutable_node())
        bind_attributes(inner, function, call);
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
    // An attribute that neither has is left out, so that the operator's own default holds.
    take_from(call.attribute()) || take_from(function.attribute_proto());
  }
  node.clear_attribute();
  for (auto& attribute : bound) *node.add_attribute() = std::move(attribute);
}

}  // namespace polyte::frontend
