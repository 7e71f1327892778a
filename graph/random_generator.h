// How random graphs are made; used by random_graph.cc (arithmetic) and random_moves.cc
// (moves and indices) only. Every value knows how large its elements can be and of what power
// of two they are multiples: an operator is added only where its result, and all partial sums
// of it, stay exact.
#pragma once

#include <map>
#include <random>

#include "graph/random_graph.h"

namespace polyte::graph {

struct Magnitude {
  double most = 0;  // of the absolute values
  double unit = 1;  // all elements are multiples of it
};

class RandomGenerator {
 public:
  RandomGenerator(std::uint64_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options) {}
  Graph run();

 private:
  using Maker = void (RandomGenerator::*)(ValueId);

  // Two draws stand in one pair of braces {..} or in statements of their own: the order of the
  // arguments of a call is the compiler's.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool chance(int in) { return below(in) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(choices.size())))];
  }
  const Dims& shape(ValueId id) const { return graph_.value(id).type.shape; }
  std::int64_t rank(ValueId id) const { return static_cast<std::int64_t>(shape(id).size()); }
  std::int64_t count(ValueId id) const { return element_count(shape(id)); }
  bool floats() const { return is_float(type_); }
  const Magnitude& size(ValueId id) const { return magnitudes_.at(id); }
  std::int64_t axis_of(ValueId id) { return below(rank(id)); }

  ValueId constant(Dims dims, const std::vector<double>& choices);
  ValueId index_constant(Dims dims, std::int64_t extent);
  // The node, if its result is exact and not too large; kNoValue otherwise. Its outputs join
  // their pools.
  ValueId add(OpKind op, Attributes attributes, std::vector<ValueId> inputs, Magnitude magnitude,
              std::size_t outputs = 1);
  std::int64_t index_bound(const Node& node) const;
  // An operator whose result is rounded: nothing reads it.
  void add_last(OpKind op, Attributes attributes, std::vector<ValueId> inputs);
  ValueId like(ValueId x);  // a value of the same shape, maybe x itself
  // Sizes, strides and dilations of any kind; or windows of 3 at stride 1, which
  // transform_convolutions looks for.
  Window window_for(ValueId x, bool dense_of_three = false);

  void add_some_node();
  void add_unary(ValueId x);
  void add_activation(ValueId x);
  void add_binary(ValueId x);
  void add_product(ValueId x);
  void add_comparison(ValueId x);
  void add_selection(ValueId x);
  void add_channel_constant(ValueId x);
  void add_cast(ValueId x);
  void add_batch_norm(ValueId x);
  void add_conv(ValueId x);
  void add_conv_transpose(ValueId x);
  void add_pool(ValueId x);
  void add_global_pool(ValueId x);
  void add_matrix_product(ValueId x);
  void add_einsum(ValueId x);
  void add_recurrence(ValueId x);
  void add_frames(ValueId x);
  void add_reduction(ValueId x);
  void add_rounded(ValueId x);

  void add_move(ValueId x);  // random_moves.cc
  void add_slice(ValueId x);
  void add_pad(ValueId x);
  void add_concat(ValueId x);
  void add_repeat(ValueId x);
  void add_reshape(ValueId x);
  void add_gather(ValueId x);
  void add_gather_nd(ValueId x);
  void add_scatter(ValueId x);
  void add_arg(ValueId x);
  void add_top_k(ValueId x);

  std::mt19937_64 random_;
  RandomGraphOptions options_;
  Graph graph_;
  DType type_ = DType::F64;                       // of all numbers
  double precision_ = 0;                          // most / unit of what is exact
  std::vector<ValueId> pool_;                     // numbers that operators may read
  std::vector<ValueId> truths_;                   // Bool
  std::vector<ValueId> indices_;                  // I64, within [0, some extent)
  std::map<ValueId, std::int64_t> index_bounds_;  // of each of indices_: its elements are below
  std::map<ValueId, Magnitude> magnitudes_;
};

}  // namespace polyte::graph
