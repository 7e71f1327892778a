// Importing: what the graph looks like, what a user reads when a model cannot be compiled, options.
#include "frontend/onnx_import.h"

#include <fstream>
#include <limits>

#include <doctest/doctest.h>
#include "graph/evaluate.h"
#include "support/error.h"
#include "tests/frontend/model_builder.h"

using namespace polyte;
using graph::OpKind;
using onnx::TensorProto;
using testing::List;
using testing::ModelBuilder;

namespace {

frontend::Imported import_model(const ModelBuilder& b,
                                const frontend::ImportOptions& options = {}) {
  return frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".", options);
}

std::string error_of(const ModelBuilder& b, ExitStatus expected,
                     const frontend::ImportOptions& options = {}) {
  try {
    import_model(b, options);
  } catch (const UserError& error) {
    CHECK(error.status() == expected);
    return error.what();
  }
  return "no error";
}

std::vector<OpKind> kinds(const graph::Graph& graph) {
  std::vector<OpKind> result;
  for (const graph::Node& node : graph.nodes) result.push_back(node.op);
  return result;
}

// One node on operands of given shapes; the type of its output.
graph::Dims shape_of(int opset, const std::string& op, const std::vector<List>& operands,
                     const std::function<void(onnx::NodeProto&)>& attributes = {}) {
  ModelBuilder b(opset);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    names.push_back("x" + std::to_string(i));
    b.input(names.back(), operands[i]);
  }
  onnx::NodeProto& node = b.node(op, names, {"y"}, "n");
  if (attributes) attributes(node);
  b.output("y");
  const graph::Graph graph = import_model(b).graph;
  return graph.value(graph.outputs[0]).type.shape;
}

}  // namespace

TEST_CASE("onnx_import: all unsupported nodes in one table") {
  ModelBuilder b;
  b.input("x", {2, 3});
  b.node("NonMaxSuppression", {"x", "x"}, {"a"}, "nms");
  testing::set(b.node("Cast", {"x"}, {"b"}, "cast_9"), "to", std::int64_t{TensorProto::STRING});
  b.node("Relu", {"a"}, {"c"}, "relu");
  b.node("Relu", {"x"}, {"y"}, "fine");
  b.output("y");
  CHECK(error_of(b, ExitStatus::Unsupported) ==
        "m.onnx: 2 of 4 nodes are not supported\n"
        "  'nms' (NonMaxSuppression, opset 13)    operator not supported\n  'cast_9' (Cast, "
        "opset 13)              to = STRING: supported are f64 f32 f16 bf16 i8..i64 u8..u64 bool");
}

TEST_CASE("onnx_import: all invalid nodes at once, each with node, operator, got and expected") {
  ModelBuilder b;
  b.input("x", {2, 3});
  b.node("MatMul", {"x", "x"}, {"a"}, "product");
  testing::set(b.node("Softmax", {"x"}, {"b"}, "soft"), "axis", std::int64_t{2});
  b.node("Relu", {"nothing"}, {"y"}, "relu");
  b.output("y");
  CHECK(error_of(b, ExitStatus::InvalidInput) ==
        "m.onnx: node 'product' (MatMul, opset 13): cannot multiply [2, 3] by [2, 3]\n"
        "m.onnx: node 'soft' (Softmax, opset 13): axis is 2, expected one of -2 to 1\n"
        "m.onnx: node 'relu' (Relu) reads 'nothing', which nothing computes");
}

TEST_CASE("onnx_import: a cycle names both nodes") {
  ModelBuilder b;
  b.input("x", {2});
  b.node("Add", {"x", "b"}, {"a"}, "first");
  b.node("Relu", {"a"}, {"b"}, "second");
  b.output("b");
  CHECK(error_of(b, ExitStatus::InvalidInput) ==
        "m.onnx: node 'first' reads 'b' before node 'second' computes it: a cycle, or not in "
        "topological order");
}

