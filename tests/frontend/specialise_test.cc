// Inputs whose values decide shapes, functions of the model, branches.
#include <doctest/doctest.h>
#include "frontend/onnx_import.h"
#include "graph/evaluate.h"
#include "support/error.h"
#include "tests/frontend/model_builder.h"

using namespace polyte;
using onnx::TensorProto;
using testing::ModelBuilder;

namespace {

frontend::Imported import_model(const ModelBuilder& b, const frontend::ImportOptions& options = {}) {
  return frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".", options);
}

std::string refusal(const ModelBuilder& b, const frontend::ImportOptions& options = {}) {
  try {
    import_model(b, options);
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::Unsupported);
    return error.what();
  }
  return "no error";
}

// y = Reshape(x, |s| * t): two inputs decide the shape, x does not.
ModelBuilder reshaped_to_12() {
  ModelBuilder b;
  b.input("x", {6, 6});
  b.input("s", {2}, TensorProto::INT64);
  b.input("t", {}, TensorProto::INT64);
  b.node("Abs", {"s"}, {"a"}, "abs");
  b.node("Mul", {"a", "t"}, {"u"}, "mul");
  b.node("Reshape", {"x", "u"}, {"y"}, "reshape");
  b.output("y");
  return b;
}

}  // namespace

TEST_CASE("specialise: inputs that a shape is computed from become constants, the others are not asked for") {
  frontend::ImportOptions options;
  options.offer = [](const std::string& name, std::size_t position) -> std::optional<graph::Tensor> {
    CHECK(position == (name == "s" ? 1 : 2));
    return name == "s" ? graph::make_int64s({-4, 1}) : graph::make_scalar(DType::I64, 3);
  };
  const frontend::Imported imported = import_model(reshaped_to_12(), options);
  CHECK(imported.specialised.size() == 2);
  REQUIRE(imported.graph.inputs.size() == 1);
  CHECK(imported.graph.value(imported.graph.inputs[0]).name == "x");
  CHECK(imported.graph.value(imported.graph.outputs[0]).type.shape == graph::Dims{12, 3});
}

TEST_CASE("specialise: an open dimension is that of the value offered") {
  ModelBuilder b;
  b.input("x", {1, 4}).mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  b.node("Relu", {"x"}, {"y"}, "relu");
  b.output("y");
  frontend::ImportOptions options;
  options.offer = [](const std::string&, std::size_t) {
    return graph::make_tensor({DType::F32, {5, 4}}, std::vector<double>(20));
  };
  const frontend::Imported imported = import_model(b, options);
  CHECK(imported.specialised.empty());
  CHECK(imported.graph.value(imported.graph.inputs[0]).type.shape == graph::Dims{5, 4});
}

TEST_CASE("specialise: what lacks is named, with what was given") {
  CHECK(
      refusal(reshaped_to_12()) ==
      "m.onnx: 1 of 3 nodes are not supported\n"
      "  'reshape' (Reshape, opset 13)    input 1 (the shape) is computed from 's', 't', known only at run time; it is "
      "supported as a constant, or as an input given with --value");
  frontend::ImportOptions options;
  options.offer = [](const std::string& name, std::size_t) -> std::optional<graph::Tensor> {
    return name == "s" ? std::optional(graph::make_int64s({1, 2, 3})) : std::nullopt;
  };
  CHECK(refusal(reshaped_to_12(), options).find("computed from 's' (given as i64[3], expected i64[2]), 't'") !=
        std::string::npos);
}

namespace {

onnx::NodeProto& add(onnx::FunctionProto& function, const std::string& op, const std::vector<std::string>& inputs,
                     const std::string& output) {
  onnx::NodeProto& node = *function.add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

graph::Tensor run(const graph::Graph& graph, const std::vector<double>& x) {
  const graph::Tensor input = graph::make_tensor(graph.value(graph.inputs[0]).type, x);
  return evaluate_graph(graph, std::vector{input}).front();
}

}  // namespace

TEST_CASE("functions: inlined with their own opset, attributes bound, names apart, absent operands absent") {
  ModelBuilder b(17);
  onnx::FunctionProto& f = *b.model.add_functions();
  f.set_domain("acme");
  f.set_name("scaled");
  for (const char* name : {"x", "low"}) f.add_input(name);
  f.add_output("y");
  f.add_attribute("slope");
  f.add_opset_import()->set_version(11);
  onnx::AttributeProto& alpha = *add(f, "LeakyRelu", {"x"}, "t").add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(onnx::AttributeProto::FLOAT);
  alpha.set_ref_attr_name("slope");
  add(f, "Clip", {"t", "low"}, "y");
  b.input("x", {3});
  for (const auto& [from, to] : {std::pair{"x", "t"}, std::pair{"t", "y"}}) {
    onnx::NodeProto& call = b.node("scaled", {from}, {to});
    call.set_domain("acme");
    testing::set(call, "slope", 0.5F);
  }
  b.output("y");
  const graph::Graph graph = import_model(b).graph;
  CHECK(graph.value(graph.outputs[0]).name == "y");
  CHECK(elements_as_real(run(graph, {-8, 0, 4})) == std::vector<double>{-2, 0, 4});
}

TEST_CASE("functions: every problem of a body is named") {
  ModelBuilder b;
  onnx::FunctionProto& f = *b.model.add_functions();
  f.set_domain("acme");
  f.set_name("f");
  f.add_input("x");
  f.add_output("y");
  add(f, "Teleport", {"x"}, "s");
  add(f, "Levitate", {"x"}, "t");
  add(f, "Add", {"s", "t"}, "y");
  b.input("x", {3});
  b.node("f", {"x"}, {"y"}, "call").set_domain("acme");
  b.output("y");
  CHECK(refusal(b) ==
        "m.onnx: 1 of 1 node is not supported\n"
        "  'call' (acme::f, opset 13)    in '0' (Teleport): operator not supported; in '1' (Levitate): operator not "
        "supported");
}

TEST_CASE("If: a condition at run time selects between branches that see the graph around them") {
  ModelBuilder b;
  b.input("x", {2});
  b.input("c", {}, TensorProto::BOOL);
  onnx::NodeProto& node = b.node("If", {"c"}, {"y"}, "if");
  for (const auto& [label, op] : {std::pair{"then_branch", "Neg"}, std::pair{"else_branch", "Abs"}}) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(label);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto& inner = *attribute.mutable_g()->add_node();
    inner.set_op_type(op);
    inner.add_input("x");
    inner.add_output("r");
    attribute.mutable_g()->add_output()->set_name("r");
  }
  b.output("y");
  const graph::Graph graph = import_model(b).graph;
  const graph::Tensor x = graph::make_tensor({DType::F32, {2}}, {-3, 5});
  for (const bool c : {true, false}) {
    const auto y = evaluate_graph(graph, std::vector{x, graph::make_scalar(DType::Bool, c ? 1 : 0)}).front();
    CHECK(elements_as_real(y) == (c ? std::vector<double>{3, -5} : std::vector<double>{3, 5}));
  }
}
