// Layers of small ONNX networks, as an exporter writes them. A value is its name; its channels
// are kept beside it.
//
//   Layers net({1, 3, 20, 20});
//   const std::string x = net.relu(net.norm(net.conv("x", 8, {.kernel = {3, 3}, .pad = {1, 1}})));
//   net.finish(net.dense(net.pooled(x), 10))
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tests/frontend/model_builder.h"

namespace polyte::gpu::testing {

using polyte::testing::List;
using Pair = std::array<std::int64_t, 2>;

struct Window {
  Pair kernel{1, 1}, pad{0, 0};
  std::int64_t stride = 1, groups = 1;
  bool bias = false, ceil = false;
};

class Layers {
 public:
  explicit Layers(const List& shape);  // of the input, "x"

  std::string conv(const std::string& x, std::int64_t features, const Window& window);
  std::string conv_transpose(const std::string& x, std::int64_t features);  // twice the size
  std::string norm(const std::string& x);                                   // batch norm
  std::string dense(const std::string& x, std::int64_t features);           // of [N, C]
  // Of [.., C], with a bias.
  std::string matmul(const std::string& x, std::int64_t features);
  std::string pool(const std::string& kind, const std::string& x, const Window& window);
  std::string pooled(const std::string& x);  // [N, C]: the mean of each channel
  std::string layer_norm(const std::string& x);

  std::string unary(const std::string& kind, const std::string& x) { return like(x, kind, {x}); }
  std::string binary(const std::string& kind, const std::string& x, const std::string& y) {
    return like(x, kind, {x, y});
  }
  std::string binary(const std::string& kind, const std::string& x, float y) {
    return like(x, kind, {x, scalar(y)});
  }
  std::string relu(const std::string& x) { return unary("Relu", x); }
  std::string relu6(const std::string& x) { return like(x, "Clip", {x, scalar(0), scalar(6)}); }
  std::string silu(const std::string& x) { return binary("Mul", x, unary("Sigmoid", x)); }
  std::string normed(const std::string& x, std::int64_t features, const Window& window) {
    return norm(conv(x, features, window));
  }

  std::string concat(const std::vector<std::string>& parts, std::int64_t axis = 1);
  std::vector<std::string> split(const std::string& x, const List& sizes, std::int64_t axis = 1);
  std::string reshape(const std::string& x, const List& shape);
  std::string transpose(const std::string& x, const List& order);
  std::string upsampled(const std::string& x);  // twice, nearest neighbours

  std::string floats(const List& shape, float mean = 0);  // a constant
  std::int64_t channels(const std::string& x) const { return channels_.at(x); }
  // For a value whose channels only the caller knows.
  std::string of_channels(const std::string& x, std::int64_t channels);
  onnx::NodeProto& node(const std::string& kind, const std::vector<std::string>& inputs,
                        std::size_t outputs = 1);
  std::string like(const std::string& x, const std::string& kind,
                   const std::vector<std::string>& inputs);
  std::string scalar(float value);

  graph::Graph finish(const std::string& y);

 private:
  polyte::testing::ModelBuilder builder_{17};
  std::map<std::string, std::int64_t> channels_;
  int names_ = 0, constants_ = 0;

  std::string integers(const List& values);
};

}  // namespace polyte::gpu::testing