TEST_CASE("onnx_import: a symbolic extent is bound by the caller") {
  ModelBuilder b;
  auto& dims = *b.input("x", {1, 3}).mutable_type()->mutable_tensor_type()->mutable_shape();
  dims.mutable_dim(0)->set_dim_param("N");
  b.node("Relu", {"x"}, {"y"});
  b.output("y");
  CHECK(error_of(b, ExitStatus::Unsupported) ==
        "m.onnx: input 'x' has a shape that is not static: dimension 0 is 'N'; give the shape, or "
        "a symbol, with "
        "--shape N=SIZE");
  frontend::ImportOptions options;
  options.shapes["x"] = {5, 3};
  const graph::Graph graph = import_model(b, options).graph;
  CHECK(graph.value(graph.outputs[0]).type.shape == graph::Dims{5, 3});
  options.shapes["x"] = {5, 4};
  CHECK(error_of(b, ExitStatus::InvalidInput, options) ==
        "m.onnx: input 'x' is bound to shape [5, 4], but dimension 1 is 3");
  options.shapes = {{"z", {1}}};
  CHECK(error_of(b, ExitStatus::InvalidInput, options)
            .find("--shape names 'z', which is no input (there are 'x', 'N')") !=
        std::string::npos);
  options.shapes = {{"image", {1}}};
  CHECK(error_of(b, ExitStatus::InvalidInput, options)
            .find("which is no input (there are 'x', 'N')") != std::string::npos);
}

TEST_CASE("onnx_import: a symbol has one extent, and any input may give it") {
  ModelBuilder b;
  const auto open = [&](const std::string& name, const std::vector<std::string>& symbols) {
    auto& shape = *b.input(name, testing::List(symbols.size(), 1))
                       .mutable_type()
                       ->mutable_tensor_type()
                       ->mutable_shape();
    for (std::size_t d = 0; d < symbols.size(); ++d)
      shape.mutable_dim(static_cast<int>(d))->set_dim_param(symbols[d]);
  };
  open("x", {"N", "C"});
  open("z", {"N", "D"});
  testing::set(b.node("Concat", {"x", "z"}, {"y"}), "axis", std::int64_t{1});
  b.output("y");
  CHECK(error_of(b, ExitStatus::Unsupported) ==
        "m.onnx: input 'x' has a shape that is not static: dimension 0 is 'N', dimension 1 is 'C'; "
        "give the shape, or a symbol, with --shape N=SIZE\n"
        "m.onnx: input 'z' has a shape that is not static: dimension 0 is 'N', dimension 1 is 'D'; "
        "give the shape, or a symbol, with --shape N=SIZE");
  frontend::ImportOptions options;
  options.shapes = {{"x", {2, 3}}, {"D", {4}}};
  const graph::Graph graph = import_model(b, options).graph;
  CHECK(graph.value(graph.outputs[0]).type.shape == graph::Dims{2, 7});
  options.shapes = {{"x", {2, 3}}, {"z", {5, 4}}};
  CHECK(error_of(b, ExitStatus::InvalidInput, options) ==
        "m.onnx: symbol 'N' is 2 by input 'x' and 5 by input 'z'\nm.onnx: node "
        "'y' (Concat, opset 13): input 1 has shape [5, 4], which does not fit [2, 3] along axis 1");
  options.shapes = {{"N", {2, 3}}, {"C", {1}}, {"D", {1}}};
  CHECK(error_of(b, ExitStatus::InvalidInput, options)
            .find("--shape gives symbol 'N' 2 extents, expected one") != std::string::npos);
}

TEST_CASE("onnx_import: a shape at run time is refused, and taken as a value") {
  ModelBuilder b;
  b.input("x", {2, 3});
  b.input("s", {2}, TensorProto::INT64);
  b.node("Reshape", {"x", "s"}, {"y"}, "r");
  b.output("y");
  CHECK(error_of(b, ExitStatus::Unsupported) ==
        "m.onnx: 1 of 1 node is not supported\n"
        "  'r' (Reshape, opset 13)    input 1 (the shape) is 's', known only at run time; "
        "it is supported as a constant, or as an input given with --value");
  frontend::ImportOptions options;
  options.values["s"] = graph::make_int64s({3, -1});
  const graph::Graph graph = import_model(b, options).graph;
  CHECK(graph.inputs.size() == 1);
  CHECK(graph.value(graph.outputs[0]).type.shape == graph::Dims{3, 2});
}

TEST_CASE("onnx_import: a value of one element is a scalar where the input is one") {
  ModelBuilder b;
  b.input("n", {}, TensorProto::INT64);
  b.input("x", {3}, TensorProto::INT64);
  b.node("Add", {"x", "n"}, {"y"});
  b.output("y");
  frontend::ImportOptions options;
  options.values["n"] = graph::make_int64s({16000});
  const graph::Graph graph = import_model(b, options).graph;
  const graph::Tensor x = graph::make_int64s({1, 2, 3});
  CHECK(elements_as_real(evaluate_graph(graph, std::vector{x})[0]) ==
        std::vector<double>{16001, 16002, 16003});
  options.values["n"] = graph::make_int64s({1, 2});
  CHECK(error_of(b, ExitStatus::InvalidInput, options) ==
        "m.onnx: input 'n' is bound to shape [2], expected rank 0");
}

