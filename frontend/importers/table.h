// The importer's table: which adapter imports an operator from which opset on.
#pragma once

#include <string_view>

#include "frontend/importers/context.h"

namespace polyte::frontend {

using Adapter = void (*)(NodeContext& context);

struct Row {
  std::string_view op;
  int since;  // the first opset with this meaning; the row with the greatest since <= opset counts
  Adapter adapter;
  std::string_view restrictions = {};  // for `polyte ops`
};

// nullptr where the operator is not there, or not yet at this opset.
const Row* find_row(std::string_view op, std::int64_t opset);

// Adapters, by file.
void import_unary(NodeContext& c);  // elementwise.cc
void import_activation(NodeContext& c);
void import_is_inf(NodeContext& c);
void import_cast(NodeContext& c);
void import_cast_like(NodeContext& c);
void import_binary_6(NodeContext& c);
void import_binary(NodeContext& c);
void import_prelu_6(NodeContext& c);
void import_pow(NodeContext& c);
void import_mod(NodeContext& c);
void import_bit_shift(NodeContext& c);
void import_bitwise(NodeContext& c);
void import_logical_6(NodeContext& c);
void import_logical(NodeContext& c);
void import_gelu(NodeContext& c);
void import_variadic(NodeContext& c);
void import_where(NodeContext& c);
void import_clip_6(NodeContext& c);
void import_clip_11(NodeContext& c);
void import_dropout_6(NodeContext& c);
void import_dropout_12(NodeContext& c);
void import_identity(NodeContext& c);

void import_constant(NodeContext& c);  // constants.cc
void import_constant_of_shape(NodeContext& c);
void import_shape(NodeContext& c);
void import_size(NodeContext& c);
void import_range(NodeContext& c);
void import_eye_like(NodeContext& c);

void import_reshape(NodeContext& c);  // movement.cc
void import_flatten(NodeContext& c);
void import_squeeze_6(NodeContext& c);
void import_squeeze_13(NodeContext& c);
void import_unsqueeze_6(NodeContext& c);
void import_unsqueeze_13(NodeContext& c);
void import_transpose(NodeContext& c);
void import_concat(NodeContext& c);
void import_expand(NodeContext& c);
void import_tile(NodeContext& c);
void import_gather(NodeContext& c);
void import_gather_elements(NodeContext& c);
void import_depth_to_space(NodeContext& c);
void import_space_to_depth(NodeContext& c);
void import_trilu(NodeContext& c);
void import_one_hot(NodeContext& c);

void import_slice_6(NodeContext& c);  // slicing.cc
void import_slice_10(NodeContext& c);
void import_split_6(NodeContext& c);
void import_split_13(NodeContext& c);
void import_pad_6(NodeContext& c);
void import_center_crop_pad(NodeContext& c);
void import_pad_11(NodeContext& c);

void import_reduce(NodeContext& c);  // reductions.cc
void import_reduce_by_input(NodeContext& c);
void import_arg(NodeContext& c);
void import_cumsum(NodeContext& c);
void import_softmax_6(NodeContext& c);
void import_softmax_13(NodeContext& c);

void import_conv(NodeContext& c);  // contractions.cc
void import_conv_transpose(NodeContext& c);
void import_max_pool(NodeContext& c);
void import_average_pool(NodeContext& c);
void import_matmul(NodeContext& c);
void import_gemm(NodeContext& c);

void import_batch_norm_6(NodeContext& c);  // normalization.cc
void import_batch_norm_7(NodeContext& c);
void import_batch_norm_14(NodeContext& c);
void import_instance_norm(NodeContext& c);
void import_layer_norm(NodeContext& c);
void import_lrn(NodeContext& c);
void import_mean_variance_normalization(NodeContext& c);

void import_group_norm(NodeContext& c);
void import_lp_norm(NodeContext& c);
void import_lp_pool(NodeContext& c);
void import_global_lp_pool(NodeContext& c);

void import_upsample_7(NodeContext& c);  // resize.cc
void import_resize_10(NodeContext& c);
void import_resize_11(NodeContext& c);

void import_gather_nd(NodeContext& c);  // indexing.cc
void import_scatter_elements(NodeContext& c);
void import_scatter_nd(NodeContext& c);
void import_top_k_1(NodeContext& c);
void import_top_k_10(NodeContext& c);
void import_compress(NodeContext& c);
void import_non_zero(NodeContext& c);
void import_reverse_sequence(NodeContext& c);
void import_einsum(NodeContext& c);

void import_nll_loss(NodeContext& c);  // losses.cc
void import_softmax_loss(NodeContext& c);

void import_quantize_linear(NodeContext& c);  // quantization.cc
void import_dequantize_linear(NodeContext& c);
void import_dynamic_quantize_linear(NodeContext& c);
void import_matmul_integer(NodeContext& c);
void import_qlinear_matmul(NodeContext& c);
void import_conv_integer(NodeContext& c);
void import_qlinear_conv(NodeContext& c);

void import_rnn(NodeContext& c);  // recurrent.cc
void import_gru(NodeContext& c);
void import_lstm(NodeContext& c);

void import_grid_sample(NodeContext& c);  // grid_sample.cc
void import_if(NodeContext& c);           // control_flow.cc
void import_window(NodeContext& c);       // signal.cc
void import_dft(NodeContext& c);

// The graph's operator of the same name; InternalError if there is none.
OpKind kind_of(const NodeContext& context);

}  // namespace polyte::frontend
