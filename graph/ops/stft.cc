// STFT: a product with a matrix whose columns are the real and the imaginary part of each frequency
// in turn, so that a row of the result is contiguous. Frames overlap in the signal; none is copied.
//   acc[b, f, j] = sum[n, p] x[b, f*step + n, p] * m[n, p, j]
#include "graph/attribute_text.h"
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

void StftAttributes::print(AttributeText& text) const { text.add("frame_step", frame_step); }

namespace {

// The matrix keeps the precision in which products of the signal are summed.
Complaint expect_matrix(const TensorType& signal, const TensorType& matrix) {
  if (signal.shape.size() != 3 || matrix.shape.size() != 3 || signal.shape[2] != matrix.shape[1])
    return Decline{"cannot multiply frames of " + shape_text(signal.shape) + " by " +
                   shape_text(matrix.shape)};
  if (matrix.dtype != accumulator_of(signal.dtype))
    return Decline{"input 1 is " + std::string(polyte::to_string(matrix.dtype)) + ", expected " +
                   std::string(polyte::to_string(accumulator_of(signal.dtype))) +
                   ", in which frames of " + std::string(polyte::to_string(signal.dtype)) +
                   " are summed"};
  if (matrix.shape[0] < 1 || matrix.shape[0] > signal.shape[1])
    return Decline{"a frame has " + std::to_string(matrix.shape[0]) + " samples, expected 1 to " +
                   std::to_string(signal.shape[1]) + ", as many as the signal has"};
  return std::nullopt;
}

}  // namespace

Types infer_stft(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 2)) return *no;
  if (auto no = expect_float(graph, node, 0)) return *no;
  const TensorType &signal = input_type(graph, node, 0), &matrix = input_type(graph, node, 1);
  if (auto no = expect_matrix(signal, matrix)) return *no;
  const std::int64_t step = std::get<StftAttributes>(node.attributes).frame_step;
  if (step < 1) return Decline{"frame_step is " + std::to_string(step) + ", expected at least 1"};
  // Frames that lie in the signal whole.
  const std::int64_t frames = (signal.shape[1] - matrix.shape[0]) / step + 1;
  return std::vector{TensorType{signal.dtype, {signal.shape[0], frames, matrix.shape[2]}}};
}

void expand_stft(Expander& expander, const Node& node) {
  const ValueId signal = node.inputs[0], matrix = node.inputs[1];
  const std::int64_t step = std::get<StftAttributes>(node.attributes).frame_step;
  const Dims &shape = expander.shape(node.outputs[0]), &rows = expander.shape(matrix);
  const DType wide = accumulator_of(expander.type(signal).dtype);
  Ranges reductions = {{"n", 0, rows[0]}};
  if (rows[1] != 1) reductions.push_back({"c", 0, rows[1]});
  const ir::Affine n = ir::Affine::symbol("n"),
                   part = rows[1] != 1 ? ir::Affine::symbol("c") : ir::Affine(0);
  expander.reduce(node.outputs[0], {{"b", 0, shape[0]}, {"m", 0, shape[1]}, {"j", 0, shape[2]}},
                  reductions, ir::Combiner::Sum, [=, &expander](const Subscripts& at) {
                    const ir::Expr x = expander.read(signal, {at[0], at[1] * step + n, part});
                    return ir::make_binary(ir::BinaryOp::Mul, ir::make_cast(wide, x),
                                           expander.read(matrix, {n, part, at[2]}));
                  });
}

}  // namespace polyte::graph
