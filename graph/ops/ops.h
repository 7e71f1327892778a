// The operators' functions, one file a family, named in the table of op.cc and nowhere else.
#pragma once

#include "graph/expander.h"
#include "graph/op.h"

namespace polyte::graph {

using Types = Result<std::vector<TensorType>>;

Types infer_unary(const Graph& graph, const Node& node);  // unary.cc
void expand_unary(Expander& expander, const Node& node);
void expand_trigonometric(Expander& expander, const Node& node);  // trigonometric.cc
Types infer_binary(const Graph& graph, const Node& node);         // binary.cc
void expand_binary(Expander& expander, const Node& node);
Types infer_where(const Graph& graph, const Node& node);  // select.cc
void expand_where(Expander& expander, const Node& node);
Types infer_clip(const Graph& graph, const Node& node);
void expand_clip(Expander& expander, const Node& node);

Types infer_reshape(const Graph& graph, const Node& node);  // reshape.cc
void expand_reshape(Expander& expander, const Node& node);
// Input subscripts of a reshape `from` -> `to` read at `at`, subscripts over `from`.
Subscripts reshaped_subscripts(const Subscripts& at, const Dims& from, const Dims& to);
Types infer_transpose(const Graph& graph, const Node& node);  // transpose.cc
void expand_transpose(Expander& expander, const Node& node);
Types infer_concat(const Graph& graph, const Node& node);  // concat.cc
void expand_concat(Expander& expander, const Node& node);
Types infer_slice(const Graph& graph, const Node& node);  // slice.cc
void expand_slice(Expander& expander, const Node& node);
Types infer_pad(const Graph& graph, const Node& node);  // pad.cc
void expand_pad(Expander& expander, const Node& node);
Types infer_expand(const Graph& graph, const Node& node);  // repeat.cc
void expand_expand(Expander& expander, const Node& node);
Types infer_tile(const Graph& graph, const Node& node);
void expand_tile(Expander& expander, const Node& node);
Types infer_gather(const Graph& graph, const Node& node);  // gather.cc
void expand_gather(Expander& expander, const Node& node);
Types infer_gather_elements(const Graph& graph, const Node& node);
void expand_gather_elements(Expander& expander, const Node& node);
Types infer_gather_nd(const Graph& graph, const Node& node);
void expand_gather_nd(Expander& expander, const Node& node);
// index, or index + extent where it is negative.
ir::Expr wrapped_index(const ir::Expr& index, std::int64_t extent);
Types infer_scatter_elements(const Graph& graph, const Node& node);  // scatter.cc
void expand_scatter_elements(Expander& expander, const Node& node);
Types infer_scatter_nd(const Graph& graph, const Node& node);
void expand_scatter_nd(Expander& expander, const Node& node);
Types infer_trilu(const Graph& graph, const Node& node);  // trilu.cc
void expand_trilu(Expander& expander, const Node& node);

Types infer_reduce(const Graph& graph, const Node& node);  // reduce.cc
void expand_reduce(Expander& expander, const Node& node);
Types infer_arg(const Graph& graph, const Node& node);  // arg_reduce.cc
void expand_arg(Expander& expander, const Node& node);
Types infer_cumsum(const Graph& graph, const Node& node);  // cumsum.cc
void expand_cumsum(Expander& expander, const Node& node);

Types infer_top_k(const Graph& graph, const Node& node);  // top_k.cc
void expand_top_k(Expander& expander, const Node& node);

Types infer_einsum(const Graph& graph, const Node& node);  // einsum.cc
void expand_einsum(Expander& expander, const Node& node);
Types infer_matmul(const Graph& graph, const Node& node);  // matmul.cc
void expand_matmul(Expander& expander, const Node& node);
Types infer_gemm(const Graph& graph, const Node& node);  // gemm.cc
void expand_gemm(Expander& expander, const Node& node);
Types infer_conv(const Graph& graph, const Node& node);  // conv.cc
void expand_conv(Expander& expander, const Node& node);
Types infer_conv_transpose(const Graph& graph, const Node& node);  // conv_transpose.cc
void expand_conv_transpose(Expander& expander, const Node& node);
Types infer_pool(const Graph& graph, const Node& node);  // pool.cc
void expand_max_pool(Expander& expander, const Node& node);
void expand_average_pool(Expander& expander, const Node& node);
Types infer_global_pool(const Graph& graph, const Node& node);  // global_pool.cc
void expand_global_pool(Expander& expander, const Node& node);
Types infer_batch_norm(const Graph& graph, const Node& node);  // batch_norm.cc
void expand_batch_norm(Expander& expander, const Node& node);
Types infer_instance_norm(const Graph& graph, const Node& node);  // instance_norm.cc
void expand_instance_norm(Expander& expander, const Node& node);
Types infer_layer_norm(const Graph& graph, const Node& node);  // layer_norm.cc
void expand_layer_norm(Expander& expander, const Node& node);
Types infer_lrn(const Graph& graph, const Node& node);  // lrn.cc
void expand_lrn(Expander& expander, const Node& node);
Types infer_softmax(const Graph& graph, const Node& node);  // softmax.cc
void expand_softmax(Expander& expander, const Node& node);
void expand_hardmax(Expander& expander, const Node& node);

}  // namespace polyte::graph
