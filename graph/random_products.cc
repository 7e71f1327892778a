// Random products of matrices and sums over labels.
#include <algorithm>
#include <numeric>

#include "graph/random_generator.h"

namespace polyte::graph {

void RandomGenerator::add_matrix_product(ValueId x) {
  if (rank(x) < 2 || shape(x).back() > 64) return;
  const std::int64_t depth = shape(x).back(), width = 1 + below(5);
  const Magnitude m = size(x);
  const double most = m.most * 2 * static_cast<double>(depth);
  if (chance(3)) {  // of its rows with each other
    TransposeAttributes turn{Dims(shape(x).size())};
    std::iota(turn.perm.begin(), turn.perm.end(), 0);
    std::swap(turn.perm.back(), turn.perm[turn.perm.size() - 2]);
    const ValueId turned = add(OpKind::Transpose, turn, {x}, m);
    if (turned != kNoValue)
      add(OpKind::MatMul, NoAttributes{}, {x, turned},
          {m.most * m.most * static_cast<double>(depth), m.unit * m.unit});
    return;
  }
  if (rank(x) > 2 || chance(2)) {
    const Dims weight = chance(5) ? Dims{depth} : Dims{depth, width};
    add(OpKind::MatMul, NoAttributes{}, {x, constant(weight, {-1, 0, 1, 2})}, {most, m.unit});
    return;
  }
  if (!floats()) return;
  const bool trans_b = chance(2);
  const ValueId weight = constant(trans_b ? Dims{width, depth} : Dims{depth, width}, {-1, 0, 1});
  const ValueId bias = chance(3) ? kNoValue : constant({width}, {-2, 0, 1});
  add(OpKind::Gemm, GemmAttributes{.alpha = 2, .beta = 0.5, .trans_a = false, .trans_b = trans_b},
      {x, weight, bias}, {2 * most + 2, m.unit / 2});
}

// Labels at random: some of x's summed over, one twice where extents allow it, one more from
// a weight.
void RandomGenerator::add_einsum(ValueId x) {
  if (rank(x) == 0 || count(x) > 256) return;
  EinsumAttributes einsum;
  Dims labels;
  for (std::int64_t d = 0; d < rank(x); ++d) labels.push_back(d);
  for (std::size_t d = 1; d < labels.size(); ++d) {
    if (shape(x)[d] == shape(x)[d - 1] && chance(3)) labels[d] = labels[d - 1];
  }
  einsum.inputs = {labels};
  for (std::int64_t label : labels) {
    const bool is_new = std::ranges::find(einsum.output, label) == einsum.output.end();
    if (is_new && !chance(3)) einsum.output.push_back(label);
  }
  std::vector<ValueId> inputs = {x};
  const Magnitude m = size(x);
  double most = m.most * static_cast<double>(count(x));
  if (chance(2)) {
    const std::size_t d = static_cast<std::size_t>(axis_of(x));
    const std::int64_t width = 1 + below(4);
    einsum.inputs.push_back({labels[d], 100});
    if (!chance(3))
      einsum.output.insert(
          einsum.output.begin() + below(1 + static_cast<std::int64_t>(einsum.output.size())), 100);
    inputs.push_back(constant({shape(x)[d], width}, {-1, 0, 1, 2}));
    most *= 2 * static_cast<double>(width);
  }
  add(OpKind::Einsum, einsum, inputs, {most, m.unit});
}

}  // namespace polyte::graph
