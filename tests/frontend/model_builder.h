// Building small ONNX models in tests, through the message classes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "polyte_onnx.pb.h"

namespace polyte::testing {

using List = std::vector<std::int64_t>;

class ModelBuilder {
 public:
  explicit ModelBuilder(int opset = 13, int ir_version = 8);

  onnx::ValueInfoProto& input(const std::string& name, const List& shape,
                              int type = onnx::TensorProto::FLOAT);
  onnx::ValueInfoProto& output(const std::string& name);  // type and shape left open
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = {});
  onnx::TensorProto& floats(const std::string& name, const List& shape,
                            const std::vector<float>& elements);
  onnx::TensorProto& integers(const std::string& name, const List& shape, const List& elements);
  // An initializer without elements: the caller fills it in.
  onnx::TensorProto& tensor(const std::string& name, const List& shape,
                            int type = onnx::TensorProto::FLOAT);

  onnx::ModelProto model;
  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  std::string bytes() const { return model.SerializeAsString(); }
};

void set(onnx::NodeProto& node, const std::string& name, std::int64_t value);
void set(onnx::NodeProto& node, const std::string& name, float value);
void set(onnx::NodeProto& node, const std::string& name, const std::string& value);
void set(onnx::NodeProto& node, const std::string& name, const List& values);

}  // namespace polyte::testing
