// Reshape: the same elements in the same order. Subscripts of the input follow from those of the
// output; runs of dimensions with equal products are converted apart from each other, so that
// untouched dimensions stay plain.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

// at: subscripts over shape[first, last) -> position within the run.
ir::Affine linear_position(const Subscripts& at, const Dims& shape, std::size_t first,
                           std::size_t last) {
  ir::Affine position = 0;
  for (std::size_t d = first; d < last; ++d) position = position * shape[d] + at[d];
  return position;
}

// Position within a run -> subscripts over shape[first, last), appended.
void split_position(const ir::Affine& position, const Dims& shape, std::size_t first,
                    std::size_t last, Subscripts& into) {
  std::int64_t inner = 1;
  for (std::size_t d = first; d < last; ++d) inner *= shape[d];
  bool outermost = true;
  for (std::size_t d = first; d < last; ++d) {
    inner /= shape[d];
    if (shape[d] == 1) {
      into.emplace_back(0);
      continue;
    }
    const ir::Affine quotient = inner == 1 ? position : ir::floor_div(position, inner);
    // Of the outermost the quotient is below the extent already.
    into.push_back(outermost ? quotient : ir::mod(quotient, shape[d]));
    outermost = false;
  }
}

}  // namespace

// `at` are subscripts over `from`. From [6, 4] to [2, 3, 4], with runs 6 = 2 * 3 and 4 = 4:
//
//    (i, j)  ->  (i // 3, i % 3, j)
//
// As one position 4 * i + j among 24 elements, j would be divided as well.
Subscripts reshaped_subscripts(const Subscripts& at, const Dims& from, const Dims& to) {
  Subscripts result;
  if (element_count(from) == 0) return Subscripts(to.size(), ir::Affine(0));  // never executed
  std::size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    std::size_t f_end = f, t_end = t;
    std::int64_t from_product = 1, to_product = 1;
    do {  // the shortest runs of equal products
      if (t_end == to.size() || (f_end < from.size() && from_product <= to_product))
        from_product *= from[f_end++];
      else
        to_product *= to[t_end++];
    } while (from_product != to_product);
    if (f_end - f == 1 && t_end - t == 1) {
      result.push_back(at[f]);
    } else {
      split_position(linear_position(at, from, f, f_end), to, t, t_end, result);
    }
    f = f_end;
    t = t_end;
  }
  return result;
}

Types infer_reshape(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  const Dims& shape = std::get<ShapeAttributes>(node.attributes).shape;
  for (std::int64_t extent : shape) {
    if (extent < 0) return Decline{"shape " + shape_text(shape) + " has a negative extent"};
  }
  if (element_count(shape) != element_count(type.shape)) {
    return Decline{"cannot reshape " + shape_text(type.shape) + " to " + shape_text(shape) +
                   ": element counts differ"};
  }
  return std::vector{TensorType{type.dtype, shape}};
}

void expand_reshape(Expander& expander, const Node& node) {
  const ValueId x = node.inputs[0];
  const Dims to = expander.shape(x);
  const Dims from = expander.shape(node.outputs[0]);
  expander.define(node.outputs[0], [&expander, x, from, to](const Subscripts& at) {
    return expander.read(x, reshaped_subscripts(at, from, to));
  });
}

}  // namespace polyte::graph
