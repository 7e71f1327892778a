// Functions of the model and branches: scopes, opsets, attributes, and what is said of what
// fails in them.
#include <doctest/doctest.h>
#include "frontend/onnx_import.h"
#include "graph/evaluate.h"
#include "support/error.h"
#include "tests/frontend/model_builder.h"

using namespace polyte;
using onnx::TensorProto;
using testing::ModelBuilder;

namespace {

frontend::Imported import_with_functions(const ModelBuilder& b) {
  return frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".");
}

std::string function_refusal(const ModelBuilder& b, ExitStatus expected = ExitStatus::Unsupported) {
  try {
    import_with_functions(b);
  } catch (const UserError& error) {
    CHECK(error.status() == expected);
    return error.what();
  }
  return "no error";
}

onnx::FunctionProto& function(ModelBuilder& b, const std::string& name, int opset) {
  onnx::FunctionProto& f = *b.model.add_functions();
  f.set_domain("acme");
  f.set_name(name);
  f.add_input("x");
  f.add_output("y");
  f.add_opset_import()->set_version(opset);
  return f;
}

onnx::GraphProto& branch(onnx::NodeProto& node, const std::string& label) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(label);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  return *attribute.mutable_g();
}

onnx::NodeProto& add(onnx::FunctionProto& function, const std::string& op,
                     const std::vector<std::string>& inputs, const std::string& output) {
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

TEST_CASE(
    "functions: inlined with their own opset, attributes bound, names apart, absent operands "
    "absent") {
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
  const graph::Graph graph = import_with_functions(b).graph;
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
  CHECK(function_refusal(b) ==
        "m.onnx: 1 of 1 node is not supported\n"
        "  'call' (acme::f, opset 13)    in '0' (Teleport): operator not supported; "
        "in '1' (Levitate): operator not supported");
}

TEST_CASE("If: a condition at run time selects between branches that see the graph around them") {
  ModelBuilder b;
  b.input("x", {2});
  b.input("c", {}, TensorProto::BOOL);
  onnx::NodeProto& node = b.node("If", {"c"}, {"y"}, "if");
  for (const auto& [label, op] :
       {std::pair{"then_branch", "Neg"}, std::pair{"else_branch", "Abs"}}) {
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
  const graph::Graph graph = import_with_functions(b).graph;
  const graph::Tensor x = graph::make_tensor({DType::F32, {2}}, {-3, 5});
  for (const bool c : {true, false}) {
    const auto y =
        evaluate_graph(graph, std::vector{x, graph::make_scalar(DType::Bool, c ? 1 : 0)}).front();
    CHECK(elements_as_real(y) == (c ? std::vector<double>{3, -5} : std::vector<double>{3, 5}));
  }
}

TEST_CASE("functions: each with its own opset, those they call with theirs") {
  // Before opset 13 softmax is over all dimensions from the axis on: rows of 4 elements; then of 2.
  ModelBuilder b(13);
  const auto softmax = [](onnx::NodeProto& node) { testing::set(node, "axis", std::int64_t{1}); };
  softmax(add(function(b, "old", 11), "Softmax", {"x"}, "y"));
  onnx::FunctionProto& outer = function(b, "outer", 13);
  softmax(add(outer, "Softmax", {"x"}, "t"));
  add(outer, "old", {"t"}, "u").set_domain("acme");
  add(outer, "Add", {"t", "u"}, "y");
  b.input("x", {1, 2, 2});
  b.node("outer", {"x"}, {"y"}).set_domain("acme");
  b.output("y");
  CHECK(elements_as_real(run(import_with_functions(b).graph, {0, 0, 0, 0})) ==
        std::vector<double>(4, 0.75));
}

TEST_CASE("functions: their names are not those of the model, whatever they are") {
  ModelBuilder b;
  onnx::FunctionProto& f = function(b, "f", 13);
  add(f, "Neg", {"x"}, "t");
  add(f, "Relu", {"t"}, "y");
  b.input("x", {2});
  b.node("Relu", {"x"}, {"call/t"});  // what a prefix would make of the function's t
  b.node("f", {"x"}, {"s"}, "call").set_domain("acme");
  b.node("Neg", {"call/t"}, {"call/y"});
  b.node("Sub", {"call/y", "s"}, {"y"});
  b.output("y");
  b.output("call/y");
  const graph::Graph graph = import_with_functions(b).graph;
  CHECK(elements_as_real(run(graph, {-3, 5})) == std::vector<double>{-3, -5});
  CHECK(graph.value(graph.outputs[1]).name == "call/y");
  b.node("Relu", {"call/0"}, {"z"}, "spy");
  b.node("Relu", {"t"}, {"w"}, "spy_2");
  CHECK(function_refusal(b, ExitStatus::InvalidInput) ==
        "m.onnx: node 'spy' (Relu) reads 'call/0', which nothing computes\n"
        "m.onnx: node 'spy_2' (Relu) reads 't', which nothing computes");
}

TEST_CASE("functions: a name is computed once") {
  ModelBuilder b;
  onnx::FunctionProto& f = function(b, "f", 13);
  add(f, "Neg", {"x"}, "y");
  add(f, "Relu", {"x"}, "y");
  add(f, "Relu", {"x"}, "x");
  b.input("x", {2});
  b.node("f", {"x"}, {"y"}, "call").set_domain("acme");
  b.output("y");
  CHECK(function_refusal(b, ExitStatus::InvalidInput) ==
        "m.onnx: node 'call' (acme::f, opset 13): in '1' (Relu): computes 'y', which is there "
        "already; in '2' (Relu): "
        "computes 'x', which is there already");
}

TEST_CASE(
    "If: a branch reads what failed around it: that is not checked, and not another problem") {
  ModelBuilder b;
  b.input("x", {2});
  b.node("Teleport", {"x"}, {"t"}, "first");
  b.tensor("yes", {}, TensorProto::BOOL).add_int32_data(1);
  onnx::NodeProto& node = b.node("If", {"yes"}, {"y"}, "if");
  for (const char* label : {"then_branch", "else_branch"}) {
    onnx::GraphProto& body = branch(node, label);
    onnx::NodeProto& inner = *body.add_node();
    inner.set_op_type("Relu");
    inner.add_input("t");
    inner.add_output("r");
    body.add_output()->set_name("r");
  }
  b.output("y");
  CHECK(function_refusal(b) ==
        "m.onnx: 1 of 2 nodes are not supported\n"
        "  'first' (Teleport, opset 13)    operator not supported");
}

TEST_CASE(
    "If: branches within branches, an opset of a function between them, names that hide others") {
  ModelBuilder b(13);
  add(function(b, "old", 11), "Softmax", {"x"}, "y");  // axis 1 by default
  b.input("x", {1, 2, 2});
  b.input("c", {}, TensorProto::BOOL);
  onnx::NodeProto& node = b.node("If", {"c"}, {"y"}, "if");
  onnx::GraphProto& yes = branch(node, "then_branch");
  onnx::NodeProto& call = *yes.add_node();
  call.set_op_type("old");
  call.set_domain("acme");
  call.add_input("x");
  call.add_output("r");
  yes.add_output()->set_name("r");
  onnx::GraphProto& no = branch(node, "else_branch");
  onnx::NodeProto& inner = *no.add_node();
  inner.set_op_type("If");
  inner.add_input("c");
  inner.add_output("r");
  for (const char* label : {"then_branch", "else_branch"}) {
    onnx::GraphProto& body = branch(inner, label);
    onnx::NodeProto& softmax = *body.add_node();
    softmax.set_op_type("Softmax");  // of opset 13: the last axis
    softmax.add_input("x");
    softmax.add_output("r");
    body.add_output()->set_name("r");
  }
  no.add_output()->set_name("r");
  b.output("y");
  const graph::Graph graph = import_with_functions(b).graph;
  const graph::Tensor x = graph::make_tensor({DType::F32, {1, 2, 2}}, {0, 0, 0, 0});
  for (const bool c : {true, false}) {
    const auto y =
        evaluate_graph(graph, std::vector{x, graph::make_scalar(DType::Bool, c ? 1 : 0)}).front();
    CHECK(elements_as_real(y) == std::vector<double>(4, c ? 0.25 : 0.5));
  }
}

namespace {

// If of `c`: then_branch is an operator of x, else_branch too; Reshape is one to five elements.
ModelBuilder with_branches(const char* yes, const char* no) {
  ModelBuilder b;
  b.input("x", {2});
  b.input("c", {}, TensorProto::BOOL);
  b.integers("five", {1}, {5});
  onnx::NodeProto& node = b.node("If", {"c"}, {"y"}, "if");
  for (const auto& [label, op] : {std::pair{"then_branch", yes}, std::pair{"else_branch", no}}) {
    onnx::GraphProto& body = branch(node, label);
    onnx::NodeProto& inner = *body.add_node();
    inner.set_op_type(op);
    inner.set_name("inner");
    inner.add_input("x");
    if (inner.op_type() == "Reshape") inner.add_input("five");
    inner.add_output("r");
    body.add_output()->set_name("r");
  }
  b.output("y");
  return b;
}

}  // namespace

TEST_CASE("If: a branch that cannot be computed is only wrong where it is taken") {
  const ModelBuilder b = with_branches("Relu", "Reshape");
  const std::string words = function_refusal(b);
  CHECK(words.find("the condition, as else_branch cannot be computed: in 'inner' (Reshape)") !=
        std::string::npos);
  CHECK(words.find("'c'") != std::string::npos);
  frontend::ImportOptions options;
  options.values["c"] = graph::make_scalar(DType::Bool, 1);
  const frontend::Imported bound = frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".", options);
  CHECK(elements_as_real(run(bound.graph, {-3, 5})) == std::vector<double>{0, 5});
  for (const double chosen : {1, 0}) {
    frontend::ImportOptions offering;
    offering.offer = [&](const std::string& name, std::size_t) -> std::optional<graph::Tensor> {
      if (name != "c") return std::nullopt;
      return graph::make_scalar(DType::Bool, chosen);
    };
    if (chosen == 0) {
      CHECK_THROWS_AS(frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".", offering), UserError);
      continue;
    }
    const frontend::Imported offered =
        frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".", offering);
    CHECK(offered.specialised == std::vector<std::string>{"c"});
    CHECK(elements_as_real(run(offered.graph, {-3, 5})) == std::vector<double>{0, 5});
  }
}

