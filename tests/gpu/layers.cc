#include "tests/gpu/layers.h"

#include "frontend/onnx_import.h"
#include "support/checked.h"

namespace polyte::gpu::testing {

using polyte::testing::set;

Layers::Layers(const List& shape) {
  builder_.input("x", shape);
  channels_["x"] = shape.size() == 4 ? shape[1] : shape.back();
}

// ---- constants: small numbers, no two tensors the same

std::string Layers::floats(const List& shape, float mean) {
  const std::string name = "w" + std::to_string(constants_++);
  std::vector<float> elements(static_cast<std::size_t>(checked_product(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] =
        mean +
        static_cast<float>((i * 7 + i / 5 + static_cast<std::size_t>(constants_) * 3) % 11) / 32;
  builder_.floats(name, shape, elements);
  return name;
}

std::string Layers::scalar(float value) {
  const std::string name = "w" + std::to_string(constants_++);
  builder_.floats(name, {}, {value});
  return name;
}

std::string Layers::integers(const List& values) {
  const std::string name = "w" + std::to_string(constants_++);
  builder_.integers(name, {static_cast<std::int64_t>(values.size())}, values);
  return name;
}

// ---- nodes

onnx::NodeProto& Layers::node(const std::string& kind, const std::vector<std::string>& inputs,
                              std::size_t outputs) {
  std::vector<std::string> names;
  const std::string name = kind + std::to_string(names_++);
  for (std::size_t i = 0; i < outputs; ++i) names.push_back(name + "_" + std::to_string(i));
  return builder_.node(kind, inputs, names, name);
}

std::string Layers::of_channels(const std::string& x, std::int64_t channels) {
  channels_[x] = channels;
  return x;
}

std::string Layers::like(const std::string& x, const std::string& kind,
                         const std::vector<std::string>& inputs) {
  return of_channels(node(kind, inputs).output(0), channels(x));
}

std::string Layers::conv(const std::string& x, std::int64_t features, const Window& window) {
  std::vector<std::string> inputs = {
      x,
      floats({features, channels(x) / window.groups, window.kernel[0], window.kernel[1]}, -0.15F)};
  if (window.bias) inputs.push_back(floats({features}));
  onnx::NodeProto& conv = node("Conv", inputs);
  set(conv, "pads", List{window.pad[0], window.pad[1], window.pad[0], window.pad[1]});
  set(conv, "strides", List{window.stride, window.stride});
  set(conv, "group", window.groups);
  return of_channels(conv.output(0), features);
}

std::string Layers::conv_transpose(const std::string& x, std::int64_t features) {
  onnx::NodeProto& conv =
      node("ConvTranspose", {x, floats({channels(x), features, 2, 2}, -0.15F), floats({features})});
  set(conv, "strides", List{2, 2});
  return of_channels(conv.output(0), features);
}

std::string Layers::norm(const std::string& x) {
  const List shape = {channels(x)};
  return like(x, "BatchNormalization",
              {x, floats(shape, 1), floats(shape), floats(shape), floats(shape, 1)});
}

std::string Layers::dense(const std::string& x, std::int64_t features) {
  onnx::NodeProto& gemm = node("Gemm", {x, floats({features, channels(x)}), floats({features})});
  set(gemm, "transB", std::int64_t{1});
  return of_channels(gemm.output(0), features);
}

std::string Layers::matmul(const std::string& x, std::int64_t features) {
  const std::string product =
      of_channels(node("MatMul", {x, floats({channels(x), features}, -0.15F)}).output(0), features);
  return binary("Add", product, floats({features}));
}

std::string Layers::pool(const std::string& kind, const std::string& x, const Window& window) {
  onnx::NodeProto& pool = node(kind, {x});
  set(pool, "kernel_shape", List{window.kernel[0], window.kernel[1]});
  set(pool, "pads", List{window.pad[0], window.pad[1], window.pad[0], window.pad[1]});
  set(pool, "strides", List{window.stride, window.stride});
  set(pool, "ceil_mode", std::int64_t{window.ceil ? 1 : 0});
  if (kind == "AveragePool") set(pool, "count_include_pad", std::int64_t{1});
  return of_channels(pool.output(0), channels(x));
}

std::string Layers::pooled(const std::string& x) {
  const std::string means = like(x, "GlobalAveragePool", {x});
  return like(x, "Flatten", {means});
}

std::string Layers::layer_norm(const std::string& x) {
  const List shape = {channels(x)};
  return like(x, "LayerNormalization", {x, floats(shape, 1), floats(shape)});
}

// ---- shapes

std::string Layers::concat(const std::vector<std::string>& parts, std::int64_t axis) {
  onnx::NodeProto& joined = node("Concat", parts);
  set(joined, "axis", axis);
  std::int64_t sum = 0;
  for (const std::string& part : parts) sum += channels(part);
  return of_channels(joined.output(0), axis == 1 ? sum : channels(parts.front()));
}

std::vector<std::string> Layers::split(const std::string& x, const List& sizes, std::int64_t axis) {
  onnx::NodeProto& parts = node("Split", {x, integers(sizes)}, sizes.size());
  set(parts, "axis", axis);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    names.push_back(
        of_channels(parts.output(static_cast<int>(i)), axis == 1 ? sizes[i] : channels(x)));
  return names;
}

std::string Layers::reshape(const std::string& x, const List& shape) {
  return like(x, "Reshape", {x, integers(shape)});
}

std::string Layers::transpose(const std::string& x, const List& order) {
  onnx::NodeProto& turned = node("Transpose", {x});
  set(turned, "perm", order);
  return of_channels(turned.output(0), channels(x));
}

std::string Layers::upsampled(const std::string& x) {
  const std::string scales = "w" + std::to_string(constants_++);
  builder_.floats(scales, {4}, {1, 1, 2, 2});
  onnx::NodeProto& resize = node("Resize", {x, "", scales});
  set(resize, "mode", std::string("nearest"));
  set(resize, "nearest_mode", std::string("floor"));
  set(resize, "coordinate_transformation_mode", std::string("asymmetric"));
  return of_channels(resize.output(0), channels(x));
}

graph::Graph Layers::finish(const std::string& y) {
  builder_.output(y);
  return frontend::import_onnx_bytes(builder_.bytes(), "network.onnx", ".").graph;
}

}  // namespace polyte::gpu::testing