TEST_CASE("onnx_import: shape arithmetic is folded while importing") {
  ModelBuilder b;
  b.input("x", {2, 3, 4});
  b.node("Shape", {"x"}, {"s"});
  b.integers("zero", {1}, {0});
  b.integers("minus", {1}, {-1});
  b.node("Gather", {"s", "zero"}, {"first"});
  testing::set(b.node("Concat", {"first", "minus"}, {"target"}), "axis", std::int64_t{0});
  b.node("Reshape", {"x", "target"}, {"y"});
  b.output("y");
  const graph::Graph graph = import_model(b).graph;
  CHECK(kinds(graph) == std::vector{OpKind::Reshape});
  CHECK(graph.value(graph.outputs[0]).type.shape == graph::Dims{2, 12});
}

TEST_CASE(
    "onnx_import: an initializer that is also an input becomes a constant, and that is said") {
  ModelBuilder b;
  b.input("x", {3});
  b.input("w", {3});
  b.floats("w", {3}, {1, 2, 3});
  b.node("Add", {"x", "w"}, {"y"});
  b.output("y");
  const frontend::Imported imported = import_model(b);
  CHECK(imported.graph.inputs.size() == 1);
  REQUIRE(imported.notes.size() == 1);
  CHECK(imported.notes[0] ==
        "input 'w' has a default value: it is compiled as a constant, which only --value replaces");
  b.model.set_ir_version(3);  // there, initializers had to be inputs
  CHECK(import_model(b).notes.empty());
}

TEST_CASE("onnx_import: --value replaces the default of an input") {
  ModelBuilder b;
  b.input("x", {3});
  b.input("w", {3});
  b.floats("w", {3}, {1, 2, 3});
  b.node("Add", {"x", "w"}, {"y"});
  b.output("y");
  frontend::ImportOptions options;
  options.values["w"] = graph::make_tensor({DType::F32, {3}}, {10, 20, 30});
  const frontend::Imported imported = import_model(b, options);
  CHECK(imported.notes.empty());
  const graph::Tensor x = graph::make_tensor({DType::F32, {3}}, {1, 1, 1});
  CHECK(elements_as_real(evaluate_graph(imported.graph, std::vector{x})[0]) ==
        std::vector<double>{11, 21, 31});
  options.values["w"] = graph::make_int64s({1, 2});
  options.shapes["w"] = {3};
  CHECK(error_of(b, ExitStatus::InvalidInput, options) ==
        "m.onnx: initializer 'w' is bound to a value of i64[2], expected f32[3]\n"
        "m.onnx: --shape names 'w', whose default value has a shape");
}

TEST_CASE("onnx_import: what is invalid, too large and not supported is said at once") {
  ModelBuilder b;
  b.input("x", {2, 3});
  b.input("z", {std::int64_t{1} << 40});
  b.input("s", {2}, TensorProto::STRING);
  testing::set(b.node("Softmax", {"x"}, {"b"}, "soft"), "axis", std::int64_t{2});
  b.node("Teleport", {"x"}, {"a"}, "away");
  b.output("a");
  CHECK(error_of(b, ExitStatus::InvalidInput) ==
        "m.onnx: node 'soft' (Softmax, opset 13): axis is 2, expected one of -2 to 1\n"
        "m.onnx: input 'z' has type f32[1099511627776], 4398046511104 bytes; "
        "the limit is 17179869184\nm.onnx: input 's' has element type STRING: supported "
        "are f64 f32 f16 bf16 i8..i64 u8..u64 bool\nm.onnx: 1 of 2 nodes are not supported\n"
        "  'away' (Teleport, opset 13)    operator not supported");
}

TEST_CASE("onnx_import: broadcasting of opset 6 follows axis") {
  const auto with_axis = [](onnx::NodeProto& n) {
    testing::set(n, "broadcast", std::int64_t{1});
    testing::set(n, "axis", std::int64_t{1});
  };
  CHECK(shape_of(6, "Add", {{2, 3, 4}, {3}}, with_axis) == graph::Dims{2, 3, 4});
  CHECK_THROWS_AS(shape_of(6, "Add", {{2, 3, 4}, {4}}), UserError);
  CHECK(shape_of(7, "Add", {{2, 3, 4}, {4}}) == graph::Dims{2, 3, 4});
}

