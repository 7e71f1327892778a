// OpKind: the operators of the graph, one internal set for every ONNX opset, and their attributes
// as plain structs. Importers normalise: pads are numbers (never auto_pad), axes are non-negative,
// shapes are resolved, Flatten, Squeeze and Unsqueeze are Reshape, Split is several Slices, bounds
// of Clip are inputs.
//
//   Node{"conv1", OpKind::Conv, ConvAttributes{...}, {x, weight, kNoValue}, {y}}
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "support/dtype.h"

namespace polyte::graph {

enum class OpKind : std::uint8_t {
  // element-wise, one operand
  Identity,
  Abs,
  Neg,
  Sign,
  Exp,
  Log,
  Sqrt,
  Reciprocal,
  Floor,
  Ceil,
  Round,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Asinh,
  Acosh,
  Atanh,
  Tanh,
  Sigmoid,
  Erf,
  Not,
  IsNaN,
  IsInf,
  Relu,
  LeakyRelu,
  Elu,
  Celu,
  Selu,
  HardSigmoid,
  HardSwish,
  Softplus,
  Softsign,
  ThresholdedRelu,
  Shrink,
  Mish,
  Cast,
  // element-wise with broadcasting
  Add,
  Sub,
  Mul,
  Div,
  Pow,
  Mod,
  Max,
  Min,
  And,
  Or,
  Xor,
  Equal,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  ShiftLeft,
  ShiftRight,
  PRelu,
  Where,
  Clip,
  // moving elements
  Reshape,
  Transpose,
  Concat,
  Slice,
  Pad,
  Expand,
  Tile,
  Gather,
  GatherElements,
  GatherND,
  ScatterElements,
  ScatterND,
  Trilu,
  // reductions
  ReduceSum,
  ReduceMean,
  ReduceMax,
  ReduceMin,
  ReduceProd,
  ReduceL1,
  ReduceL2,
  ReduceSumSquare,
  ReduceLogSum,
  ReduceLogSumExp,
  ArgMax,
  ArgMin,
  CumSum,
  TopK,
  Recurrence,
  // contractions, windows, normalisations
  MatMul,
  Gemm,
  Einsum,
  Conv,
  WinogradConv,
  ConvTranspose,
  STFT,
  MaxPool,
  AveragePool,
  GlobalAveragePool,
  GlobalMaxPool,
  BatchNormalization,
  InstanceNormalization,
  LayerNormalization,
  LRN,
  Softmax,
  LogSoftmax,
  Hardmax,
};
inline constexpr int kOpKindCount = static_cast<int>(OpKind::Hardmax) + 1;

using Dims = std::vector<std::int64_t>;

// Collects `name=value` of attributes for printing (attribute_text.h). `print` of a type of
// attributes stands in print.cc, or in the file of its operator. Attributes are compared by
// merge_common_nodes: what changes the meaning of an operator has to be one of them, or an input.
class AttributeText;

struct NoAttributes {
  bool operator==(const NoAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct ActivationAttributes {  // LeakyRelu Elu Celu Selu HardSigmoid ThresholdedRelu Shrink
  double alpha = 0, beta = 0;  // Selu: beta is gamma; Shrink: alpha is lambd, beta is bias
  bool operator==(const ActivationAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct InfAttributes {  // IsInf
  bool negative = true, positive = true;
  bool operator==(const InfAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct CastAttributes {
  DType to = DType::F32;
  bool operator==(const CastAttributes&) const = default;
  void print(AttributeText& text) const;
};
// A sliding window over the spatial dimensions; every list has one entry per spatial dimension.
// Output element o and kernel element k of a dimension meet input element
//
//    o * strides + k * dilations - pads_begin
//
// which lies in the padding where it is below 0 or not below the extent.
struct Window {
  Dims kernel, strides, dilations, pads_begin, pads_end;
  bool operator==(const Window&) const = default;
};
// Conv, ConvTranspose; inputs x, w, bias or kNoValue. WinogradConv: a Conv in blocks whose weight
// has been transformed, [4 for each dimension of kernel 3..., outputs / block, inputs, block].
struct ConvAttributes {
  Window window;
  std::int64_t group = 1;
  Dims output_padding;  // ConvTranspose only
  // Conv only: channels in blocks along a last dimension, as many as these say; 0: none. The
  // output is then [n, channels / block, spatial..., block], the weight [outputs / block,
  // inputs / group, kernel..., block], the bias [outputs / block, block]; an input in blocks has
  // the output's (docs/layouts.md).
  std::int64_t input_block = 0, output_block = 0;
  bool operator==(const ConvAttributes&) const = default;
  void print(AttributeText& text) const;
};
// Inputs a signal [batch, samples, parts], of one part or real and imaginary ones, and a matrix
// [samples of a frame, parts, columns]. Each frame of the signal, as long as the matrix has rows
// and frame_step after the one before, is multiplied by the matrix; the output is [batch, frames,
// columns]. Importers make the matrix: cosines and sines times the window.
struct StftAttributes {
  std::int64_t frame_step = 1;
  bool operator==(const StftAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct PoolAttributes {  // MaxPool (a second output holds indices), AveragePool
  Window window;
  bool ceil_mode = false;
  bool count_include_pad = false;     // AveragePool: padding counts in the divisor
  bool column_major_indices = false;  // MaxPool: ONNX storage_order 1
  bool operator==(const PoolAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct GemmAttributes {  // alpha * A' B' + beta * C; C broadcasts, may be kNoValue
  double alpha = 1, beta = 1;
  bool trans_a = false, trans_b = false;
  bool operator==(const GemmAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct AxisAttributes {  // Concat, Gather, GatherElements
  std::int64_t axis = 0;
  bool operator==(const AxisAttributes&) const = default;
  void print(AttributeText& text) const;
};
// Softmax, LogSoftmax, Hardmax over all of dimensions [axis, end) together.
struct SoftmaxAttributes {
  std::int64_t axis = 0, end = 0;
  bool operator==(const SoftmaxAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct ReduceAttributes {
  Dims axes;  // sorted, distinct
  bool keep_dims = true;
  bool operator==(const ReduceAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct ArgAttributes {
  std::int64_t axis = 0;
  bool keep_dims = true;
  bool select_last = false;  // ties: the last index instead of the first
  bool operator==(const ArgAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct CumSumAttributes {
  std::int64_t axis = 0;
  bool exclusive = false, reverse = false;
  // Elements of the axis that are summed up before they are added to; 0: no blocks.
  std::int64_t block = 0;
  bool operator==(const CumSumAttributes&) const = default;
  void print(AttributeText& text) const;
};
// Outputs values and indices, sorted; ties keep the lower index, NaN is above all numbers.
struct TopKAttributes {
  std::int64_t axis = 0, k = 1;
  bool largest = true;
  bool operator==(const TopKAttributes&) const = default;
  void print(AttributeText& text) const;
};
enum class Cell : std::uint8_t { Rnn, Gru, Lstm };
constexpr std::int64_t gates_of(Cell cell) {
  return cell == Cell::Rnn ? 1 : cell == Cell::Gru ? 3 : 4;
}
struct GateActivation {
  OpKind op = OpKind::Tanh;
  double alpha = 0, beta = 0;  // as in ActivationAttributes
  bool operator==(const GateActivation&) const = default;
};
// One layer in one direction, step by step. Inputs: x [steps, batch, gates * hidden], of each
// step what gates have without the state, biases included; the weight [hidden, gates * hidden] of
// the state; or kNoValue: the states h and c [batch, hidden] before the first step; the lengths i64
// [batch] of the sequences; weights of peepholes [3 * hidden]; what a GRU adds to the state's
// product for its candidate [hidden]. Outputs: h of all steps [steps, batch, hidden], the last h,
// the last c. Gates are in ONNX's order (ops/recurrence.cc).
struct RecurrenceAttributes {
  Cell cell = Cell::Lstm;
  bool backwards = false;
  bool reset_after = false;  // a GRU's reset gate multiplies the product, not the state
  double clip = 0;           // what activations get lies within -clip and clip; 0: anywhere
  std::vector<GateActivation> activations = {};  // f; f, g; f, g, h
  bool operator==(const RecurrenceAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct GatherNDAttributes {
  std::int64_t batch_dims = 0;
  bool operator==(const GatherNDAttributes&) const = default;
  void print(AttributeText& text) const;
};
enum class ScatterReduction : std::uint8_t { None, Add, Mul, Max, Min };
// Inputs data, indices, updates; updates in row-major order, the last one stays.
struct ScatterAttributes {
  std::int64_t axis = 0;  // ScatterElements only
  ScatterReduction reduction = ScatterReduction::None;
  bool operator==(const ScatterAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct EinsumAttributes {  // a label per dimension; those that the output lacks are summed over
  std::vector<Dims> inputs;
  Dims output;
  bool operator==(const EinsumAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct ShapeAttributes {  // Reshape, Expand: shape of the output
  Dims shape;
  bool operator==(const ShapeAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct TransposeAttributes {
  Dims perm;  // output dimension d is input dimension perm[d]
  bool operator==(const TransposeAttributes&) const = default;
  void print(AttributeText& text) const;
};
// One entry per dimension; output d reads starts[d] + i * steps[d], i < sizes[d].
struct SliceAttributes {
  Dims starts, steps, sizes;
  bool operator==(const SliceAttributes&) const = default;
  void print(AttributeText& text) const;
};
enum class PadMode : std::uint8_t { Constant, Reflect, Edge, Wrap };
struct PadAttributes {  // inputs x and the value (scalar) or kNoValue for 0; negative pads crop
  Dims begin, end;
  PadMode mode = PadMode::Constant;
  bool operator==(const PadAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct TileAttributes {
  Dims repeats;
  bool operator==(const TileAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct TriluAttributes {
  std::int64_t k = 0;
  bool upper = true;
  bool operator==(const TriluAttributes&) const = default;
  void print(AttributeText& text) const;
};
// BatchNormalization, InstanceNormalization, LayerNormalization (over [axis, rank)).
struct NormAttributes {
  double epsilon = 1e-5;
  std::int64_t axis = 0;
  bool operator==(const NormAttributes&) const = default;
  void print(AttributeText& text) const;
};
struct LrnAttributes {
  double alpha = 1e-4, beta = 0.75, bias = 1;
  std::int64_t size = 1;
  bool operator==(const LrnAttributes&) const = default;
  void print(AttributeText& text) const;
};

using Attributes =
    std::variant<NoAttributes, ActivationAttributes, InfAttributes, CastAttributes, ConvAttributes,
                 StftAttributes, PoolAttributes, GemmAttributes, AxisAttributes, SoftmaxAttributes,
                 ReduceAttributes, ArgAttributes, CumSumAttributes, TopKAttributes,
                 RecurrenceAttributes, GatherNDAttributes, ScatterAttributes, EinsumAttributes,
                 ShapeAttributes, TransposeAttributes, SliceAttributes, PadAttributes,
                 TileAttributes, TriluAttributes, NormAttributes, LrnAttributes>;

std::string_view to_string(OpKind kind);  // "Conv"

}  // namespace polyte::graph
