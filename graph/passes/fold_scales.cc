#include "graph/passes/fold_scales.h"

#include <algorithm>

#include "graph/passes/channel_affine.h"
#include "graph/passes/replacements.h"

namespace polyte::graph {

namespace {

// A contraction whose weights and bias can be rescaled. The weights stay where they are until it is
// known that they will be: most contractions are asked and keep theirs.
struct Contraction {
  std::size_t axis = 1;      // of the output channels
  std::vector<double> bias;  // one per channel, zeros where there is none
  bool may_have_bias = true;
};

// The weight with each output channel times its scale. It is [.., channels, ..] with runs of
// elements of one channel:
//
//    Conv             [channels, inputs / group, window]     run: inputs / group * window
//    Gemm, trans_b    [channels, inputs]                     run: inputs
//    Gemm, MatMul     [inputs, channels]                     run: 1
Tensor scaled_weight(const Node& node, const Tensor& weight, const std::vector<double>& scale) {
  const auto dim = [&](std::size_t d) { return static_cast<std::size_t>(weight.type.shape.at(d)); };
  const auto elements = static_cast<std::size_t>(element_count(weight.type.shape));
  switch (node.op) {
    case OpKind::Conv:
      return scale_runs(weight, scale, elements / dim(0));
    case OpKind::ConvTranspose: {
      // [inputs, channels / group, window]: the group follows from the input.
      const std::size_t inputs_in_group =
          dim(0) / static_cast<std::size_t>(std::get<ConvAttributes>(node.attributes).group);
      std::vector<double> factors;
      for (std::size_t input = 0; input < dim(0); ++input) {
        const auto first =
            scale.begin() + static_cast<std::ptrdiff_t>(input / inputs_in_group * dim(1));
        factors.insert(factors.end(), first, first + static_cast<std::ptrdiff_t>(dim(1)));
      }
      return scale_runs(weight, factors, elements / factors.size());
    }
    case OpKind::Gemm:
      if (std::get<GemmAttributes>(node.attributes).trans_b)
        return scale_runs(weight, scale, dim(1));
      return scale_runs(weight, scale, 1);
    default:  // MatMul
      return scale_runs(weight, scale, 1);
  }
}

std::optional<Contraction> as_contraction(const Graph& graph, const Node& node) {
  const bool is_conv = node.op == OpKind::Conv || node.op == OpKind::ConvTranspose;
  if (is_conv && std::get<ConvAttributes>(node.attributes).output_block != 0) return std::nullopt;
  if (!is_conv && node.op != OpKind::Gemm && node.op != OpKind::MatMul) return std::nullopt;
  const Value& weight = graph.value(node.inputs.at(1));
  const Dims& shape = graph.value(node.outputs.at(0)).type.shape;
  if (!weight.is_constant() || element_count(weight.type.shape) == 0 ||
      !is_float(weight.type.dtype)) {
    return std::nullopt;
  }
  // A weight that is a vector gives no channels; stacks of matrices are left alone.
  if (node.op == OpKind::MatMul && (weight.type.shape.size() != 2 || shape.empty()))
    return std::nullopt;
  Contraction contraction;
  contraction.axis = is_conv ? 1 : shape.size() - 1;
  contraction.may_have_bias = node.op != OpKind::MatMul;
  contraction.bias.assign(static_cast<std::size_t>(shape.at(contraction.axis)), 0);
  if (node.inputs.size() < 3 || node.inputs[2] == kNoValue) return contraction;

  // A convolution's bias is [channels]; a Gemm's third operand broadcasts as any other and
  // is scaled by beta.
  const auto bias =
      per_channel(graph, node.inputs[2], is_conv ? Dims{shape.at(1)} : shape, is_conv ? 0 : 1);
  if (!bias) return std::nullopt;
  const double beta = is_conv ? 1 : std::get<GemmAttributes>(node.attributes).beta;
  for (std::size_t c = 0; c < bias->size(); ++c) contraction.bias[c] = beta * (*bias)[c];
  return contraction;
}

// alpha * A (B * a) = (alpha * A B) * a, so that a Gemm keeps its alpha; beta is in the new bias
// already.
void rescale(Graph& graph, NodeId id, const Contraction& contraction, const ChannelAffine& affine) {
  const Node node = graph.node(id);
  const Value weight = graph.value(node.inputs[1]);
  std::vector<ValueId> inputs = {
      node.inputs[0], graph.add_constant(weight.name + ".scaled",
                                         scaled_weight(node, weight.tensor(), affine.scale))};
  if (contraction.may_have_bias) {
    std::vector<double> bias = contraction.bias;
    for (std::size_t c = 0; c < bias.size(); ++c)
      bias[c] = bias[c] * affine.scale[c] + affine.shift[c];
    const TensorType bias_type = {weight.type.dtype, {static_cast<std::int64_t>(bias.size())}};
    inputs.push_back(graph.add_constant(node.name + ".bias.scaled", make_tensor(bias_type, bias)));
  }
  Node& stored = graph.nodes[static_cast<std::size_t>(id)];
  stored.inputs = std::move(inputs);
  if (node.op == OpKind::Gemm) std::get<GemmAttributes>(stored.attributes).beta = 1;
}

// Folds `id` into the contraction that gives its operand `x`; false where that cannot be.
bool fold_into_producer(Graph& graph, NodeId id, ValueId x, Replacements& replacements) {
  const NodeId producer = graph.value(x).producer;
  const std::optional<Contraction> contraction = as_contraction(graph, graph.node(producer));
  if (!contraction) return false;
  const std::optional<ChannelAffine> affine =
      channel_affine(graph, graph.node(id), x, contraction->axis);
  if (!affine) return false;
  const bool has_shift = std::ranges::any_of(affine->shift, [](double s) { return s != 0; });
  if (has_shift && !contraction->may_have_bias) return false;
  // The last thing that can fail: from here on the graph is changed.
  if (!replacements.replace(graph.node(id).outputs[0], x)) return false;
  rescale(graph, producer, *contraction, *affine);
  graph.nodes[static_cast<std::size_t>(producer)].folded.emplace_back(to_string(graph.node(id).op));
  return true;
}

}  // namespace

PassResult fold_scales(Graph& graph) {
  PassResult result;
  // How often each value is read, a graph output counting as a reader. Readers of the value that a
  // folded node gave become readers of the contraction's.
  std::vector<std::size_t> readers;
  for (const auto& nodes : consumers_of(graph)) readers.push_back(nodes.size());
  for (ValueId id : graph.outputs) ++readers[static_cast<std::size_t>(id)];
  Replacements replacements(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    replacements.update_operands(graph.nodes[static_cast<std::size_t>(id)]);
    const Node node = graph.node(id);
    for (ValueId x : node.inputs) {
      if (x == kNoValue || graph.value(x).producer == kNoNode) continue;
      if (readers[static_cast<std::size_t>(x)] != 1) continue;
      if (!fold_into_producer(graph, id, x, replacements)) continue;
      readers[static_cast<std::size_t>(x)] = readers[static_cast<std::size_t>(node.outputs[0])];
      ++result.rewrites;
      break;
    }
  }
  replacements.finish();
  return result;
}

}  // namespace polyte::graph