TEST_CASE("onnx_import: windows") {
  const auto window = [](List kernel, List strides, const char* pad, bool ceil) {
    return [=](onnx::NodeProto& n) {
      testing::set(n, "kernel_shape", kernel);
      testing::set(n, "strides", strides);
      testing::set(n, "auto_pad", std::string(pad));
      testing::set(n, "ceil_mode", std::int64_t{ceil});
    };
  };
  CHECK(shape_of(13, "MaxPool", {{1, 2, 7, 7}}, window({2, 2}, {2, 2}, "NOTSET", false)) ==
        graph::Dims{1, 2, 3, 3});
  CHECK(shape_of(13, "MaxPool", {{1, 2, 7, 7}}, window({2, 2}, {2, 2}, "NOTSET", true)) ==
        graph::Dims{1, 2, 4, 4});
  CHECK(shape_of(13, "MaxPool", {{1, 2, 7, 7}}, window({3, 3}, {2, 2}, "SAME_UPPER", false)) ==
        graph::Dims{1, 2, 4, 4});
  // A window that would start in the trailing padding does not count: 5 elements, kernel
  // 1, stride 3.
  CHECK(shape_of(13, "MaxPool", {{1, 2, 5}}, window({1}, {3}, "NOTSET", true)) ==
        graph::Dims{1, 2, 2});
  CHECK(shape_of(13, "Conv", {{1, 4, 9, 9}, {6, 2, 3, 3}}, [](onnx::NodeProto& n) {
          testing::set(n, "group", std::int64_t{2});
          testing::set(n, "dilations", List{2, 2});
          testing::set(n, "pads", List{1, 0, 0, 1});
        }) == graph::Dims{1, 6, 6, 6});
}

TEST_CASE("onnx_import: SAME_UPPER and SAME_LOWER put the odd element at opposite ends") {
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER"}) {
    ModelBuilder b;
    b.input("x", {1, 1, 4});
    auto& node = b.node("MaxPool", {"x"}, {"y"});
    testing::set(node, "kernel_shape", List{2});
    testing::set(node, "auto_pad", std::string(mode));
    b.output("y");
    const graph::Tensor x = graph::make_tensor({DType::F32, {1, 1, 4}}, {4, 3, 2, 1});
    const auto y = elements_as_real(evaluate_graph(import_model(b).graph, std::vector{x})[0]);
    CHECK(y == (std::string(mode) == "SAME_UPPER" ? std::vector<double>{4, 3, 2, 1}
                                                  : std::vector<double>{4, 4, 3, 2}));
  }
}

TEST_CASE("onnx_import: softmax before opset 13 is over all dimensions from the axis on") {
  const auto sum_of_first = [](int opset) {
    ModelBuilder b(opset);
    b.input("x", {1, 2, 2});
    testing::set(b.node("Softmax", {"x"}, {"y"}), "axis", std::int64_t{1});
    b.output("y");
    const graph::Tensor x = graph::make_tensor({DType::F32, {1, 2, 2}}, {0, 0, 0, 0});
    return elements_as_real(evaluate_graph(import_model(b).graph, std::vector{x})[0])[0];
  };
  CHECK(sum_of_first(12) == 0.25);
  CHECK(sum_of_first(13) == 0.5);
}

namespace {

frontend::Coverage coverage_of(const ModelBuilder& b) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "polyte_coverage_test.onnx";
  std::ofstream(file, std::ios::binary) << b.bytes();
  frontend::Coverage coverage = frontend::coverage(file);
  std::filesystem::remove(file);
  return coverage;
}

}  // namespace

TEST_CASE("onnx_import: coverage lists every node, and tells what it has not checked") {
  ModelBuilder b;
  b.input("x", {2});
  b.node("Teleport", {"x"}, {"a"}, "t");
  b.node("Relu", {"a"}, {"y"}, "r");
  b.output("y");
  const frontend::Coverage coverage = coverage_of(b);
  REQUIRE(coverage.nodes.size() == 2);
  CHECK(!coverage.nodes[0].supported);
  CHECK(coverage.nodes[0].reason == "operator not supported");
  CHECK(coverage.nodes[1].supported);
  CHECK(!coverage.nodes[1].checked);
  CHECK(coverage.nodes[1].reason == "not checked further: operand 'a' is not available");
}

