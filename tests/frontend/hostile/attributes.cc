// Attributes of other types, out of range or unknown.
#include "tests/frontend/hostile/families.h"
#include "tests/frontend/hostile/writer.h"

namespace polyte::testing {

namespace {

using enum ExitStatus;

void image(ModelBuilder& b) {
  b.input("i", {1, 4, 8, 8});
  b.tensor("k", {4, 4, 3, 3}).set_raw_data(std::string(576, '\0'));
}

}  // namespace

void write_attributes(HostileWriter& w) {
  const auto conv = [&](const std::string& name, ExitStatus expected, const std::string& attribute,
                        const List& value) {
    w.one("conv_" + name, expected, "Conv", {"i", "k"}, image,
          [&](onnx::NodeProto& n) { set(n, attribute, value); });
  };
  conv("zero_stride", InvalidInput, "strides", {0, 1});
  conv("huge_dilation", ResourceLimit, "dilations", {kMost, kMost});
  conv("negative_pads", InvalidInput, "pads", {-1, 0, 0, 0});
  conv("huge_pads", ResourceLimit, "pads", {kMost, kMost, kMost, kMost});
  conv("short_pads", InvalidInput, "pads", {1, 1});
  conv("other_kernel", InvalidInput, "kernel_shape", {5, 5});
  conv("group_as_list", InvalidInput, "group", {1});
  w.one("conv_group_zero", InvalidInput, "Conv", {"i", "k"}, image,
        [](onnx::NodeProto& n) { set(n, "group", std::int64_t{0}); });
  w.one("conv_of_matrix", InvalidInput, "Conv", {"x", "k"}, image);
  w.one("conv_larger_than_image", InvalidInput, "Conv", {"s", "k"}, [](ModelBuilder& b) {
    image(b);
    b.input("s", {1, 4, 2, 2});
  });
  w.one("pool_huge_kernel", InvalidInput, "MaxPool", {"i"}, image,
        [](onnx::NodeProto& n) { set(n, "kernel_shape", List{kHuge, 1}); });
  w.one("pool_without_kernel", InvalidInput, "MaxPool", {"i"}, image);
  w.one("unknown_operator", Unsupported, "Teleport", {"x"});
  w.one("escape_codes", Unsupported, "\x1b[31mred\x07", {"x"});
  w.one("unknown_domain", Unsupported, "Relu", {"x"}, {},
        [](onnx::NodeProto& n) { n.set_domain("com.acme"); });
  w.one("unknown_attribute", Unsupported, "Relu", {"x"}, {},
        [](onnx::NodeProto& n) { set(n, "speed", std::int64_t{11}); });
  w.one("attribute_of_other_type", InvalidInput, "Concat", {"x"}, {},
        [](onnx::NodeProto& n) { set(n, "axis", std::string("one")); });
  w.one("missing_attribute", InvalidInput, "Concat", {"x", "x"});
  w.one("axis_out_of_range", InvalidInput, "Softmax", {"x"}, {},
        [](onnx::NodeProto& n) { set(n, "axis", kLeast); });
  w.one("softmax_of_scalar", InvalidInput, "Softmax", {"s"},
        [](ModelBuilder& b) { b.input("s", {}); });
  w.one("perm_twice", InvalidInput, "Transpose", {"x"}, {},
        [](onnx::NodeProto& n) { set(n, "perm", List{0, 0}); });
  w.one("perm_huge", InvalidInput, "Transpose", {"x"}, {},
        [](onnx::NodeProto& n) { set(n, "perm", List{kMost, kLeast}); });
}

}  // namespace polyte::testing
