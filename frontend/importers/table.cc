#include "frontend/importers/table.h"

#include <algorithm>

#include "support/error.h"

namespace polyte::frontend {

namespace {

constexpr std::string_view kInference = "inference only";
constexpr std::string_view kRecurrent = "up to 512 steps, activations with their default parameters, input_forget 0";
constexpr std::string_view kConstant = "what decides the shape is a constant or given with --value";

// Sorted by operator, then by since-version. Versions that only widened the types share a row.
constexpr Row kTable[] = {
    {"Abs", 6, import_unary},
    {"Acos", 7, import_unary},
    {"Acosh", 9, import_unary},
    {"Add", 6, import_binary_6},
    {"Add", 7, import_binary},
    {"And", 1, import_logical_6},
    {"And", 7, import_logical},
    {"ArgMax", 1, import_arg},
    {"ArgMin", 1, import_arg},
    {"Asin", 7, import_unary},
    {"Asinh", 9, import_unary},
    {"Atan", 7, import_unary},
    {"Atanh", 9, import_unary},
    {"AveragePool", 1, import_average_pool},
    {"BatchNormalization", 6, import_batch_norm_6, kInference},
    {"BatchNormalization", 7, import_batch_norm_7, kInference},
    {"BatchNormalization", 14, import_batch_norm_14},
    {"BitShift", 11, import_bit_shift},
    {"BitwiseAnd", 18, import_bitwise},
    {"BitwiseNot", 18, import_bitwise},
    {"BitwiseOr", 18, import_bitwise},
    {"BitwiseXor", 18, import_bitwise},
    {"BlackmanWindow", 17, import_window, kConstant},
    {"Cast", 6, import_cast, "no strings"},
    {"CastLike", 15, import_cast_like, "no strings"},
    {"Ceil", 6, import_unary},
    {"Celu", 12, import_activation},
    {"CenterCropPad", 18, import_center_crop_pad, kConstant},
    {"Clip", 6, import_clip_6},
    {"Clip", 11, import_clip_11},
    {"Compress", 9, import_compress, kConstant},
    {"Concat", 4, import_concat},
    {"Constant", 1, import_constant, "no strings, no sparse tensors"},
    {"ConstantOfShape", 9, import_constant_of_shape, kConstant},
    {"Conv", 1, import_conv},
    {"ConvInteger", 10, import_conv_integer},
    {"ConvTranspose", 1, import_conv_transpose},
    {"Cos", 7, import_unary},
    {"Cosh", 9, import_unary},
    {"CumSum", 11, import_cumsum, "the axis is a constant"},
    {"DFT", 17, import_dft, "up to 4096 points"},
    {"DepthToSpace", 1, import_depth_to_space},
    {"DequantizeLinear", 10, import_dequantize_linear, "from integers of 8, 16 or 32 bits"},
    {"Div", 6, import_binary_6},
    {"Div", 7, import_binary},
    {"Dropout", 6, import_dropout_6, kInference},
    {"Dropout", 12, import_dropout_12, "inference, or training with ratio 0"},
    {"DynamicQuantizeLinear", 11, import_dynamic_quantize_linear},
    {"Einsum", 12, import_einsum},
    {"Elu", 6, import_activation},
    {"Equal", 1, import_binary_6},
    {"Equal", 7, import_binary},
    {"Erf", 9, import_unary},
    {"Exp", 6, import_unary},
    {"Expand", 8, import_expand, kConstant},
    {"EyeLike", 9, import_eye_like},
    {"Flatten", 1, import_flatten},
    {"Floor", 6, import_unary},
    {"GRU", 3, import_gru, kRecurrent},
    {"Gather", 1, import_gather},
    {"GatherElements", 11, import_gather_elements},
    {"GatherND", 11, import_gather_nd},
    {"Gelu", 20, import_gelu},
    {"Gemm", 6, import_gemm},
    {"GlobalAveragePool", 1, import_unary},
    {"GlobalLpPool", 2, import_global_lp_pool},
    {"GlobalMaxPool", 1, import_unary},
    {"Greater", 1, import_binary_6},
    {"Greater", 7, import_binary},
    {"GreaterOrEqual", 12, import_binary},
    {"GridSample", 16, import_grid_sample, "cubic of up to two dimensions"},
    {"GroupNormalization", 18, import_group_norm, "stash_type FLOAT"},
    {"HammingWindow", 17, import_window, kConstant},
    {"HannWindow", 17, import_window, kConstant},
    {"HardSigmoid", 6, import_activation},
    {"HardSwish", 14, import_unary},
    {"Hardmax", 1, import_softmax_6},
    {"Hardmax", 13, import_softmax_13},
    {"Identity", 1, import_identity},
    {"If", 1, import_if, "branches of equal types, or a condition that is a constant or given with --value"},
    {"InstanceNormalization", 6, import_instance_norm},
    {"IsInf", 10, import_is_inf},
    {"IsNaN", 9, import_unary},
    {"LRN", 1, import_lrn},
    {"LSTM", 1, import_lstm, kRecurrent},
    {"LayerNormalization", 17, import_layer_norm},
    {"LeakyRelu", 6, import_activation},
    {"Less", 1, import_binary_6},
    {"Less", 7, import_binary},
    {"LessOrEqual", 12, import_binary},
    {"Log", 6, import_unary},
    {"LogSoftmax", 1, import_softmax_6},
    {"LogSoftmax", 13, import_softmax_13},
    {"LpNormalization", 1, import_lp_norm},
    {"LpPool", 2, import_lp_pool},
    {"MatMul", 1, import_matmul},
    {"MatMulInteger", 10, import_matmul_integer},
    {"Max", 6, import_variadic},
    {"MaxPool", 1, import_max_pool},
    {"Mean", 6, import_variadic},
    {"MeanVarianceNormalization", 9, import_mean_variance_normalization},
    {"Min", 6, import_variadic},
    {"Mish", 18, import_unary},
    {"Mod", 10, import_mod, "of floats: quotients below 2^53"},
    {"Mul", 6, import_binary_6},
    {"Mul", 7, import_binary},
    {"Neg", 6, import_unary},
    {"NegativeLogLikelihoodLoss", 12, import_nll_loss},
    {"NonZero", 9, import_non_zero, "of a constant"},
    {"Not", 1, import_logical},
    {"OneHot", 9, import_one_hot, kConstant},
    {"Or", 1, import_logical_6},
    {"Or", 7, import_logical},
    {"PRelu", 6, import_prelu_6},
    {"PRelu", 7, import_binary},
    {"Pad", 2, import_pad_6},
    {"Pad", 11, import_pad_11, kConstant},
    {"Pow", 1, import_binary_6},
    {"Pow", 7, import_binary},
    {"Pow", 12, import_pow},
    {"QLinearConv", 10, import_qlinear_conv},
    {"QLinearMatMul", 10, import_qlinear_matmul},
    {"QuantizeLinear", 10, import_quantize_linear, "to integers of 8, 16 or 32 bits"},
    {"RNN", 1, import_rnn, kRecurrent},
    {"Range", 11, import_range, kConstant},
    {"Reciprocal", 6, import_unary},
    {"ReduceL1", 1, import_reduce},
    {"ReduceL1", 18, import_reduce_by_input, kConstant},
    {"ReduceL2", 1, import_reduce},
    {"ReduceL2", 18, import_reduce_by_input, kConstant},
    {"ReduceLogSum", 1, import_reduce},
    {"ReduceLogSum", 18, import_reduce_by_input, kConstant},
    {"ReduceLogSumExp", 1, import_reduce},
    {"ReduceLogSumExp", 18, import_reduce_by_input, kConstant},
    {"ReduceMax", 1, import_reduce},
    {"ReduceMax", 18, import_reduce_by_input, kConstant},
    {"ReduceMean", 1, import_reduce},
    {"ReduceMean", 18, import_reduce_by_input, kConstant},
    {"ReduceMin", 1, import_reduce},
    {"ReduceMin", 18, import_reduce_by_input, kConstant},
    {"ReduceProd", 1, import_reduce},
    {"ReduceProd", 18, import_reduce_by_input, kConstant},
    {"ReduceSum", 1, import_reduce},
    {"ReduceSum", 13, import_reduce_by_input, kConstant},
    {"ReduceSumSquare", 1, import_reduce},
    {"ReduceSumSquare", 18, import_reduce_by_input, kConstant},
    {"Relu", 6, import_unary},
    {"Reshape", 5, import_reshape, kConstant},
    {"Resize", 10, import_resize_10, kConstant},
    {"Resize", 11, import_resize_11, kConstant},
    {"ReverseSequence", 10, import_reverse_sequence},
    {"Round", 11, import_unary},
    {"Scatter", 9, import_scatter_elements},
    {"ScatterElements", 11, import_scatter_elements},
    {"ScatterND", 11, import_scatter_nd},
    {"Selu", 6, import_activation},
    {"Shape", 1, import_shape},
    {"Shrink", 9, import_activation},
    {"Sigmoid", 6, import_unary},
    {"Sign", 9, import_unary},
    {"Sin", 7, import_unary},
    {"Sinh", 9, import_unary},
    {"Size", 1, import_size},
    {"Slice", 1, import_slice_6},
    {"Slice", 10, import_slice_10, kConstant},
    {"Softmax", 1, import_softmax_6},
    {"Softmax", 13, import_softmax_13},
    {"SoftmaxCrossEntropyLoss", 12, import_softmax_loss},
    {"Softplus", 1, import_unary},
    {"Softsign", 1, import_unary},
    {"SpaceToDepth", 1, import_space_to_depth},
    {"Split", 2, import_split_6},
    {"Split", 13, import_split_13, kConstant},
    {"Sqrt", 6, import_unary},
    {"Squeeze", 1, import_squeeze_6},
    {"Squeeze", 13, import_squeeze_13, kConstant},
    {"Sub", 6, import_binary_6},
    {"Sub", 7, import_binary},
    {"Sum", 6, import_variadic},
    {"Tan", 7, import_unary},
    {"Tanh", 6, import_unary},
    {"ThresholdedRelu", 10, import_activation},
    {"Tile", 6, import_tile, kConstant},
    {"TopK", 1, import_top_k_1},
    {"TopK", 10, import_top_k_10, "k is a constant or given with --value"},
    {"Transpose", 1, import_transpose},
    {"Trilu", 14, import_trilu, "k is a constant"},
    {"Unsqueeze", 1, import_unsqueeze_6},
    {"Unsqueeze", 13, import_unsqueeze_13, kConstant},
    {"Upsample", 7, import_upsample_7},
    {"Upsample", 9, import_resize_10, kConstant},
    {"Where", 9, import_where},
    {"Xor", 1, import_logical_6},
    {"Xor", 7, import_logical},
};

constexpr bool before(const Row& a, const Row& b) { return a.op < b.op || (a.op == b.op && a.since < b.since); }
static_assert(std::is_sorted(std::begin(kTable), std::end(kTable), before));

}  // namespace

const Row* find_row(std::string_view op, std::int64_t opset) {
  const Row* found = nullptr;
  for (const Row& row : kTable) {
    if (row.op == op && row.since <= opset) found = &row;
  }
  return found;
}

OpKind kind_of(const NodeContext& context) {
  for (const graph::OpInfo& row : graph::all_operators()) {
    if (row.name == context.node().op_type()) return row.kind;
  }
  POLYTE_CHECK(false, "no operator of the graph is called " + context.node().op_type());
  return OpKind::Identity;
}

std::vector<OperatorSupport> supported_operators() {
  std::vector<OperatorSupport> rows;
  for (const Row& row : kTable) {
    const bool continues = !rows.empty() && rows.back().op == row.op;
    if (continues && rows.back().restrictions == row.restrictions) continue;
    if (continues) rows.back().until = row.since - 1;
    rows.push_back({std::string(row.op), row.since, kGreatestOpset, std::string(row.restrictions)});
  }
  return rows;
}

}  // namespace polyte::frontend