TEST_CASE("onnx_import: coverage goes into branches") {
  ModelBuilder b;
  b.input("x", {2});
  b.tensor("yes", {}, onnx::TensorProto::BOOL).add_int32_data(1);
  onnx::NodeProto& node = b.node("If", {"yes"}, {"y"}, "if");
  for (const auto& [label, op] :
       {std::pair{"then_branch", "Relu"}, std::pair{"else_branch", "Teleport"}}) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(label);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    for (const char* name : {op, "Neg"}) {
      onnx::NodeProto& inner = *attribute.mutable_g()->add_node();
      inner.set_op_type(name);
      inner.add_input("x");
      inner.add_output(name);
    }
    attribute.mutable_g()->add_output()->set_name("Neg");
  }
  b.output("y");
  std::string found;
  for (const frontend::NodeCoverage& row : coverage_of(b).nodes)
    found += row.name + (row.supported ? row.checked ? " yes" : " ?" : " no") + "\n";
  CHECK(found ==
        "if yes\n"
        "if/then_branch/0 yes\nif/then_branch/1 yes\nif/else_branch/0 no\nif/else_branch/1 ?\n");
}

TEST_CASE("onnx_import: sizes that PaddlePaddle writes -1 or ? are open, each by itself") {
  ModelBuilder b;
  auto dims = [](onnx::ValueInfoProto& value) {
    return value.mutable_type()->mutable_tensor_type()->mutable_shape();
  };
  dims(b.input("x", {-1, 2}))->mutable_dim(1)->set_dim_param("?");
  dims(b.input("z", {-1, 2}))->mutable_dim(1)->set_dim_param("?");
  b.node("MatMul", {"x", "z"}, {"y"}, "mm");
  dims(b.output("y"))->add_dim()->set_dim_value(-1);
  frontend::ImportOptions options;
  options.shapes = {{"x", {3, 4}}, {"z", {4, 5}}};
  const frontend::Imported imported =
      frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".", options);
  CHECK(imported.graph.value(imported.graph.outputs[0]).type.shape == graph::Dims{3, 5});
  options.shapes.erase("z");
  try {
    frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".", options);
    FAIL("no error");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()) ==
          "m.onnx: input 'z' has a shape that is not static: dimension 0 is not given, "
          "dimension 1 is not given; give the shape, or a symbol, with --shape");
  }
}

TEST_CASE("onnx_import: outputs of Split without a name are parts, the last ones too") {
  ModelBuilder b;
  b.input("x", {4});
  b.node("Split", {"x"}, {""}, "unread");
  b.node("Split", {"x"}, {"y", ""}, "halves");
  b.output("y");
  const graph::Graph graph = import_model(b).graph;
  CHECK(kinds(graph) == std::vector{OpKind::Slice});
  CHECK(graph.value(graph.outputs[0]).type.shape == graph::Dims{2});
}

TEST_CASE("a Range of integers is exact beyond 2^53, downwards, and at the ends of its type") {
  const auto range = [](std::int64_t start, std::int64_t limit, std::int64_t delta) {
    ModelBuilder b;
    b.integers("start", {}, {start});
    b.integers("limit", {}, {limit});
    b.integers("delta", {}, {delta});
    b.node("Range", {"start", "limit", "delta"}, {"y"});
    b.output("y");
    const graph::Graph graph = import_model(b).graph;
    return elements_as_int(graph.value(graph.outputs[0]).tensor());
  };
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr std::int64_t kLarge = std::int64_t{1} << 53;
  CHECK(range(kLarge + 1, kLarge + 3, 1) == graph::Dims{kLarge + 1, kLarge + 2});
  CHECK(range(5, 0, -2) == graph::Dims{5, 3, 1});
  CHECK(range(0, 5, -1) == graph::Dims{});
  CHECK(range(Limits::max() - 1, Limits::max(), 2) == graph::Dims{Limits::max() - 1});
  CHECK(range(Limits::max(), Limits::min(), Limits::min()) == graph::Dims{Limits::max(), -1});
}

TEST_CASE("powers of 64-bit integers: any exponent, and what is left of negative ones") {
  ModelBuilder b(15);
  b.input("x", {10}, TensorProto::INT64);
  b.input("e", {10}, TensorProto::INT64);
  b.node("Pow", {"x", "e"}, {"y"}, "n");
  b.output("y");
  const graph::Graph graph = import_model(b).graph;
  const auto numbers = [](const graph::Dims& elements) { return graph::make_int64s(elements); };
  const auto y =
      evaluate_graph(graph, std::vector{numbers({3, -2, 0, 2, -1, 1, 5, -1, 0,
                                                 std::numeric_limits<std::int64_t>::min() + 1}),
                                        numbers({4, 3, 64, 128, 129, 1000, -1, -3, 0, -2})});
  CHECK(elements_as_int(y[0]) == graph::Dims{81, -8, 0, 0, -1, 1, 0, -1, 1, 0});
}