TEST_CASE(
    "If: where neither branch can be computed the node is invalid if a branch is, else not "
    "supported") {
  CHECK(function_refusal(with_branches("Teleport", "Levitate")) ==
        "m.onnx: 1 of 1 node is not supported\n"
        "  'if' (If, opset 13)    in 'inner' (Teleport): operator not supported; "
        "in 'inner' (Levitate): operator not supported");
  CHECK(function_refusal(with_branches("Teleport", "Teleport")) ==
        "m.onnx: 1 of 1 node is not supported\n"
        "  'if' (If, opset 13)    in 'inner' (Teleport): operator not supported");
  const std::string mixed =
      function_refusal(with_branches("Teleport", "Reshape"), ExitStatus::InvalidInput);
  CHECK(mixed.find("in 'inner' (Teleport): operator not supported; in 'inner' (Reshape)") !=
        std::string::npos);
}

TEST_CASE("If: the branch that is taken says with its own status why it cannot be computed") {
  frontend::ImportOptions offering;
  offering.offer = [](const std::string&, std::size_t) {
    return graph::make_scalar(DType::Bool, 0);
  };
  for (const auto& [op, status] : {std::pair{"Teleport", ExitStatus::Unsupported},
                                   std::pair{"Reshape", ExitStatus::InvalidInput}}) {
    CAPTURE(op);
    try {
      frontend::import_onnx_bytes(with_branches("Relu", op).bytes(), "m.onnx", ".", offering);
      CHECK(false);
    } catch (const UserError& error) {
      CHECK(error.status() == status);
    }
  }
}
