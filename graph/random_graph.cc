#include "graph/random_graph.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace polyte::graph {

namespace {

constexpr int kMostContractions = 4;  // each multiplies magnitudes by some hundred: sums stay below 2^53

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {}
  Graph run();

 private:
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int in) { return below(in) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(choices.size())))];
  }
  const Dims& shape(ValueId id) const { return graph_.value(id).type.shape; }

  ValueId constant(Dims dims, const std::vector<double>& choices);
  void add(OpKind op, Attributes attributes, std::vector<ValueId> inputs);
  void add_some_node();
  void add_unary(ValueId x);
  void add_binary(ValueId x);
  void add_channel_constant(ValueId x);
  void add_batch_norm(ValueId x);
  void add_conv(ValueId x);
  void add_pool(ValueId x);
  void add_matrix_product(ValueId x);
  void add_reduction(ValueId x);
  void add_move(ValueId x);
  void add_reshape(ValueId x);

  std::mt19937_64 random_;
  RandomGraphOptions options_;
  Graph graph_;
  std::vector<ValueId> pool_;  // values that operators may read
  int contractions_ = 0;
};

ValueId Generator::constant(Dims dims, const std::vector<double>& choices) {
  std::vector<double> elements(static_cast<std::size_t>(element_count(dims)));
  for (double& element : elements) element = one_of(choices);
  return graph_.add_constant("c", make_tensor({DType::F64, std::move(dims)}, elements));
}

void Generator::add(OpKind op, Attributes attributes, std::vector<ValueId> inputs) {
  const NodeId id = graph_.add_node(std::string(to_string(op)), op, std::move(attributes), std::move(inputs), {"v"});
  const ValueId output = graph_.node(id).outputs[0];
  if (element_count(shape(output)) <= options_.most_elements) pool_.push_back(output);
}

void Generator::add_unary(ValueId x) {
  add(one_of<OpKind>({OpKind::Relu, OpKind::Relu, OpKind::Neg, OpKind::Abs, OpKind::Identity}), NoAttributes{}, {x});
}

void Generator::add_binary(ValueId x) {
  std::vector<ValueId> same;
  for (ValueId id : pool_) {
    if (shape(id) == shape(x)) same.push_back(id);
  }
  const ValueId y = one_of(same);
  add(one_of<OpKind>({OpKind::Add, OpKind::Add, OpKind::Sub, OpKind::Max, OpKind::Min}), NoAttributes{}, {x, y});
}

void Generator::add_channel_constant(ValueId x) {
  if (shape(x).empty()) return;
  Dims dims(shape(x).size(), 1);
  const std::size_t axis = chance(4) ? dims.size() - 1 : std::min<std::size_t>(1, dims.size() - 1);
  dims[axis] = shape(x)[axis];
  const bool scales = chance(2);
  const ValueId c = constant(dims, scales ? std::vector<double>{1, 2, -1, 0.5} : std::vector<double>{0, 1, -3, 5});
  const OpKind op = scales ? one_of<OpKind>({OpKind::Mul, OpKind::Div}) : one_of<OpKind>({OpKind::Add, OpKind::Sub});
  const bool first = op != OpKind::Div && chance(2);
  add(op, NoAttributes{}, first ? std::vector<ValueId>{c, x} : std::vector<ValueId>{x, c});
}

void Generator::add_batch_norm(ValueId x) {
  if (shape(x).size() < 2) return;
  const Dims channels = {shape(x)[1]};
  add(OpKind::BatchNormalization, NormAttributes{.epsilon = 0, .axis = 0},
      {x, constant(channels, {1, 2, -1}), constant(channels, {0, 1, -2}), constant(channels, {0, 1, -2}),
       constant(channels, {1, 4, 0.25})});
}

