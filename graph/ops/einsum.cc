// Einsum: a label is an iterator; labels that the output lacks are summed over, a label that one
// operand has twice reads its diagonal.
//   bij,bjk->bik    acc[i0, i1, i2] = sum[r0] a[i0, i1, r0] * b[i0, r0, i2]
#include <algorithm>
#include <map>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

namespace {

using Extents = std::map<std::int64_t, std::int64_t>;  // of labels

// An extent of 1 broadcasts.
Result<Extents> extents_of(const Graph& graph, const Node& node, const EinsumAttributes& einsum) {
  Extents extents;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Dims& shape = input_type(graph, node, i).shape;
    if (i >= einsum.inputs.size() || einsum.inputs[i].size() != shape.size()) {
      return Decline{"input " + std::to_string(i) + " has shape " + shape_text(shape) +
                     ", the equation gives it " +
                     std::to_string(i < einsum.inputs.size() ? einsum.inputs[i].size() : 0) +
                     " dimensions"};
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& extent = extents.try_emplace(einsum.inputs[i][d], shape[d]).first->second;
      if (extent == 1) extent = shape[d];
      if (shape[d] != extent && shape[d] != 1) {
        return Decline{"dimension " + std::to_string(d) + " of input " + std::to_string(i) +
                       " is " + std::to_string(shape[d]) + ", its label stands for " +
                       std::to_string(extent)};
      }
    }
  }
  return extents;
}

}  // namespace

Types infer_einsum(const Graph& graph, const Node& node) {
  if (auto no =
          expect_inputs(node, std::max<std::size_t>(node.inputs.size(), 1), node.inputs.size()))
    return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  const auto& einsum = std::get<EinsumAttributes>(node.attributes);
  if (einsum.inputs.size() != node.inputs.size()) {
    return Decline{"got " + std::to_string(node.inputs.size()) + " inputs, the equation has " +
                   std::to_string(einsum.inputs.size())};
  }
  const auto extents = extents_of(graph, node, einsum);
  if (!extents) return extents.error();
  Dims shape;
  for (std::size_t d = 0; d < einsum.output.size(); ++d) {
    const auto found = extents->find(einsum.output[d]);
    const auto first = std::ranges::find(einsum.output, einsum.output[d]);
    if (found == extents->end() || first - einsum.output.begin() != static_cast<std::ptrdiff_t>(d))
      return Decline{"output dimension " + std::to_string(d) + " is of no input, or there twice"};
    shape.push_back(found->second);
  }
  return std::vector{TensorType{input_type(graph, node, 0).dtype, shape}};
}

void expand_einsum(Expander& expander, const Node& node) {
  const auto& einsum = std::get<EinsumAttributes>(node.attributes);
  Ranges ranges, reductions;
  std::map<std::int64_t, ir::Range> iterators;
  const Dims& shape = expander.shape(node.outputs[0]);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    ranges.push_back({"i" + std::to_string(d), 0, shape[d]});
    iterators.emplace(einsum.output[d], ranges.back());
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    for (std::size_t d = 0; d < einsum.inputs[i].size(); ++d) {
      const std::int64_t label = einsum.inputs[i][d], extent = expander.shape(node.inputs[i])[d];
      const auto [known, is_new] = iterators.try_emplace(
          label, ir::Range{"r" + std::to_string(reductions.size()), 0, extent});
      if (is_new) reductions.push_back(known->second);
      // A label that is new may have come with an extent of 1, which broadcasts: the sum runs over
      // the extent of the operand that has more.
      for (ir::Range& range : reductions) {
        if (range.name == known->second.name && range.end == ir::Affine(1))
          range.end = ir::Affine(extent);
      }
    }
  }
  const DType wide = accumulator_of(expander.type(node.inputs[0]).dtype);
  // place: the subscript of each label. Of output labels it is what the reader asks for, which
  // may be another expression than the iterator where the value is inlined; of the others the
  // iterator of the sum.
  auto product = [&expander, &node, einsum, iterators, wide](const Subscripts& at) {
    std::map<std::int64_t, ir::Affine> place;
    for (const auto& [label, range] : iterators) place[label] = ir::Affine::symbol(range.name);
    for (std::size_t d = 0; d < einsum.output.size(); ++d) place[einsum.output[d]] = at[d];
    ir::Expr result;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      Subscripts from;
      for (std::size_t d = 0; d < einsum.inputs[i].size(); ++d) {
        // An operand with extent 1 along a label has only element 0 there.
        const bool single = expander.shape(node.inputs[i])[d] == 1;
        from.push_back(single ? ir::Affine(0) : place.at(einsum.inputs[i][d]));
      }
      const ir::Expr factor = ir::make_cast(wide, expander.read(node.inputs[i], from));
      result = result ? ir::make_binary(ir::BinaryOp::Mul, result, factor) : factor;
    }
    return result;
  };
  // Without a sum it is an element-wise product: a statement of its own, or inlined.
  if (!reductions.empty())
    return expander.reduce(node.outputs[0], ranges, reductions, ir::Combiner::Sum, product);
  expander.define(node.outputs[0], [&expander, &node, product](const Subscripts& at) {
    return ir::make_cast(expander.type(node.outputs[0]).dtype, product(at));
  });
}

}  // namespace polyte::graph
