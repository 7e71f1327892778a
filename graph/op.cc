#include "graph/op.h"

#include <array>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "support/error.h"

namespace polyte::graph {

// The operators' functions, one file per operator or family in ops/.
using Infer = Result<std::vector<TensorType>>(const Graph& graph, const Node& node);
using Expand = void(Expander& expander, const Node& node);
Infer infer_unary, infer_binary, infer_where, infer_clip, infer_reshape, infer_transpose,
    infer_concat, infer_slice, infer_pad, infer_expand, infer_tile, infer_gather,
    infer_gather_elements, infer_gather_nd, infer_scatter_elements, infer_scatter_nd, infer_trilu,
    infer_reduce, infer_arg, infer_cumsum, infer_top_k, infer_recurrence, infer_einsum,
    infer_matmul, infer_gemm, infer_conv, infer_winograd_conv, infer_conv_transpose, infer_stft,
    infer_pool, infer_global_pool, infer_batch_norm, infer_instance_norm, infer_layer_norm,
    infer_lrn, infer_softmax;
Expand expand_unary, expand_trigonometric, expand_binary, expand_where, expand_clip, expand_reshape,
    expand_transpose, expand_concat, expand_slice, expand_pad, expand_expand, expand_tile,
    expand_gather, expand_gather_elements, expand_gather_nd, expand_scatter_elements,
    expand_scatter_nd, expand_trilu, expand_reduce, expand_arg, expand_cumsum, expand_top_k,
    expand_recurrence, expand_einsum, expand_matmul, expand_gemm, expand_conv, expand_winograd_conv,
    expand_conv_transpose, expand_stft, expand_max_pool, expand_average_pool, expand_global_pool,
    expand_batch_norm, expand_instance_norm, expand_layer_norm, expand_lrn, expand_softmax,
    expand_hardmax;

namespace {

using enum OpPattern;
using enum Operands;
using enum Zero;

// Read the last column like this. `pointwise(Each, Stays)`: the expression names its operand once.
// With None it names it several times (LeakyRelu: in the comparison and in both branches), and what
// computes the operand is better stored than written there several times over.
// Each element of the result is the same function of the operands' elements at its own place.
constexpr OpTraits pointwise(Operands reads_once, Zero zero = Anything) {
  return {.reads_once = reads_once, .as_number = Each, .depends_on_position = false, .zero = zero};
}

// Elements at subscripts that are known when compiling; at others, or with a guard, those of
// the first operand.
constexpr OpTraits kPlain{.as_number = Each}, kAddressed{.as_number = AllButFirst};
// Elements as they are, at other places; of several operands each gives its own part of the result.
constexpr OpTraits kMoves{.reads_once = Each, .as_number = Each};
constexpr OpTraits kParts{.reads_once = Each, .reads_elements_once = true, .as_number = Each};
// The first operand once, the others once per channel of it.
constexpr OpTraits kScales{.reads_once = First, .as_number = Each};

constexpr OpTraits in_blocks(OpTraits traits, BlockRule rule, Zero zero = Anything) {
  traits.blocks = rule;
  traits.zero = zero;
  return traits;
}

// A reduction, or a pool over all spatial dimensions.
constexpr OpTraits folds(Operands reads_once, Zero zero = Anything) {
  return {.reads_once = reads_once,
          .reads_elements_once = true,
          .as_number = Each,
          .blocks = BlockRule::Fold,
          .zero = zero};
}

// In the order of OpKind. The last column is what else the compiler may presume (OpTraits); a row
// without it is safe.
constexpr OpInfo kOperators[] = {
    {OpKind::Identity, "Identity", ElemWise, infer_unary, expand_unary, pointwise(Each, Stays)},
    {OpKind::Abs, "Abs", ElemWise, infer_unary, expand_unary, pointwise(Each, Stays)},
    {OpKind::Neg, "Neg", ElemWise, infer_unary, expand_unary, pointwise(Each, Stays)},
    {OpKind::Sign, "Sign", ElemWise, infer_unary, expand_unary, pointwise(None, Stays)},
    {OpKind::Exp, "Exp", ElemWise, infer_unary, expand_unary, pointwise(Each)},
    {OpKind::Log, "Log", ElemWise, infer_unary, expand_unary, pointwise(Each)},
    {OpKind::Sqrt, "Sqrt", ElemWise, infer_unary, expand_unary, pointwise(Each, ToZero)},
    {OpKind::Reciprocal, "Reciprocal", ElemWise, infer_unary, expand_unary, pointwise(Each)},
    {OpKind::Floor, "Floor", ElemWise, infer_unary, expand_unary, pointwise(Each, Stays)},
    {OpKind::Ceil, "Ceil", ElemWise, infer_unary, expand_unary, pointwise(Each, Stays)},
    {OpKind::Round, "Round", ElemWise, infer_unary, expand_unary, pointwise(Each, Stays)},
    {OpKind::Sin, "Sin", ElemWise, infer_unary, expand_unary, pointwise(Each, Stays)},
    {OpKind::Cos, "Cos", ElemWise, infer_unary, expand_unary, pointwise(Each, ToBounded)},
    {OpKind::Tan, "Tan", ElemWise, infer_unary, expand_trigonometric, pointwise(None, ToZero)},
    {OpKind::Asin, "Asin", ElemWise, infer_unary, expand_trigonometric, pointwise(None, ToZero)},
    {OpKind::Acos, "Acos", ElemWise, infer_unary, expand_trigonometric, pointwise(None)},
    {OpKind::Atan, "Atan", ElemWise, infer_unary, expand_trigonometric, pointwise(None, Stays)},
    {OpKind::Sinh, "Sinh", ElemWise, infer_unary, expand_trigonometric, pointwise(None, ToZero)},
    {OpKind::Cosh, "Cosh", ElemWise, infer_unary, expand_trigonometric, pointwise(None)},
    {OpKind::Asinh, "Asinh", ElemWise, infer_unary, expand_trigonometric, pointwise(None, ToZero)},
    {OpKind::Acosh, "Acosh", ElemWise, infer_unary, expand_trigonometric, pointwise(None)},
    {OpKind::Atanh, "Atanh", ElemWise, infer_unary, expand_trigonometric, pointwise(None, ToZero)},
    {OpKind::Tanh, "Tanh", ElemWise, infer_unary, expand_unary, pointwise(Each, Stays)},
    {OpKind::Sigmoid, "Sigmoid", ElemWise, infer_unary, expand_unary, pointwise(Each, ToBounded)},
    {OpKind::Erf, "Erf", ElemWise, infer_unary, expand_unary, pointwise(Each, Stays)},
    {OpKind::Not, "Not", ElemWise, infer_unary, expand_unary, pointwise(Each)},
    {OpKind::IsNaN, "IsNaN", ElemWise, infer_unary, expand_unary, pointwise(None)},
    {OpKind::IsInf, "IsInf", ElemWise, infer_unary, expand_unary, pointwise(None)},
    {OpKind::Relu, "Relu", ElemWise, infer_unary, expand_unary, pointwise(Each, Stays)},
    {OpKind::LeakyRelu, "LeakyRelu", ElemWise, infer_unary, expand_unary, pointwise(None, ToZero)},
    {OpKind::Elu, "Elu", ElemWise, infer_unary, expand_unary, pointwise(None, ToZero)},
    {OpKind::Celu, "Celu", ElemWise, infer_unary, expand_unary, pointwise(None, ToZero)},
    {OpKind::Selu, "Selu", ElemWise, infer_unary, expand_unary, pointwise(None, ToZero)},
    {OpKind::HardSigmoid, "HardSigmoid", ElemWise, infer_unary, expand_unary,
     pointwise(Each, ToBounded)},
    {OpKind::HardSwish, "HardSwish", ElemWise, infer_unary, expand_unary, pointwise(None, Stays)},
    {OpKind::Softplus, "Softplus", ElemWise, infer_unary, expand_unary, pointwise(None)},
    {OpKind::Softsign, "Softsign", ElemWise, infer_unary, expand_unary, pointwise(None, Stays)},
    {OpKind::ThresholdedRelu, "ThresholdedRelu", ElemWise, infer_unary, expand_unary,
     pointwise(None, ToZero)},
    {OpKind::Shrink, "Shrink", ElemWise, infer_unary, expand_unary, pointwise(None)},
    {OpKind::Mish, "Mish", ElemWise, infer_unary, expand_unary, pointwise(None, Stays)},
    {OpKind::Cast, "Cast", ElemWise, infer_unary, expand_unary, pointwise(Each, ToZero)},
    {OpKind::Add, "Add", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::Sub, "Sub", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::Mul, "Mul", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::Div, "Div", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::Pow, "Pow", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::Mod, "Mod", Broadcast, infer_binary, expand_binary, pointwise(None)},
    {OpKind::Max, "Max", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::Min, "Min", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::And, "And", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::Or, "Or", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::Xor, "Xor", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::Equal, "Equal", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::Less, "Less", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::LessOrEqual, "LessOrEqual", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::Greater, "Greater", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::GreaterOrEqual, "GreaterOrEqual", Broadcast, infer_binary, expand_binary,
     pointwise(Each)},
    {OpKind::ShiftLeft, "ShiftLeft", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::ShiftRight, "ShiftRight", Broadcast, infer_binary, expand_binary, pointwise(Each)},
    {OpKind::PRelu, "PRelu", Broadcast, infer_binary, expand_binary, pointwise(Second)},
    {OpKind::Where, "Where", Broadcast, infer_where, expand_where, pointwise(Each)},
    {OpKind::Clip, "Clip", ElemWise, infer_clip, expand_clip, pointwise(First)},
    {OpKind::Reshape, "Reshape", Injective, infer_reshape, expand_reshape, kMoves},
    {OpKind::Transpose, "Transpose", Injective, infer_transpose, expand_transpose, kMoves},
    {OpKind::Concat, "Concat", Injective, infer_concat, expand_concat,
     in_blocks(kParts, BlockRule::Concat)},
    {OpKind::Slice, "Slice", Injective, infer_slice, expand_slice,
     in_blocks(kMoves, BlockRule::Part)},
    {OpKind::Pad, "Pad", Injective, infer_pad, expand_pad, in_blocks(kAddressed, BlockRule::Part)},
    {OpKind::Expand, "Expand", Broadcast, infer_expand, expand_expand, kMoves},
    {OpKind::Tile, "Tile", Broadcast, infer_tile, expand_tile, kPlain},
    {OpKind::Gather, "Gather", Injective, infer_gather, expand_gather,
     in_blocks(kAddressed, BlockRule::Part)},
    {OpKind::GatherElements, "GatherElements", Injective, infer_gather_elements,
     expand_gather_elements, kAddressed},
    {OpKind::GatherND, "GatherND", Injective, infer_gather_nd, expand_gather_nd, kAddressed},
    {OpKind::ScatterElements, "ScatterElements", Opaque, infer_scatter_elements,
     expand_scatter_elements, kPlain},
    {OpKind::ScatterND, "ScatterND", Opaque, infer_scatter_nd, expand_scatter_nd, kPlain},
    {OpKind::Trilu, "Trilu", ElemWise, infer_trilu, expand_trilu, kMoves},
    {OpKind::ReduceSum, "ReduceSum", CommReduce, infer_reduce, expand_reduce, folds(Each, ToZero)},
    {OpKind::ReduceMean, "ReduceMean", CommReduce, infer_reduce, expand_reduce, folds(Each, Stays)},
    {OpKind::ReduceMax, "ReduceMax", CommReduce, infer_reduce, expand_reduce, folds(Each, Stays)},
    {OpKind::ReduceMin, "ReduceMin", CommReduce, infer_reduce, expand_reduce, folds(Each, Stays)},
    {OpKind::ReduceProd, "ReduceProd", CommReduce, infer_reduce, expand_reduce,
     folds(Each, ToZero)},
    {OpKind::ReduceL1, "ReduceL1", CommReduce, infer_reduce, expand_reduce, folds(Each, ToZero)},
    {OpKind::ReduceL2, "ReduceL2", CommReduce, infer_reduce, expand_reduce, folds(None, ToZero)},
    {OpKind::ReduceSumSquare, "ReduceSumSquare", CommReduce, infer_reduce, expand_reduce,
     folds(None, ToZero)},
    {OpKind::ReduceLogSum, "ReduceLogSum", CommReduce, infer_reduce, expand_reduce, folds(Each)},
    {OpKind::ReduceLogSumExp, "ReduceLogSumExp", CommReduce, infer_reduce, expand_reduce,
     folds(None)},
    {OpKind::ArgMax, "ArgMax", CommReduce, infer_arg, expand_arg, kPlain},
    {OpKind::ArgMin, "ArgMin", CommReduce, infer_arg, expand_arg, kPlain},
    {OpKind::CumSum, "CumSum", Opaque, infer_cumsum, expand_cumsum, kPlain},
    {OpKind::TopK, "TopK", Opaque, infer_top_k, expand_top_k, kAddressed},
    {OpKind::Recurrence, "Recurrence", Opaque, infer_recurrence, expand_recurrence},
    {OpKind::MatMul, "MatMul", OutEWiseFusable, infer_matmul, expand_matmul, kPlain},
    {OpKind::Gemm, "Gemm", OutEWiseFusable, infer_gemm, expand_gemm, kPlain},
    {OpKind::Einsum, "Einsum", OutEWiseFusable, infer_einsum, expand_einsum, kPlain},
    {OpKind::Conv, "Conv", OutEWiseFusable, infer_conv, expand_conv,
     in_blocks(kAddressed, BlockRule::Convolution)},
    {OpKind::WinogradConv, "WinogradConv", OutEWiseFusable, infer_winograd_conv,
     expand_winograd_conv, kAddressed},
    {OpKind::ConvTranspose, "ConvTranspose", OutEWiseFusable, infer_conv_transpose,
     expand_conv_transpose, kAddressed},
    {OpKind::STFT, "STFT", OutEWiseFusable, infer_stft, expand_stft, kPlain},
    {OpKind::MaxPool, "MaxPool", OutEWiseFusable, infer_pool, expand_max_pool,
     in_blocks(kAddressed, BlockRule::Pool, Stays)},
    {OpKind::AveragePool, "AveragePool", OutEWiseFusable, infer_pool, expand_average_pool,
     in_blocks(kAddressed, BlockRule::Pool, Stays)},
    {OpKind::GlobalAveragePool, "GlobalAveragePool", OutEWiseFusable, infer_global_pool,
     expand_global_pool, folds(Each, Stays)},
    {OpKind::GlobalMaxPool, "GlobalMaxPool", OutEWiseFusable, infer_global_pool, expand_global_pool,
     folds(Each, Stays)},
    {OpKind::BatchNormalization, "BatchNormalization", Broadcast, infer_batch_norm,
     expand_batch_norm, kScales},
    {OpKind::InstanceNormalization, "InstanceNormalization", OutEWiseFusable, infer_instance_norm,
     expand_instance_norm, kPlain},
    {OpKind::LayerNormalization, "LayerNormalization", OutEWiseFusable, infer_layer_norm,
     expand_layer_norm, kPlain},
    {OpKind::LRN, "LRN", OutEWiseFusable, infer_lrn, expand_lrn, kAddressed},
    {OpKind::Softmax, "Softmax", OutEWiseFusable, infer_softmax, expand_softmax, kPlain},
    {OpKind::LogSoftmax, "LogSoftmax", OutEWiseFusable, infer_softmax, expand_softmax, kPlain},
    {OpKind::Hardmax, "Hardmax", OutEWiseFusable, infer_softmax, expand_hardmax, kPlain},
};

static_assert(std::size(kOperators) == kOpKindCount);

constexpr bool in_order() {
  for (int i = 0; i < kOpKindCount; ++i) {
    if (kOperators[i].kind != static_cast<OpKind>(i)) return false;
  }
  return true;
}
static_assert(in_order());

// Only what works element by element can be free of position, and it has no other rule for blocks.
constexpr bool is_consistent() {
  for (const OpInfo& op : kOperators) {
    const bool element_wise = op.pattern == ElemWise || op.pattern == Broadcast;
    if (!op.traits.depends_on_position && (!element_wise || op.traits.blocks != BlockRule::None))
      return false;
  }
  return true;
}
static_assert(is_consistent());

}  // namespace

const OpInfo& info(OpKind kind) { return kOperators[static_cast<std::size_t>(kind)]; }

OperatorTable all_operators() { return kOperators; }

std::string_view to_string(OpKind kind) { return info(kind).name; }

OpPattern pattern_of(const Graph& graph, const Node& node) {
  const OpPattern pattern = info(node.op).pattern;
  if (pattern != OpPattern::Broadcast || node.op == OpKind::BatchNormalization) return pattern;
  const Dims& result = graph.value(node.outputs[0]).type.shape;
  for (ValueId input : node.inputs) {
    if (input != kNoValue && graph.value(input).type.shape != result) return OpPattern::Broadcast;
  }
  return OpPattern::ElemWise;
}

Result<std::vector<TensorType>> infer_types(const Graph& graph, const Node& node) {
  return info(node.op).infer(graph, node);
}

bool is_view(OpKind kind) { return kind == OpKind::Identity || kind == OpKind::Reshape; }

}  // namespace polyte::graph
