#include "graph/random_graph.h"

#include <algorithm>
#include <cmath>

#include "graph/op.h"
#include "graph/random_generator.h"

namespace polyte::graph {

ValueId RandomGenerator::constant(Dims dims, const std::vector<double>& choices) {
  std::vector<double> elements(static_cast<std::size_t>(element_count(dims)));
  double most = 0;
  for (double& element : elements) {
    element = one_of(choices);
    most = std::max(most, std::fabs(element));
  }
  const ValueId id = graph_.add_constant("c", make_tensor({type_, std::move(dims)}, elements));
  // No choice anywhere is finer than a quarter.
  magnitudes_[id] = {most, 0.25};
  return id;
}

ValueId RandomGenerator::add(OpKind op, Attributes attributes, std::vector<ValueId> inputs,
                             Magnitude magnitude, std::size_t outputs) {
  if (!floats()) magnitude.unit = 1;
  // The invariant of all random graphs: elements are whole multiples of `unit`, of which no more
  // than `precision_` fit below `most`. A sum or product then has a significand that the type
  // holds, in whatever order its terms are added.
  if (magnitude.most / magnitude.unit > precision_) return kNoValue;
  const Node probe{"probe", op, attributes, inputs, {}};
  const auto types = infer_types(graph_, probe);
  // Random operands need not fit each other: what inference refuses is not added, and that is
  // all.
  if (!types || element_count((*types)[0].shape) > options_.most_elements) return kNoValue;
  const std::vector<std::string> names(outputs, "v");
  const NodeId id = graph_.add_node(std::string(to_string(op)), op, std::move(attributes),
                                    std::move(inputs), names);
  for (ValueId output : graph_.node(id).outputs) {
    const DType type = graph_.value(output).type.dtype;
    magnitudes_[output] = magnitude;
    if (type == type_)
      pool_.push_back(output);
    else if (type == DType::Bool)
      truths_.push_back(output);
    else if (type == DType::I64)
      indices_.push_back(output), index_bounds_[output] = index_bound(graph_.node(id));
  }
  return graph_.node(id).outputs[0];
}

// Places on an axis, or of a pool's elements in the whole tensor.
std::int64_t RandomGenerator::index_bound(const Node& node) const {
  const Dims& read = shape(node.inputs[0]);
  if (const auto* arg = std::get_if<ArgAttributes>(&node.attributes))
    return read[static_cast<std::size_t>(arg->axis)];
  if (const auto* top = std::get_if<TopKAttributes>(&node.attributes))
    return read[static_cast<std::size_t>(top->axis)];
  return element_count(read);
}

void RandomGenerator::add_last(OpKind op, Attributes attributes, std::vector<ValueId> inputs) {
  const NodeId id = graph_.add_node(std::string(to_string(op)), op, std::move(attributes),
                                    std::move(inputs), {"last"});
  graph_.outputs.push_back(graph_.node(id).outputs[0]);
}

ValueId RandomGenerator::like(ValueId x) {
  std::vector<ValueId> same;
  for (ValueId id : pool_) {
    if (shape(id) == shape(x)) same.push_back(id);
  }
  return one_of(same);
}

void RandomGenerator::add_unary(ValueId x) {
  std::vector<OpKind> kinds = {OpKind::Relu, OpKind::Relu,     OpKind::Neg,
                               OpKind::Abs,  OpKind::Identity, OpKind::Sign};
  if (floats()) kinds.insert(kinds.end(), {OpKind::Floor, OpKind::Ceil, OpKind::Round});
  const Magnitude m = size(x);
  add(one_of(kinds), NoAttributes{}, {x}, {m.most + 1, m.unit});
}

void RandomGenerator::add_activation(ValueId x) {
  const Magnitude m = size(x);
  if (!floats()) return;
  switch (below(5)) {
    case 0:
      // The slope halves what is below zero, so the result has half the unit.
      add(OpKind::LeakyRelu, ActivationAttributes{0.5, 0}, {x}, {m.most, m.unit / 2});
      return;
    case 1:
      add(OpKind::ThresholdedRelu, ActivationAttributes{1, 0}, {x}, m);
      return;
    case 2:
      add(OpKind::Shrink, ActivationAttributes{1, 1}, {x}, {m.most + 1, m.unit});
      return;
    case 3:
      add(OpKind::HardSigmoid, ActivationAttributes{0.25, 0.5}, {x}, {m.most + 1, m.unit / 4});
      return;
    default:
      add(OpKind::Clip, NoAttributes{},
          {x, chance(3) ? kNoValue : constant({}, {-3, 0}), constant({}, {2, 6})}, m);
  }
}

void RandomGenerator::add_binary(ValueId x) {
  const ValueId y = like(x);
  const Magnitude a = size(x), b = size(y);
  const OpKind op =
      one_of<OpKind>({OpKind::Add, OpKind::Add, OpKind::Sub, OpKind::Max, OpKind::Min});
  // The bound of a sum; it holds for Max and Min as well.
  add(op, NoAttributes{}, {x, y}, {a.most + b.most, std::min(a.unit, b.unit)});
}

// Products of two values, remainders, slopes.
void RandomGenerator::add_product(ValueId x) {
  const ValueId y = like(x);
  const Magnitude a = size(x), b = size(y);
  if (floats() && chance(4)) {
    const std::int64_t power = 1 + below(3);
    add(OpKind::Pow, NoAttributes{}, {x, constant({}, {static_cast<double>(power)})},
        {std::pow(a.most, power), std::pow(a.unit, power)});
  } else if (chance(2)) {
    add(OpKind::Mul, NoAttributes{}, {x, y}, {a.most * b.most, a.unit * b.unit});
  } else if (chance(2)) {
    add(OpKind::Mod, NoAttributes{}, {x, constant({}, {3, -2, 5})}, a);
  } else if (floats()) {
    add(OpKind::PRelu, NoAttributes{}, {x, constant(chance(2) ? Dims{} : shape(x), {0.5, 2, -1})},
        {a.most * 2, a.unit / 2});
  }
}

void RandomGenerator::add_comparison(ValueId x) {
  if (!truths_.empty() && chance(3)) {
    const ValueId a = one_of(truths_);
    if (chance(3)) {
      add(OpKind::Not, NoAttributes{}, {a}, {1, 1});
      return;
    }
    const ValueId b = one_of(truths_);
    add(one_of<OpKind>({OpKind::And, OpKind::Or, OpKind::Xor}), NoAttributes{}, {a, b}, {1, 1});
    return;
  }
  const ValueId y = chance(3) ? constant({}, {0, 1}) : like(x);
  add(one_of<OpKind>({OpKind::Equal, OpKind::Less, OpKind::LessOrEqual, OpKind::Greater,
                      OpKind::GreaterOrEqual}),
      NoAttributes{}, {x, y}, {1, 1});
}

void RandomGenerator::add_selection(ValueId x) {
  if (truths_.empty()) return;
  const ValueId y = chance(3) ? constant({}, {0, 5}) : like(x);
  const Magnitude a = size(x), b = size(y);
  add(OpKind::Where, NoAttributes{}, {one_of(truths_), x, y},
      {std::max(a.most, b.most), std::min(a.unit, b.unit)});
}

void RandomGenerator::add_channel_constant(ValueId x) {
  if (shape(x).empty()) return;
  Dims dims(shape(x).size(), 1);
  const std::size_t axis = chance(4) ? dims.size() - 1 : std::min<std::size_t>(1, dims.size() - 1);
  dims[axis] = shape(x)[axis];
  const Magnitude m = size(x);
  const bool scales = chance(2);
  // Scales are powers of two, so that quotients are exact as well.
  std::vector<double> choices =
      scales ? std::vector<double>{1, 2, -1} : std::vector<double>{0, 1, -3, 5};
  if (scales && floats()) choices.push_back(0.5);
  const ValueId c = constant(dims, choices);
  OpKind op = one_of<OpKind>({OpKind::Add, OpKind::Sub});
  if (scales) op = floats() ? one_of<OpKind>({OpKind::Mul, OpKind::Div}) : OpKind::Mul;
  const bool first = op != OpKind::Div && chance(2);
  const Magnitude result =
      scales ? Magnitude{m.most * 2, m.unit / 2} : Magnitude{m.most + 5, m.unit};
  add(op, NoAttributes{}, first ? std::vector<ValueId>{c, x} : std::vector<ValueId>{x, c}, result);
}

// There and back again, through types that hold whole numbers of this size.
void RandomGenerator::add_cast(ValueId x) {
  const Magnitude m = size(x);
  if (m.most > 1e8) return;
  const DType through =
      one_of<DType>({DType::I32, DType::I64, DType::I8, DType::U8, DType::Bool, DType::F64});
  const NodeId there = graph_.add_node("Cast", OpKind::Cast, CastAttributes{through}, {x}, {"v"});
  add(OpKind::Cast, CastAttributes{type_}, {graph_.node(there).outputs[0]},
      {std::max(m.most, 255.0), m.unit});
}

void RandomGenerator::add_batch_norm(ValueId x) {
  if (shape(x).size() < 2 || !floats()) return;
  const Dims channels = {shape(x)[1]};
  const Magnitude m = size(x);
  // Variances are squares of powers of two and epsilon is 0, so that square root and quotient are
  // exact; the factor is at most 2 / 0.5.
  add(OpKind::BatchNormalization, NormAttributes{.epsilon = 0, .axis = 0},
      {x, constant(channels, {1, 2, -1}), constant(channels, {0, 1, -2}),
       constant(channels, {0, 1, -2}), constant(channels, {1, 4, 0.25})},
      {(m.most + 2) * 4 + 2, m.unit / 4});
}

Window RandomGenerator::window_for(ValueId x, bool dense_of_three) {
  Window window;
  const bool dilates = !dense_of_three && chance(4);
  for (std::int64_t d = 2; d < rank(x); ++d) {
    const std::int64_t size = dense_of_three ? 3 : one_of<std::int64_t>({1, 2, 3});
    window.kernel.push_back(size);
    window.strides.push_back(dense_of_three ? 1 : 1 + below(2));
    window.dilations.push_back(dilates ? 2 : 1);
    window.pads_begin.push_back(below(size));
    window.pads_end.push_back(below(size));
  }
  return window;
}

void RandomGenerator::add_conv(ValueId x) {
  if (rank(x) < 3) return;
  const Window window = window_for(x, chance(3));
  const std::int64_t channels = shape(x)[1], group = chance(3) ? channels : 1;
  const std::int64_t outputs = group * (1 + below(group == 1 ? 4 : 2));
  Dims weight = {outputs, channels / group};
  weight.insert(weight.end(), window.kernel.begin(), window.kernel.end());
  // Products in the sum of one output element; no weight is larger than 2.
  const std::int64_t terms_of_one = element_count(weight) / outputs;
  const auto terms = static_cast<double>(terms_of_one);
  const Magnitude m = size(x);
  const ValueId bias = chance(2) ? constant({outputs}, {-2, 0, 1}) : kNoValue;
  add(OpKind::Conv, ConvAttributes{.window = window, .group = group, .output_padding = {}},
      {x, constant(weight, {-1, 0, 1, 2}), bias}, {m.most * 2 * terms + 2, m.unit});
}

void RandomGenerator::add_conv_transpose(ValueId x) {
  if (rank(x) < 3 || !floats()) return;
  Window window = window_for(x);
  for (std::size_t d = 0; d < window.kernel.size(); ++d)
    window.pads_begin[d] = window.pads_end[d] = 0;
  const std::int64_t channels = shape(x)[1], group = chance(3) ? channels : 1;
  Dims weight = {channels, 1 + below(3)};
  weight.insert(weight.end(), window.kernel.begin(), window.kernel.end());
  const Magnitude m = size(x);
  // No output element gets more terms than the weight has elements.
  const double terms = static_cast<double>(element_count(weight));
  add(OpKind::ConvTranspose,
      ConvAttributes{
          .window = window, .group = group, .output_padding = Dims(window.kernel.size(), 0)},
      {x, constant(weight, {-1, 0, 1, 2}), kNoValue}, {m.most * 2 * terms, m.unit});
}

void RandomGenerator::add_pool(ValueId x) {
  if (rank(x) < 3) return;
  PoolAttributes pool;
  pool.window = window_for(x);
  const Magnitude m = size(x);
  if (floats() && chance(2)) {
    // Averages of 1, 2, 4 or 8 elements, always of all of them.
    for (std::int64_t& extent : pool.window.kernel) extent = extent == 3 ? 2 : extent;
    for (std::size_t d = 0; d < pool.window.kernel.size(); ++d) {
      pool.window.pads_begin[d] = std::min(pool.window.pads_begin[d], pool.window.kernel[d] - 1);
      pool.window.pads_end[d] = std::min(pool.window.pads_end[d], pool.window.kernel[d] - 1);
    }
    pool.count_include_pad = true;
    add(OpKind::AveragePool, pool, {x}, {m.most * 8, m.unit / 8});
    return;
  }
  pool.ceil_mode = chance(3);
  if (!floats() && chance(2)) pool.ceil_mode = false;
  add(OpKind::MaxPool, pool, {x}, m, chance(4) ? 2 : 1);
}

void RandomGenerator::add_global_pool(ValueId x) {
  if (rank(x) < 3 || !floats()) return;
  const Magnitude m = size(x);
  const std::int64_t elements = element_count(Dims(shape(x).begin() + 2, shape(x).end()));
  // A power of two divides exactly.
  const bool averages = (elements & (elements - 1)) == 0 && chance(2);
  const auto n = static_cast<double>(elements);
  add(averages ? OpKind::GlobalAveragePool : OpKind::GlobalMaxPool, NoAttributes{}, {x},
      averages ? Magnitude{m.most * n, m.unit / n} : m);
}

// Frames of x as a signal, times whole numbers instead of cosines and sines.
void RandomGenerator::add_frames(ValueId x) {
  if (!floats() || count(x) < 2) return;
  const Magnitude m = size(x);
  const std::int64_t parts = count(x) % 2 == 0 && chance(2) ? 2 : 1, samples = count(x) / parts;
  const ValueId signal = add(OpKind::Reshape, ShapeAttributes{{1, samples, parts}}, {x}, m);
  if (signal == kNoValue) return;
  const std::int64_t length = 1 + below(std::min<std::int64_t>(samples, 8));
  const ValueId matrix = constant({length, parts, 1 + below(5)}, {-1, 0, 1, 2});
  add(OpKind::STFT, StftAttributes{1 + below(4)}, {signal, matrix},
      {m.most * 2 * static_cast<double>(length * parts), m.unit});
}

void RandomGenerator::add_reduction(ValueId x) {
  if (shape(x).empty()) return;
  const Magnitude m = size(x);
  if (chance(6)) {
    CumSumAttributes sum{axis_of(x), chance(2), chance(2)};
    const std::int64_t extent = shape(x)[static_cast<std::size_t>(sum.axis)];
    if (extent >= 2 && chance(2)) sum.block = 1 + below(extent / 2);
    add(OpKind::CumSum, sum, {x}, {m.most * static_cast<double>(count(x)), m.unit});
    return;
  }
  ReduceAttributes reduce;
  double terms = 1;
  for (std::int64_t d = 0; d < rank(x); ++d) {
    const bool is_last_chance = reduce.axes.empty() && d + 1 == rank(x);
    if (!is_last_chance && chance(2)) continue;
    reduce.axes.push_back(d);
    terms *= static_cast<double>(shape(x)[static_cast<std::size_t>(d)]);
  }
  reduce.keep_dims = chance(2);
  switch (below(5)) {
    case 0:
      add(one_of<OpKind>({OpKind::ReduceMax, OpKind::ReduceMin}), reduce, {x}, m);
      return;
    case 1:
      add(OpKind::ReduceSumSquare, reduce, {x}, {m.most * m.most * terms, m.unit * m.unit});
      return;
    case 2:
      add(OpKind::ReduceProd, reduce, {x}, {std::pow(m.most + 1, terms), std::pow(m.unit, terms)});
      return;
    default:
      add(one_of<OpKind>({OpKind::ReduceSum, OpKind::ReduceL1}), reduce, {x},
          {m.most * terms, m.unit});
  }
}

// Operators that round: nothing reads their results.
void RandomGenerator::add_rounded(ValueId x) {
  if (!floats() || rank(x) < 1 || size(x).most > 30) return;
  const std::int64_t axis = axis_of(x);
  switch (below(5)) {
    case 0:
      return add_last(one_of<OpKind>({OpKind::Softmax, OpKind::LogSoftmax, OpKind::Hardmax}),
                      SoftmaxAttributes{axis, axis + 1}, {x});
    case 1:
      return add_last(
          OpKind::LayerNormalization, NormAttributes{1e-5, axis},
          {x, constant(Dims(shape(x).begin() + axis, shape(x).end()), {1, 2}), kNoValue});
    case 2:
      if (rank(x) < 3) return;
      return add_last(OpKind::InstanceNormalization, NormAttributes{1e-5, 0},
                      {x, constant({shape(x)[1]}, {1, 2}), constant({shape(x)[1]}, {0, 1})});
    case 3:
      return add_last(OpKind::ReduceMean, ReduceAttributes{{axis}, chance(2)}, {x});
    default:
      return add_last(
          one_of<OpKind>({OpKind::Exp, OpKind::Tanh, OpKind::Sigmoid, OpKind::Erf, OpKind::Atan,
                          OpKind::Sinh, OpKind::Asinh, OpKind::Softplus, OpKind::Reciprocal}),
          NoAttributes{}, {x});
  }
}

void RandomGenerator::add_some_node() {
  // Late values are read more often, which makes chains.
  const auto size = static_cast<std::int64_t>(pool_.size());
  const ValueId x = pool_[static_cast<std::size_t>(std::max(below(size), below(size)))];
  using G = RandomGenerator;
  static const std::vector<Maker> kMakers = {&G::add_unary,
                                             &G::add_unary,
                                             &G::add_binary,
                                             &G::add_binary,
                                             &G::add_product,
                                             &G::add_activation,
                                             &G::add_comparison,
                                             &G::add_selection,
                                             &G::add_cast,
                                             &G::add_channel_constant,
                                             &G::add_conv,
                                             &G::add_channel_constant,
                                             &G::add_batch_norm,
                                             &G::add_conv,
                                             &G::add_conv_transpose,
                                             &G::add_pool,
                                             &G::add_pool,
                                             &G::add_global_pool,
                                             &G::add_einsum,
                                             &G::add_frames,
                                             &G::add_matrix_product,
                                             &G::add_reduction,
                                             &G::add_reduction,
                                             &G::add_rounded,
                                             &G::add_move,
                                             &G::add_slice,
                                             &G::add_pad,
                                             &G::add_concat,
                                             &G::add_repeat,
                                             &G::add_reshape,
                                             &G::add_gather,
                                             &G::add_gather_nd,
                                             &G::add_scatter,
                                             &G::add_arg,
                                             &G::add_top_k,
                                             &G::add_recurrence};
  (this->*one_of(kMakers))(x);
}

Graph RandomGenerator::run() {
  graph_.name = "random";
  type_ = one_of<DType>({DType::F64, DType::F64, DType::F64, DType::F32, DType::I32});
  // Whole numbers are exact up to 2^53, 2^24 and 2^31; a few bits stay in reserve.
  precision_ = type_ == DType::F64 ? 0x1p50 : type_ == DType::F32 ? 0x1p22 : 0x1p29;
  Dims dims;
  for (std::int64_t d = chance(2) ? 4 : 1 + below(5); d > 0; --d)
    dims.push_back(dims.size() < 2 ? 1 + below(3) : 1 + below(6));
  if (dims.size() == 4 && chance(2)) dims[2] = dims[3] = 2 + below(5);
  pool_.push_back(graph_.add_input("x", {type_, dims}));
  if (chance(3)) pool_.push_back(graph_.add_input("y", {type_, dims}));
  for (ValueId id : pool_) magnitudes_[id] = {4, 1};
  if (chance(4)) pool_.push_back(constant(dims, {-1, 0, 1}));
  for (std::int64_t steps = 1 + below(options_.most_nodes); steps > 0; --steps) add_some_node();

  const std::vector<std::vector<NodeId>> consumers = consumers_of(graph_);
  // Nothing is computed in vain, and now and then a value is both an output and an operand, which
  // fusion has to keep.
  for (const std::vector<ValueId>* pool : {&pool_, &truths_, &indices_}) {
    for (ValueId id : *pool) {
      if (graph_.value(id).producer == kNoNode) continue;
      if (consumers[static_cast<std::size_t>(id)].empty() || chance(12))
        graph_.outputs.push_back(id);
    }
  }
  if (graph_.outputs.empty()) graph_.outputs.push_back(pool_.front());
  graph_.normalise();
  return std::move(graph_);
}

Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options) {
  return RandomGenerator(seed, options).run();
}

Tensor random_integers(const TensorType& type, std::uint64_t seed, int bound) {
  std::mt19937_64 random(seed);
  std::vector<double> elements(static_cast<std::size_t>(element_count(type.shape)));
  for (double& element : elements) {
    element = static_cast<double>(random() % static_cast<std::uint64_t>(2 * bound + 1)) - bound;
  }
  return make_tensor(type, elements);
}

}  // namespace polyte::graph
