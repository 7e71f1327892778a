// Attributes and operands of the operators that are put together from others.
#include <limits>

#include "tests/frontend/hostile/families.h"
#include "tests/frontend/hostile/writer.h"

namespace polyte::testing {

namespace {

using enum ExitStatus;
using onnx::TensorProto;

}  // namespace

void write_resizes(HostileWriter& w) {
  const auto resize = [&](const std::string& name, ExitStatus expected,
                          const std::vector<float>& scales,
                          const std::function<void(onnx::NodeProto&)>& attributes = {}) {
    w.one(
        "resize_" + name, expected, "Resize", {"x", "", "s"},
        [&](ModelBuilder& b) { b.floats("s", {static_cast<std::int64_t>(scales.size())}, scales); },
        attributes);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  resize("sound", Success, {2, 2});
  resize("one_scale", InvalidInput, {2});
  resize("zero_scale", InvalidInput, {0, 1});
  resize("negative_scale", InvalidInput, {-1, 1});
  resize("nan_scale", InvalidInput, {nan, 1});
  resize("infinite_scale", InvalidInput, {infinity, 1});
  resize("huge_scale", InvalidInput, {1e30F, 1e30F});
  resize("large_scale", ResourceLimit, {1e9F, 1});
  resize("unknown_mode", InvalidInput, {2, 2},
         [](onnx::NodeProto& n) { set(n, "mode", std::string("magic")); });
  resize("unknown_coordinates", InvalidInput, {2, 2}, [](onnx::NodeProto& n) {
    set(n, "coordinate_transformation_mode", std::string("polar"));
  });
  resize("crop_without_region", InvalidInput, {2, 2}, [](onnx::NodeProto& n) {
    set(n, "coordinate_transformation_mode", std::string("tf_crop_and_resize"));
  });
  w.one("resize_negative_size", InvalidInput, "Resize", {"x", "", "", "s"}, listed("s", {-1, 2}));
  w.one("resize_huge_size", ResourceLimit, "Resize", {"x", "", "", "s"}, listed("s", {kMost, 2}));
  w.one("resize_without_anything", InvalidInput, "Resize", {"x"});
}

void write_composed(HostileWriter& w) {
  w.one("compress_too_long", InvalidInput, "Compress", {"x", "c"}, [](ModelBuilder& b) {
    b.tensor("c", {7}, TensorProto::BOOL).set_raw_data(std::string(7, '\1'));
  });
  w.one("non_zero_at_run_time", Unsupported, "NonZero", {"x"});
  w.one("pads_wrapped_far", InvalidInput, "Pad", {"x", "s"}, listed("s", {0, kHuge, 0, 0}),
        [](onnx::NodeProto& n) { set(n, "mode", std::string("wrap")); });
  w.one("pads_of_unknown_mode", InvalidInput, "Pad", {"x", "s"}, listed("s", {0, 0, 0, 0}),
        [](onnx::NodeProto& n) { set(n, "mode", std::string("magic")); });
  w.one("split_negative", InvalidInput, "Split", {"x", "s"}, listed("s", {-1}));
  w.one("split_overflow", InvalidInput, "Split", {"x", "s"}, listed("s", {kMost}));
  w.one("reduce_axis_twice", InvalidInput, "ReduceSum", {"x", "s"}, listed("s", {0, -2}));
  w.one("expand_negative", InvalidInput, "Expand", {"x", "s"}, listed("s", {-2, 3}));
  w.one("one_hot_negative_depth", InvalidInput, "OneHot", {"i", "d", "v"}, [](ModelBuilder& b) {
    b.integers("i", {1}, {0});
    b.integers("d", {}, {-1});
    b.floats("v", {2}, {0, 1});
  });
  w.one("quantize_to_floats", Unsupported, "QuantizeLinear", {"x", "s", "z"}, [](ModelBuilder& b) {
    b.floats("s", {}, {1});
    b.floats("z", {}, {0});
  });
  w.one("quantize_many_scales", InvalidInput, "QuantizeLinear", {"x", "s"},
        [](ModelBuilder& b) { b.floats("s", {7}, std::vector<float>(7, 1)); });
  w.one("dequantize_floats", Unsupported, "DequantizeLinear", {"x", "s"},
        [](ModelBuilder& b) { b.floats("s", {}, {1}); });
  w.one("loss_other_labels", InvalidInput, "NegativeLogLikelihoodLoss", {"x", "t"},
        [](ModelBuilder& b) { b.input("t", {3}, TensorProto::INT64); });
  w.one("loss_of_scalar", InvalidInput, "SoftmaxCrossEntropyLoss", {"s", "t"}, [](ModelBuilder& b) {
    b.input("s", {});
    b.input("t", {}, TensorProto::INT64);
  });
  w.one("computed_shape_at_run_time", Unsupported, "Reshape", {"x", "t"}, [](ModelBuilder& b) {
    b.input("s", {2}, TensorProto::INT64);
    b.node("Abs", {"s"}, {"t"});
  });
}

}  // namespace polyte::testing
