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

// One to three steps of any cell; gates are cut at zero and at nothing else, so that their products
// stay exact.
void RandomGenerator::add_recurrence(ValueId x) {
  if (!floats() || rank(x) == 0 || shape(x).back() > 12 || count(x) > 128) return;
  const std::int64_t columns = shape(x).back(), rows = count(x) / columns;
  std::int64_t steps = 1 + below(3);
  while (rows % steps != 0) --steps;
  const Cell cell = one_of<Cell>({Cell::Rnn, Cell::Gru, Cell::Lstm});
  const std::int64_t gates = gates_of(cell);
  if (columns % gates != 0) return;
  const std::int64_t batch = rows / steps, hidden = columns / gates;
  const auto maybe = [&](Dims dims, const std::vector<double>& choices) {
    return chance(2) ? constant(std::move(dims), choices) : kNoValue;
  };
  const Magnitude m = size(x);
  const ValueId sequence = add(OpKind::Reshape, ShapeAttributes{{steps, batch, columns}}, {x}, m);
  if (sequence == kNoValue) return;
  const ValueId weight = constant({hidden, columns}, {-1, 0, 1});
  const ValueId h = maybe({batch, hidden}, {-1, 0, 2});
  const ValueId c = cell == Cell::Lstm ? maybe({batch, hidden}, {-1, 0, 2}) : kNoValue;
  const ValueId lengths = chance(2) ? index_constant({batch}, steps + 1) : kNoValue;
  const ValueId peepholes = cell == Cell::Lstm ? maybe({3 * hidden}, {-1, 0, 1}) : kNoValue;
  const ValueId bias = cell == Cell::Gru ? maybe({hidden}, {-1, 0, 1}) : kNoValue;
  RecurrenceAttributes attributes{.cell = cell, .backwards = chance(2), .reset_after = chance(2)};
  attributes.activations.assign(static_cast<std::size_t>(gates == 1 ? 1 : gates - 1),
                                {OpKind::Relu});
  // What a step makes of the state: a product of two gates has the unit of both.
  const auto width = static_cast<double>(hidden);
  Magnitude state{2, 1}, cells{2, 1};
  for (std::int64_t t = 0; t < steps; ++t) {
    const Magnitude gate{m.most + (width + 1) * (state.most + cells.most) + 1,
                         std::min({m.unit, state.unit, cells.unit})};
    const Magnitude two{gate.most * gate.most, gate.unit * gate.unit};
    if (cell == Cell::Rnn) {
      state = gate;
    } else if (cell == Cell::Gru) {
      const Magnitude candidate{(width + 2) * two.most, two.unit};
      state = {(gate.most + 2) * candidate.most, std::min(1.0, gate.unit) * candidate.unit};
    } else {
      cells = {2 * two.most, two.unit};
      state = {gate.most * cells.most, gate.unit * cells.unit};
    }
  }
  add(OpKind::Recurrence, attributes, {sequence, weight, h, c, lengths, peepholes, bias},
      {std::max(state.most, cells.most), std::min(state.unit, cells.unit)},
      cell == Cell::Lstm ? 3 : 2);
}

}  // namespace polyte::graph
