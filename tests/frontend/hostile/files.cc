// Files that are cut, padded or no model at all, and models whose header is wrong.
#include "tests/frontend/hostile/families.h"
#include "tests/frontend/hostile/writer.h"

namespace polyte::testing {

namespace {

using enum ExitStatus;

std::string sound_model() {
  ModelBuilder b;
  b.input("x", {2, 3});
  b.floats("w", {3}, {1, 2, 3});
  b.node("Add", {"x", "w"}, {"y"}, "add");
  b.output("y");
  return b.bytes();
}

// An If inside an If inside ...: deeper than any parser should follow.
void nest(onnx::GraphProto& graph, int depth) {
  onnx::GraphProto* inner = &graph;
  for (int i = 0; i < depth; ++i) {
    onnx::NodeProto& node = *inner->add_node();
    node.set_op_type("If");
    onnx::AttributeProto& branch = *node.add_attribute();
    branch.set_name("then_branch");
    branch.set_type(onnx::AttributeProto::GRAPH);
    inner = branch.mutable_g();
  }
}

}  // namespace

void write_damaged_files(HostileWriter& w) {
  const std::string sound = sound_model();
  w.bytes("sound", Success, sound);
  w.bytes("empty", InvalidInput, "");
  w.bytes("one_byte", InvalidInput, "\x08");
  w.bytes("text", InvalidInput, "this is no model\n");
  w.bytes("half", InvalidInput, sound.substr(0, sound.size() / 2));
  w.bytes("last_byte_missing", InvalidInput, sound.substr(0, sound.size() - 1));
  w.bytes("trailing_garbage", InvalidInput, sound + "\xff\xff\xff");
  w.bytes("zeros", InvalidInput, std::string(4096, '\0'));
  w.bytes("length_beyond_end", InvalidInput, std::string("\x08\x08\x3a\xff\xff\xff\xff\x07", 8));
  w.bytes("group_tags", InvalidInput, std::string(1000, '\x0b'));
}

void write_headers(HostileWriter& w) {
  onnx::ModelProto no_graph;
  no_graph.set_ir_version(8);
  no_graph.add_opset_import()->set_version(13);
  w.bytes("no_graph", InvalidInput, no_graph.SerializeAsString());
  w.model("no_ir_version", InvalidInput, [](ModelBuilder& b) { b.model.set_ir_version(0); });
  w.one("no_opset", InvalidInput, "Relu", {"x"},
        [](ModelBuilder& b) { b.model.clear_opset_import(); });
  w.one("two_opsets", InvalidInput, "Relu", {"x"},
        [](ModelBuilder& b) { b.model.add_opset_import()->set_version(12); });
  w.one("opset_negative", InvalidInput, "Relu", {"x"},
        [](ModelBuilder& b) { b.model.mutable_opset_import(0)->set_version(-3); });
  w.one("opset_99", Unsupported, "Relu", {"x"},
        [](ModelBuilder& b) { b.model.mutable_opset_import(0)->set_version(99); });
  w.one("opset_3_has_no_relu", Unsupported, "Relu", {"x"},
        [](ModelBuilder& b) { b.model.mutable_opset_import(0)->set_version(3); });
  w.one("nested_200_deep", InvalidInput, "Relu", {"x"},
        [](ModelBuilder& b) { nest(b.graph(), 200); });
  w.one("nested_20_deep", InvalidInput, "Relu", {"x"},
        [](ModelBuilder& b) { nest(b.graph(), 20); });
}

}  // namespace polyte::testing