void Generator::add_conv(ValueId x) {
  if (shape(x).size() != 4 || ++contractions_ > kMostContractions) return;
  const std::int64_t channels = shape(x)[1], size = one_of<std::int64_t>({1, 2, 3}), stride = 1 + below(2);
  const std::int64_t pad = size == 3 ? below(2) : 0, group = chance(3) ? channels : 1;
  if (shape(x)[2] + 2 * pad < size || shape(x)[3] + 2 * pad < size) return;
  const std::int64_t outputs = group * (1 + below(group == 1 ? 4 : 2));
  const Window window = {{size, size}, {stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
  const ValueId bias = chance(2) ? constant({outputs}, {-2, 0, 1}) : kNoValue;
  add(OpKind::Conv, ConvAttributes{.window = window, .group = group, .output_padding = {}},
      {x, constant({outputs, channels / group, size, size}, {-1, 0, 1, 2}), bias});
}

void Generator::add_pool(ValueId x) {
  if (shape(x).size() != 4 || shape(x)[2] < 2 || shape(x)[3] < 2) return;
  const std::int64_t stride = 1 + below(2);
  PoolAttributes pool;
  pool.window = {{2, 2}, {stride, stride}, {1, 1}, {0, 0}, {0, 0}};
  add(one_of<OpKind>({OpKind::MaxPool, OpKind::AveragePool}), pool, {x});
}

void Generator::add_matrix_product(ValueId x) {
  if (shape(x).size() < 2 || shape(x).back() > 64 || ++contractions_ > kMostContractions) return;
  const std::int64_t depth = shape(x).back(), width = 1 + below(5);
  if (shape(x).size() > 2 || chance(2)) {
    return add(OpKind::MatMul, NoAttributes{}, {x, constant({depth, width}, {-1, 0, 1, 2})});
  }
  const bool trans_b = chance(2);
  const ValueId weight = constant(trans_b ? Dims{width, depth} : Dims{depth, width}, {-1, 0, 1});
  const ValueId bias = chance(3) ? kNoValue : constant({width}, {-2, 0, 1});
  add(OpKind::Gemm, GemmAttributes{.alpha = 2, .beta = 0.5, .trans_a = false, .trans_b = trans_b}, {x, weight, bias});
}

void Generator::add_reduction(ValueId x) {
  if (shape(x).empty()) return;
  ReduceAttributes reduce;
  reduce.axes = {below(static_cast<std::int64_t>(shape(x).size()))};
  reduce.keep_dims = chance(2);
  add(one_of<OpKind>({OpKind::ReduceSum, OpKind::ReduceMax}), reduce, {x});
}

void Generator::add_move(ValueId x) {
  const Dims dims = shape(x);
  if (dims.empty()) return;
  const std::int64_t axis = below(static_cast<std::int64_t>(dims.size()));
  const auto along = static_cast<std::size_t>(axis);
  switch (below(4)) {
    case 0: {
      TransposeAttributes transpose{Dims(dims.size())};
      std::iota(transpose.perm.begin(), transpose.perm.end(), 0);
      for (std::size_t d = dims.size(); d > 1; --d) {
        std::swap(transpose.perm[d - 1], transpose.perm[static_cast<std::size_t>(below(static_cast<std::int64_t>(d)))]);
      }
      return add(OpKind::Transpose, transpose, {x});
    }
    case 1: {
      SliceAttributes slice{Dims(dims.size(), 0), Dims(dims.size(), 1), dims};
      slice.starts[along] = below(dims[along]);
      slice.sizes[along] = 1 + below(dims[along] - slice.starts[along]);
      return add(OpKind::Slice, slice, {x});
    }
    case 2: {
      PadAttributes pad{Dims(dims.size(), 0), Dims(dims.size(), 0), PadMode::Constant};
      pad.begin[along] = below(2);
      pad.end[along] = below(3);
      return add(OpKind::Pad, pad, {x, kNoValue});
    }
    default:
      return add(OpKind::Concat, AxisAttributes{axis}, {x, x});
  }
}

void Generator::add_reshape(ValueId x) {
  const std::int64_t count = element_count(shape(x));
  std::int64_t first = 1 + below(std::min<std::int64_t>(count, 6));
  while (count % first != 0) --first;
  const Dims merged = {first, count / first};
  Dims split = shape(x);
  split.insert(split.begin() + below(static_cast<std::int64_t>(split.size()) + 1), 1);
  add(OpKind::Reshape, ShapeAttributes{chance(2) || split.size() > 5 ? merged : split}, {x});
}

void Generator::add_some_node() {
  // Late values are read more often, which makes chains.
  const auto size = static_cast<std::int64_t>(pool_.size());
  const ValueId x = pool_[static_cast<std::size_t>(std::max(below(size), below(size)))];
  using Maker = void (Generator::*)(ValueId);
  static const std::vector<Maker> kMakers = {&Generator::add_unary,
                                             &Generator::add_unary,
                                             &Generator::add_binary,
                                             &Generator::add_binary,
                                             &Generator::add_channel_constant,
                                             &Generator::add_channel_constant,
                                             &Generator::add_batch_norm,
                                             &Generator::add_conv,
                                             &Generator::add_conv,
                                             &Generator::add_pool,
                                             &Generator::add_matrix_product,
                                             &Generator::add_reduction,
                                             &Generator::add_move,
                                             &Generator::add_move,
                                             &Generator::add_reshape};
  (this->*one_of(kMakers))(x);
}

Graph Generator::run() {
  graph_.name = "random";
  pool_.push_back(graph_.add_input("x", {DType::F64, {1 + below(2), 1 + below(3), 2 + below(5), 2 + below(5)}}));
  if (chance(3)) pool_.push_back(graph_.add_input("y", {DType::F64, shape(pool_[0])}));
  if (chance(4)) pool_.push_back(constant(shape(pool_[0]), {-1, 0, 1}));
  for (std::int64_t steps = 1 + below(options_.most_nodes); steps > 0; --steps) add_some_node();

  const std::vector<std::vector<NodeId>> consumers = consumers_of(graph_);
  for (ValueId id : pool_) {
    if (graph_.value(id).producer == kNoNode) continue;
    if (consumers[static_cast<std::size_t>(id)].empty() || chance(12)) graph_.outputs.push_back(id);
  }
  if (graph_.outputs.empty()) graph_.outputs.push_back(pool_.front());
  graph_.normalise();
  return std::move(graph_);
}

}  // namespace

Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options) { return Generator(seed, options).run(); }

Tensor random_integers(const TensorType& type, std::uint64_t seed, int bound) {
  std::mt19937_64 random(seed);
  std::vector<double> elements(static_cast<std::size_t>(element_count(type.shape)));
  for (double& element : elements) {
    element = static_cast<double>(random() % static_cast<std::uint64_t>(2 * bound + 1)) - bound;
  }
  return make_tensor(type, elements);
}

}  // namespace polyte::graph
