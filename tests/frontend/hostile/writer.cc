#include "tests/frontend/hostile/writer.h"

#include <fstream>

namespace polyte::testing {

void HostileWriter::bytes(const std::string& name, ExitStatus expected,
                          const std::string& content) {
  std::ofstream(folder_ / (name + ".onnx"), std::ios::binary) << content;
  models.push_back({name, expected});
}

void HostileWriter::model(const std::string& name, ExitStatus expected, const Build& build,
                          int opset) {
  ModelBuilder b(opset);
  b.input("x", {2, 3});
  b.output("y");
  build(b);
  bytes(name, expected, b.bytes());
}

void HostileWriter::one(const std::string& name, ExitStatus expected, const std::string& op,
                        const std::vector<std::string>& inputs, const Build& build,
                        const std::function<void(onnx::NodeProto&)>& attributes) {
  model(name, expected, [&](ModelBuilder& b) {
    if (build) build(b);
    onnx::NodeProto& node = b.node(op, inputs, {"y"}, "n");
    if (attributes) attributes(node);
  });
}

HostileWriter::Build listed(const std::string& name, const List& list) {
  return [=](ModelBuilder& b) { b.integers(name, {static_cast<std::int64_t>(list.size())}, list); };
}

}  // namespace polyte::testing
