#include "tests/frontend/model_builder.h"

namespace polyte::testing {

using onnx::AttributeProto;
using onnx::TensorProto;

ModelBuilder::ModelBuilder(int opset, int ir_version) {
  model.set_ir_version(ir_version);
  model.add_opset_import()->set_version(opset);
  graph().set_name("test");
}

onnx::ValueInfoProto& ModelBuilder::input(const std::string& name, const List& shape, int type) {
  onnx::ValueInfoProto& info = *graph().add_input();
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  auto& dims = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (std::int64_t extent : shape) dims.add_dim()->set_dim_value(extent);
  return info;
}

onnx::ValueInfoProto& ModelBuilder::output(const std::string& name) {
  onnx::ValueInfoProto& info = *graph().add_output();
  info.set_name(name);
  return info;
}

onnx::NodeProto& ModelBuilder::node(const std::string& op, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs,
                                    const std::string& name) {
  onnx::NodeProto& added = *graph().add_node();
  added.set_op_type(op);
  added.set_name(name);
  for (const std::string& i : inputs) added.add_input(i);
  for (const std::string& o : outputs) added.add_output(o);
  return added;
}

onnx::TensorProto& ModelBuilder::tensor(const std::string& name, const List& shape, int type) {
  onnx::TensorProto& added = *graph().add_initializer();
  added.set_name(name);
  added.set_data_type(type);
  for (std::int64_t extent : shape) added.add_dims(extent);
  return added;
}

onnx::TensorProto& ModelBuilder::floats(const std::string& name, const List& shape,
                                        const std::vector<float>& elements) {
  onnx::TensorProto& added = tensor(name, shape, TensorProto::FLOAT);
  for (float element : elements) added.add_float_data(element);
  return added;
}

onnx::TensorProto& ModelBuilder::integers(const std::string& name, const List& shape,
                                          const List& elements) {
  onnx::TensorProto& added = tensor(name, shape, TensorProto::INT64);
  for (std::int64_t element : elements) added.add_int64_data(element);
  return added;
}

namespace {

AttributeProto& attribute(onnx::NodeProto& node, const std::string& name,
                          AttributeProto::AttributeType type) {
  AttributeProto& added = *node.add_attribute();
  added.set_name(name);
  added.set_type(type);
  return added;
}

}  // namespace

void set(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  attribute(node, name, AttributeProto::INT).set_i(value);
}
void set(onnx::NodeProto& node, const std::string& name, float value) {
  attribute(node, name, AttributeProto::FLOAT).set_f(value);
}
void set(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  attribute(node, name, AttributeProto::STRING).set_s(value);
}
void set(onnx::NodeProto& node, const std::string& name, const List& values) {
  AttributeProto& added = attribute(node, name, AttributeProto::INTS);
  for (std::int64_t value : values) added.add_ints(value);
}

}  // namespace polyte::testing
