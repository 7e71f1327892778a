// Inputs whose values decide shapes.
#include <doctest/doctest.h>
#include "frontend/onnx_import.h"
#include "support/error.h"
#include "tests/frontend/model_builder.h"

using namespace polyte;
using onnx::TensorProto;
using testing::ModelBuilder;

namespace {

frontend::Imported import_specialised(const ModelBuilder& b,
                                      const frontend::ImportOptions& options = {}) {
  return frontend::import_onnx_bytes(b.bytes(), "m.onnx", ".", options);
}

std::string specialising_refusal(const ModelBuilder& b,
                                 const frontend::ImportOptions& options = {}) {
  try {
    import_specialised(b, options);
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

TEST_CASE(
    "specialise: inputs that a shape is computed from become constants, the others are not asked "
    "for") {
  frontend::ImportOptions options;
  options.offer = [](const std::string& name,
                     std::size_t position) -> std::optional<graph::Tensor> {
    CHECK(position == (name == "s" ? 1 : 2));
    return name == "s" ? graph::make_int64s({-4, 1}) : graph::make_scalar(DType::I64, 3);
  };
  const frontend::Imported imported = import_specialised(reshaped_to_12(), options);
  CHECK(imported.specialised.size() == 2);
  REQUIRE(imported.graph.inputs.size() == 1);
  CHECK(imported.graph.value(imported.graph.inputs[0]).name == "x");
  CHECK(imported.graph.value(imported.graph.outputs[0]).type.shape == graph::Dims{12, 3});
}

TEST_CASE("specialise: an open dimension is that of the value offered") {
  ModelBuilder b;
  b.input("x", {1, 4})
      .mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("batch");
  b.node("Relu", {"x"}, {"y"}, "relu");
  b.output("y");
  frontend::ImportOptions options;
  options.offer = [](const std::string&, std::size_t) {
    return graph::make_tensor({DType::F32, {5, 4}}, std::vector<double>(20));
  };
  const frontend::Imported imported = import_specialised(b, options);
  CHECK(imported.specialised.empty());
  CHECK(imported.graph.value(imported.graph.inputs[0]).type.shape == graph::Dims{5, 4});
}

TEST_CASE("specialise: what lacks is named, with what was given") {
  CHECK(specialising_refusal(reshaped_to_12()) ==
        "m.onnx: 1 of 3 nodes are not supported\n"
        "  'reshape' (Reshape, opset 13)    input 1 (the shape) is computed from 's', 't', "
        "known only at run time; it is supported as a constant, or as an input given with --value");
  frontend::ImportOptions options;
  options.offer = [](const std::string& name, std::size_t) -> std::optional<graph::Tensor> {
    return name == "s" ? std::optional(graph::make_int64s({1, 2, 3})) : std::nullopt;
  };
  CHECK(specialising_refusal(reshaped_to_12(), options)
            .find("computed from 's' (given as i64[3], expected i64[2]), 't'") !=
        std::string::npos);
}
