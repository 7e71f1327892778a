// Functions of the model and branches of If: what is in them, and how deep they go.
#include "tests/frontend/hostile/families.h"
#include "tests/frontend/hostile/writer.h"

namespace polyte::testing {

namespace {

using enum ExitStatus;
using onnx::TensorProto;

// A function of the model, acme::name(a) -> (z), and a call of it.
onnx::FunctionProto& function(ModelBuilder& b, const std::string& name) {
  onnx::FunctionProto& added = *b.model.add_functions();
  added.set_name(name);
  added.set_domain("acme");
  added.add_input("a");
  added.add_output("z");
  added.add_opset_import()->set_version(13);
  return added;
}
void call(onnx::NodeProto& node, const std::string& op, const std::string& from,
          const std::string& to) {
  node.set_op_type(op);
  node.add_input(from);
  node.add_output(to);
}
void to_acme(onnx::NodeProto& node) { node.set_domain("acme"); }

onnx::GraphProto& branch(onnx::NodeProto& node, const std::string& name) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  return *attribute.mutable_g();
}

}  // namespace

void write_functions(HostileWriter& w) {
  w.one("function_of_other_domain", Unsupported, "relu", {"x"},
        [](ModelBuilder& b) { function(b, "relu"); });
  w.one(
      "function_sound", Success, "relu", {"x"},
      [](ModelBuilder& b) { call(*function(b, "relu").add_node(), "Relu", "a", "z"); }, to_acme);
  w.one(
      "function_empty", InvalidInput, "relu", {"x"}, [](ModelBuilder& b) { function(b, "relu"); },
      to_acme);
  w.one(
      "function_dangling", InvalidInput, "relu", {"x"},
      [](ModelBuilder& b) { call(*function(b, "relu").add_node(), "Relu", "nowhere", "z"); },
      to_acme);
  w.one(
      "function_sees_no_outside", InvalidInput, "relu", {"x"},
      [](ModelBuilder& b) { call(*function(b, "relu").add_node(), "Relu", "x", "z"); }, to_acme);
  w.one(
      "function_too_many_operands", InvalidInput, "relu", {"x", "x"},
      [](ModelBuilder& b) { call(*function(b, "relu").add_node(), "Relu", "a", "z"); }, to_acme);
  w.one(
      "function_opset_99", Unsupported, "relu", {"x"},
      [](ModelBuilder& b) {
        onnx::FunctionProto& f = function(b, "relu");
        f.mutable_opset_import(0)->set_version(99);
        call(*f.add_node(), "Relu", "a", "z");
      },
      to_acme);
  w.one(
      "function_unknown_operator", Unsupported, "relu", {"x"},
      [](ModelBuilder& b) { call(*function(b, "relu").add_node(), "Teleport", "a", "z"); },
      to_acme);
  w.one(
      "function_calls_itself", ResourceLimit, "relu", {"x"},
      [](ModelBuilder& b) {
        onnx::NodeProto& inner = *function(b, "relu").add_node();
        call(inner, "relu", "a", "z");
        to_acme(inner);
      },
      to_acme);
  w.one(
      "function_bomb", ResourceLimit, "f14", {"x"},
      [](ModelBuilder& b) {
        call(*function(b, "f0").add_node(), "Relu", "a", "z");
        for (int i = 1; i < 15; ++i) {  // f<i> is ten calls of f<i - 1>
          onnx::FunctionProto& f = function(b, "f" + std::to_string(i));
          for (int k = 0; k < 10; ++k) {
            onnx::NodeProto& node = *f.add_node();
            call(node, "f" + std::to_string(i - 1), k == 0 ? "a" : "v" + std::to_string(k - 1),
                 k == 9 ? "z" : "v" + std::to_string(k));
            to_acme(node);
          }
        }
      },
      to_acme);
}

// If(c) with branches of one node each.
void write_branches(HostileWriter& w) {
  const auto branches = [&](const std::string& name, ExitStatus expected, const std::string& yes,
                            const std::string& no, const std::string& output, bool is_constant) {
    w.one(
        name, expected, "If", {"c"},
        [&](ModelBuilder& b) {
          if (is_constant)
            b.tensor("c", {}, TensorProto::BOOL).add_int32_data(1);
          else
            b.input("c", {}, TensorProto::BOOL);
        },
        [&](onnx::NodeProto& node) {
          for (const auto& [label, op] :
               {std::pair{"then_branch", yes}, std::pair{"else_branch", no}}) {
            onnx::GraphProto& body = branch(node, label);
            call(*body.add_node(), op, "x", "r");
            body.add_output()->set_name(output);
          }
        });
  };
  branches("if_sound", Success, "Relu", "Abs", "r", false);
  branches("if_constant", Success, "Relu", "Teleport", "r", true);
  branches("if_unknown_operator", Unsupported, "Relu", "Teleport", "r", false);
  branches("if_other_shapes", Unsupported, "Relu", "Transpose", "r", false);
  branches("if_other_types", Unsupported, "Relu", "IsNaN", "r", false);
  branches("if_output_of_nothing", InvalidInput, "Relu", "Abs", "q", false);
  w.one("if_without_branches", InvalidInput, "If", {"c"},
        [](ModelBuilder& b) { b.input("c", {}, TensorProto::BOOL); });
  w.one("if_condition_of_floats", InvalidInput, "If", {"x"}, {}, [](onnx::NodeProto& node) {
    for (const char* label : {"then_branch", "else_branch"}) {
      onnx::GraphProto& body = branch(node, label);
      call(*body.add_node(), "Relu", "x", "r");
      body.add_output()->set_name("r");
    }
  });
}

}  // namespace polyte::testing
