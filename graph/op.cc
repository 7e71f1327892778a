#include "graph/op.h"

#include <array>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

using enum OpPattern;

// In the order of OpKind.
constexpr OpInfo kOperators[] = {
    {OpKind::Identity, "Identity", ElemWise, infer_unary, expand_unary},
    {OpKind::Abs, "Abs", ElemWise, infer_unary, expand_unary},
    {OpKind::Neg, "Neg", ElemWise, infer_unary, expand_unary},
    {OpKind::Sign, "Sign", ElemWise, infer_unary, expand_unary},
    {OpKind::Exp, "Exp", ElemWise, infer_unary, expand_unary},
    {OpKind::Log, "Log", ElemWise, infer_unary, expand_unary},
    {OpKind::Sqrt, "Sqrt", ElemWise, infer_unary, expand_unary},
    {OpKind::Reciprocal, "Reciprocal", ElemWise, infer_unary, expand_unary},
    {OpKind::Floor, "Floor", ElemWise, infer_unary, expand_unary},
    {OpKind::Ceil, "Ceil", ElemWise, infer_unary, expand_unary},
    {OpKind::Round, "Round", ElemWise, infer_unary, expand_unary},
    {OpKind::Sin, "Sin", ElemWise, infer_unary, expand_unary},
    {OpKind::Cos, "Cos", ElemWise, infer_unary, expand_unary},
    {OpKind::Tan, "Tan", ElemWise, infer_unary, expand_trigonometric},
    {OpKind::Asin, "Asin", ElemWise, infer_unary, expand_trigonometric},
    {OpKind::Acos, "Acos", ElemWise, infer_unary, expand_trigonometric},
    {OpKind::Atan, "Atan", ElemWise, infer_unary, expand_trigonometric},
    {OpKind::Sinh, "Sinh", ElemWise, infer_unary, expand_trigonometric},
    {OpKind::Cosh, "Cosh", ElemWise, infer_unary, expand_trigonometric},
    {OpKind::Asinh, "Asinh", ElemWise, infer_unary, expand_trigonometric},
    {OpKind::Acosh, "Acosh", ElemWise, infer_unary, expand_trigonometric},
    {OpKind::Atanh, "Atanh", ElemWise, infer_unary, expand_trigonometric},
    {OpKind::Tanh, "Tanh", ElemWise, infer_unary, expand_unary},
    {OpKind::Sigmoid, "Sigmoid", ElemWise, infer_unary, expand_unary},
    {OpKind::Erf, "Erf", ElemWise, infer_unary, expand_unary},
    {OpKind::Not, "Not", ElemWise, infer_unary, expand_unary},
    {OpKind::IsNaN, "IsNaN", ElemWise, infer_unary, expand_unary},
    {OpKind::IsInf, "IsInf", ElemWise, infer_unary, expand_unary},
    {OpKind::Relu, "Relu", ElemWise, infer_unary, expand_unary},
    {OpKind::LeakyRelu, "LeakyRelu", ElemWise, infer_unary, expand_unary},
    {OpKind::Elu, "Elu", ElemWise, infer_unary, expand_unary},
    {OpKind::Celu, "Celu", ElemWise, infer_unary, expand_unary},
    {OpKind::Selu, "Selu", ElemWise, infer_unary, expand_unary},
    {OpKind::HardSigmoid, "HardSigmoid", ElemWise, infer_unary, expand_unary},
    {OpKind::HardSwish, "HardSwish", ElemWise, infer_unary, expand_unary},
    {OpKind::Softplus, "Softplus", ElemWise, infer_unary, expand_unary},
    {OpKind::Softsign, "Softsign", ElemWise, infer_unary, expand_unary},
    {OpKind::ThresholdedRelu, "ThresholdedRelu", ElemWise, infer_unary, expand_unary},
    {OpKind::Shrink, "Shrink", ElemWise, infer_unary, expand_unary},
    {OpKind::Mish, "Mish", ElemWise, infer_unary, expand_unary},
    {OpKind::Cast, "Cast", ElemWise, infer_unary, expand_unary},
    {OpKind::Add, "Add", Broadcast, infer_binary, expand_binary},
    {OpKind::Sub, "Sub", Broadcast, infer_binary, expand_binary},
    {OpKind::Mul, "Mul", Broadcast, infer_binary, expand_binary},
    {OpKind::Div, "Div", Broadcast, infer_binary, expand_binary},
    {OpKind::Pow, "Pow", Broadcast, infer_binary, expand_binary},
    {OpKind::Mod, "Mod", Broadcast, infer_binary, expand_binary},
    {OpKind::Max, "Max", Broadcast, infer_binary, expand_binary},
    {OpKind::Min, "Min", Broadcast, infer_binary, expand_binary},
    {OpKind::And, "And", Broadcast, infer_binary, expand_binary},
    {OpKind::Or, "Or", Broadcast, infer_binary, expand_binary},
    {OpKind::Xor, "Xor", Broadcast, infer_binary, expand_binary},
    {OpKind::Equal, "Equal", Broadcast, infer_binary, expand_binary},
    {OpKind::Less, "Less", Broadcast, infer_binary, expand_binary},
    {OpKind::LessOrEqual, "LessOrEqual", Broadcast, infer_binary, expand_binary},
    {OpKind::Greater, "Greater", Broadcast, infer_binary, expand_binary},
    {OpKind::GreaterOrEqual, "GreaterOrEqual", Broadcast, infer_binary, expand_binary},
    {OpKind::ShiftLeft, "ShiftLeft", Broadcast, infer_binary, expand_binary},
    {OpKind::ShiftRight, "ShiftRight", Broadcast, infer_binary, expand_binary},
    {OpKind::PRelu, "PRelu", Broadcast, infer_binary, expand_binary},
    {OpKind::Where, "Where", Broadcast, infer_where, expand_where},
    {OpKind::Clip, "Clip", ElemWise, infer_clip, expand_clip},
    {OpKind::Reshape, "Reshape", Injective, infer_reshape, expand_reshape},
    {OpKind::Transpose, "Transpose", Injective, infer_transpose, expand_transpose},
    {OpKind::Concat, "Concat", Injective, infer_concat, expand_concat},
    {OpKind::Slice, "Slice", Injective, infer_slice, expand_slice},
    {OpKind::Pad, "Pad", Injective, infer_pad, expand_pad},
    {OpKind::Expand, "Expand", Broadcast, infer_expand, expand_expand},
    {OpKind::Tile, "Tile", Broadcast, infer_tile, expand_tile},
    {OpKind::Gather, "Gather", Injective, infer_gather, expand_gather},
    {OpKind::GatherElements, "GatherElements", Injective, infer_gather_elements, expand_gather_elements},
    {OpKind::GatherND, "GatherND", Injective, infer_gather_nd, expand_gather_nd},
    {OpKind::ScatterElements, "ScatterElements", Opaque, infer_scatter_elements, expand_scatter_elements},
    {OpKind::ScatterND, "ScatterND", Opaque, infer_scatter_nd, expand_scatter_nd},
    {OpKind::Trilu, "Trilu", ElemWise, infer_trilu, expand_trilu},
    {OpKind::ReduceSum, "ReduceSum", CommReduce, infer_reduce, expand_reduce},
    {OpKind::ReduceMean, "ReduceMean", CommReduce, infer_reduce, expand_reduce},
    {OpKind::ReduceMax, "ReduceMax", CommReduce, infer_reduce, expand_reduce},
    {OpKind::ReduceMin, "ReduceMin", CommReduce, infer_reduce, expand_reduce},
    {OpKind::ReduceProd, "ReduceProd", CommReduce, infer_reduce, expand_reduce},
    {OpKind::ReduceL1, "ReduceL1", CommReduce, infer_reduce, expand_reduce},
    {OpKind::ReduceL2, "ReduceL2", CommReduce, infer_reduce, expand_reduce},
    {OpKind::ReduceSumSquare, "ReduceSumSquare", CommReduce, infer_reduce, expand_reduce},
    {OpKind::ReduceLogSum, "ReduceLogSum", CommReduce, infer_reduce, expand_reduce},
    {OpKind::ReduceLogSumExp, "ReduceLogSumExp", CommReduce, infer_reduce, expand_reduce},
    {OpKind::ArgMax, "ArgMax", CommReduce, infer_arg, expand_arg},
    {OpKind::ArgMin, "ArgMin", CommReduce, infer_arg, expand_arg},
    {OpKind::CumSum, "CumSum", Opaque, infer_cumsum, expand_cumsum},
    {OpKind::TopK, "TopK", Opaque, infer_top_k, expand_top_k},
    {OpKind::MatMul, "MatMul", OutEWiseFusable, infer_matmul, expand_matmul},
    {OpKind::Gemm, "Gemm", OutEWiseFusable, infer_gemm, expand_gemm},
    {OpKind::Einsum, "Einsum", OutEWiseFusable, infer_einsum, expand_einsum},
    {OpKind::Conv, "Conv", OutEWiseFusable, infer_conv, expand_conv},
    {OpKind::ConvTranspose, "ConvTranspose", OutEWiseFusable, infer_conv_transpose, expand_conv_transpose},
    {OpKind::MaxPool, "MaxPool", OutEWiseFusable, infer_pool, expand_max_pool},
    {OpKind::AveragePool, "AveragePool", OutEWiseFusable, infer_pool, expand_average_pool},
    {OpKind::GlobalAveragePool, "GlobalAveragePool", OutEWiseFusable, infer_global_pool, expand_global_pool},
    {OpKind::GlobalMaxPool, "GlobalMaxPool", OutEWiseFusable, infer_global_pool, expand_global_pool},
    {OpKind::BatchNormalization, "BatchNormalization", Broadcast, infer_batch_norm, expand_batch_norm},
    {OpKind::InstanceNormalization, "InstanceNormalization", OutEWiseFusable, infer_instance_norm,
     expand_instance_norm},
    {OpKind::LayerNormalization, "LayerNormalization", OutEWiseFusable, infer_layer_norm, expand_layer_norm},
    {OpKind::LRN, "LRN", OutEWiseFusable, infer_lrn, expand_lrn},
    {OpKind::Softmax, "Softmax", OutEWiseFusable, infer_softmax, expand_softmax},
    {OpKind::LogSoftmax, "LogSoftmax", OutEWiseFusable, infer_softmax, expand_softmax},
    {OpKind::Hardmax, "Hardmax", OutEWiseFusable, infer_softmax, expand_hardmax},
};

static_assert(std::size(kOperators) == kOpKindCount);

constexpr bool in_order() {
  for (int i = 0; i < kOpKindCount; ++i) {
    if (kOperators[i].kind != static_cast<OpKind>(i)) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

const OpInfo& info(OpKind kind) { return kOperators[static_cast<std::size_t>(kind)]; }

std::span<const OpInfo> all_operators() { return kOperators; }

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
