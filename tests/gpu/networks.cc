#include "tests/gpu/networks.h"

#include <cmath>

#include "tests/gpu/layers.h"

namespace polyte::gpu::testing {
namespace {

using Text = std::string;

constexpr Window k1{};
constexpr Window k3{.kernel = {3, 3}, .pad = {1, 1}};
constexpr Window kHalf{.kernel = {3, 3}, .pad = {1, 1}, .stride = 2};

Window depthwise(std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
  return {.kernel = {kernel, kernel},
          .pad = {kernel / 2, kernel / 2},
          .stride = stride,
          .groups = channels};
}

Text classified(Layers& net, const Text& x) { return net.dense(net.pooled(x), 10); }

// ---- residual blocks

Text basic_block(Layers& net, const Text& x, std::int64_t width, std::int64_t stride) {
  Window first = k3;
  first.stride = stride;
  const Text y = net.normed(net.relu(net.normed(x, width, first)), width, k3);
  return net.relu(net.binary("Add", y, stride == 1 ? x : net.normed(x, width, {.stride = stride})));
}

Text bottleneck(Layers& net, const Text& x, std::int64_t width, std::int64_t stride) {
  Window middle = k3;
  middle.stride = stride;
  const Text y = net.relu(net.normed(net.relu(net.normed(x, width, k1)), width, middle));
  const bool projects = stride != 1 || net.channels(x) != 4 * width;
  return net.relu(net.binary("Add", net.normed(y, 4 * width, k1),
                             projects ? net.normed(x, 4 * width, {.stride = stride}) : x));
}

Text stem(Layers& net) {
  const Text x = net.relu(net.normed("x", 8, {.kernel = {7, 7}, .pad = {3, 3}, .stride = 2}));
  return net.pool("MaxPool", x, kHalf);
}

graph::Graph resnet18() {
  Layers net({1, 3, 37, 37});
  return net.finish(classified(net, basic_block(net, basic_block(net, stem(net), 8, 1), 12, 2)));
}

graph::Graph resnet50() {
  Layers net({1, 3, 37, 37});
  return net.finish(classified(
      net, bottleneck(net, bottleneck(net, bottleneck(net, stem(net), 6, 1), 6, 1), 8, 2)));
}

Text inverted(Layers& net, const Text& x, std::int64_t expand, std::int64_t features,
              std::int64_t stride) {
  const std::int64_t wide = expand * net.channels(x);
  Text y = expand > 1 ? net.relu6(net.normed(x, wide, k1)) : x;
  y = net.normed(net.relu6(net.normed(y, wide, depthwise(wide, 3, stride))), features, k1);
  return stride == 1 && net.channels(x) == features ? net.binary("Add", x, y) : y;
}

graph::Graph mobilenet_v2() {
  Layers net({1, 3, 21, 21});
  Text x = net.relu6(net.normed("x", 8, kHalf));
  x = inverted(net, inverted(net, inverted(net, x, 1, 6, 1), 3, 8, 2), 3, 8, 1);
  return net.finish(classified(net, net.relu6(net.normed(x, 20, k1))));
}

// Channels weighted by what all of them are on average.
Text squeezed(Layers& net, const Text& x) {
  const Text mean = net.like(x, "GlobalAveragePool", {x});
  const Text s = net.silu(net.conv(mean, 3, {.bias = true}));
  return net.binary("Mul", x, net.unary("Sigmoid", net.conv(s, net.channels(x), {.bias = true})));
}

graph::Graph efficientnet() {
  Layers net({1, 3, 21, 21});
  Text x = net.silu(net.normed("x", 8, kHalf));
  for (const std::int64_t stride : {2, 1}) {
    Text y = net.silu(net.normed(x, 16, k1));
    y = squeezed(net, net.silu(net.normed(y, 16, depthwise(16, 5, stride))));
    y = net.normed(y, 8, k1);
    x = stride == 1 ? net.binary("Add", x, y) : y;
  }
  return net.finish(classified(net, x));
}

Text shuffled(Layers& net, const Text& x, std::int64_t size) {
  const std::int64_t c = net.channels(x);
  return net.reshape(net.transpose(net.reshape(x, {1, 2, c / 2, size, size}), {0, 2, 1, 3, 4}),
                     {1, c, size, size});
}

Text shuffle_branch(Layers& net, const Text& x, std::int64_t width, std::int64_t stride) {
  const Text y = net.relu(net.normed(x, width, k1));
  return net.relu(net.normed(net.normed(y, width, depthwise(width, 3, stride)), width, k1));
}

graph::Graph shufflenet() {
  Layers net({1, 3, 18, 18});
  Text x = net.relu(net.normed("x", 6, kHalf));
  const Text near = net.relu(net.normed(net.normed(x, 6, depthwise(6, 3, 2)), 8, k1));
  x = shuffled(net, net.concat({near, shuffle_branch(net, x, 8, 2)}), 5);
  const std::vector<Text> halves = net.split(x, {8, 8});
  x = shuffled(net, net.concat({halves[0], shuffle_branch(net, halves[1], 8, 1)}), 5);
  return net.finish(classified(net, x));
}

// ---- concatenations

graph::Graph squeezenet() {
  Layers net({1, 3, 24, 24});
  Text x = net.relu(net.conv("x", 8, {.kernel = {3, 3}, .stride = 2, .bias = true}));
  x = net.pool("MaxPool", x, {.kernel = {3, 3}, .stride = 2, .ceil = true});
  Window wide = k3;
  wide.bias = true;
  const Text s = net.relu(net.conv(x, 4, {.bias = true}));
  x = net.concat({net.relu(net.conv(s, 8, {.bias = true})), net.relu(net.conv(s, 8, wide))});
  return net.finish(net.pooled(net.relu(net.conv(x, 10, {.bias = true}))));
}

graph::Graph densenet() {
  Layers net({1, 3, 19, 19});
  std::vector<Text> parts = {net.pool("MaxPool", net.relu(net.normed("x", 8, k3)), kHalf)};
  for (int i = 0; i < 2; ++i) {
    const Text y = parts.size() > 1 ? net.concat(parts) : parts.front();
    parts.push_back(net.conv(net.relu(net.normed(net.relu(net.norm(y)), 16, k1)), 4, k3));
  }
  const Text x = net.relu(net.norm(net.concat(parts)));
  const Text y = net.pool("AveragePool", net.conv(x, 8, k1), {.kernel = {2, 2}, .stride = 2});
  return net.finish(classified(net, net.relu(net.norm(y))));
}

graph::Graph inception() {
  Layers net({1, 3, 21, 21});
  const auto conv = [&](const Text& x, std::int64_t features, const Window& window) {
    return net.relu(net.normed(x, features, window));
  };
  const Window across{.kernel = {1, 7}, .pad = {0, 3}}, down{.kernel = {7, 1}, .pad = {3, 0}};
  Text x = conv("x", 8, {.kernel = {3, 3}, .stride = 2});
  const Text mean = net.pool("AveragePool", x, k3);
  x = net.concat({conv(x, 6, k1), conv(conv(x, 4, k1), 6, {.kernel = {5, 5}, .pad = {2, 2}}),
                  conv(mean, 4, k1), conv(conv(conv(x, 4, k1), 4, across), 6, down)});
  const Window half{.kernel = {3, 3}, .stride = 2};
  x = net.concat({conv(x, 8, half), net.pool("MaxPool", x, half)});
  return net.finish(classified(net, x));
}

Text twice(Layers& net, const Text& x, std::int64_t features) {
  return net.relu(net.normed(net.relu(net.normed(x, features, k3)), features, k3));
}

graph::Graph unet() {
  Layers net({1, 3, 20, 20});
  const Text fine = twice(net, "x", 6);
  const Text coarse = twice(net, net.pool("MaxPool", fine, {.kernel = {2, 2}, .stride = 2}), 12);
  const Text x = twice(net, net.concat({net.conv_transpose(coarse, 6), fine}), 6);
  return net.finish(net.unary("Sigmoid", net.conv(x, 1, {.bias = true})));
}

// ---- a detector

Text cross_stage(Layers& net, const Text& x, std::int64_t features) {
  const auto conv = [&](const Text& in, std::int64_t n, const Window& window) {
    return net.silu(net.normed(in, n, window));
  };
  const Text y = conv(x, features / 2, k1);
  const Text z = net.binary("Add", y, conv(conv(y, features / 2, k1), features / 2, k3));
  return conv(net.concat({z, conv(x, features / 2, k1)}), features, k1);
}

Text pyramid(Layers& net, const Text& x) {
  std::vector<Text> parts = {net.silu(net.normed(x, 4, k1))};
  for (int i = 0; i < 3; ++i)
    parts.push_back(net.pool("MaxPool", parts.back(), {.kernel = {5, 5}, .pad = {2, 2}}));
  return net.silu(net.normed(net.concat(parts), 8, k1));
}

// Boxes of three anchors: places, extents, what they hold.
Text head(Layers& net, const Text& x, std::int64_t size) {
  constexpr std::int64_t kClasses = 4;
  Text y = net.reshape(net.conv(x, 3 * (kClasses + 5), {.bias = true}),
                       {1, 3, kClasses + 5, size, size});
  y = net.unary("Sigmoid", net.transpose(y, {0, 1, 3, 4, 2}));
  const std::vector<Text> parts = net.split(y, {2, 2, kClasses + 1}, 4);
  const Text at = net.binary(
      "Mul", net.binary("Add", net.binary("Mul", parts[0], 2), net.floats({1, 1, size, size, 2})),
      8);
  const Text extent = net.binary("Mul", net.binary("Pow", net.binary("Mul", parts[1], 2), 2),
                                 net.floats({1, 3, 1, 1, 2}, 3));
  return net.reshape(net.concat({at, extent, parts[2]}, 4), {1, 3 * size * size, kClasses + 5});
}

graph::Graph yolo() {
  Layers net({1, 3, 24, 24});
  const Text fine = cross_stage(
      net, net.silu(net.normed("x", 8, {.kernel = {6, 6}, .pad = {2, 2}, .stride = 2})), 8);
  const Text coarse = pyramid(net, net.silu(net.normed(fine, 8, kHalf)));
  const Text x = cross_stage(net, net.concat({net.upsampled(coarse), fine}), 8);
  return net.finish(net.concat({head(net, x, 12), head(net, coarse, 6)}));
}

// ---- a transformer

constexpr std::int64_t kWords = 20, kWidth = 24, kHeads = 2;

Text heads(Layers& net, const Text& x, const List& order) {
  return net.transpose(net.reshape(x, {1, kWords, kHeads, kWidth / kHeads}), order);
}

Text attention(Layers& net, const Text& x) {
  const Text q = heads(net, net.matmul(x, kWidth), {0, 2, 1, 3}),
             v = heads(net, net.matmul(x, kWidth), {0, 2, 1, 3});
  const Text k = heads(net, net.matmul(x, kWidth), {0, 2, 3, 1});
  const Text scores = net.binary("Div", net.binary("MatMul", q, k), std::sqrt(12.0F));
  const Text mixed = net.like(q, "MatMul", {net.unary("Softmax", scores), v});
  return net.matmul(net.reshape(net.transpose(mixed, {0, 2, 1, 3}), {1, kWords, kWidth}), kWidth);
}

Text gelu(Layers& net, const Text& x) {
  const Text wide = net.unary("Erf", net.binary("Div", x, std::sqrt(2.0F)));
  return net.binary("Mul", net.binary("Mul", x, net.binary("Add", wide, 1)), 0.5F);
}

graph::Graph bert() {
  Layers net({1, kWords, kWidth});
  const Text x = net.layer_norm(net.binary("Add", "x", attention(net, "x")));
  return net.finish(net.layer_norm(
      net.binary("Add", x, net.matmul(gelu(net, net.matmul(x, 4 * kWidth)), kWidth))));
}

}  // namespace

std::vector<SmallNetwork> small_networks() {
  return {{"resnet18", resnet18()},
          {"resnet50", resnet50()},
          {"mobilenet_v2", mobilenet_v2()},
          {"efficientnet", efficientnet()},
          {"shufflenet", shufflenet()},
          {"squeezenet", squeezenet()},
          {"densenet", densenet()},
          {"inception", inception()},
          {"unet", unet()},
          {"yolo", yolo()},
          {"bert", bert()}};
}

}  // namespace polyte::gpu::testing
