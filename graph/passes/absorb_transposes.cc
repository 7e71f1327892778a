#include "graph/passes/absorb_transposes.h"

#include <algorithm>
#include <numeric>

namespace polyte::graph {
namespace {

class Absorber {
 public:
  explicit Absorber(Graph& graph) : graph_(graph), consumers_(consumers_of(graph)) {
    for (const Node& node : graph.nodes) are_products_.push_back(is_product(node));
  }

  // Whether the product became one that reads something in place.
  bool absorb(Node& node) const {
    if (!is_product(node)) return false;
    const std::size_t batch = rank_of(node.outputs[0]) - 2;
    const auto number = [](std::size_t d) { return static_cast<std::int64_t>(d); };
    const std::int64_t m = number(batch), n = m + 1, k = m + 2;
    std::vector<Dims> labels;
    for (const auto& [operand, last] : {std::pair{0, std::pair{m, k}}, {1, {k, n}}}) {
      const std::size_t own = rank_of(node.inputs[operand]) - 2;
      Dims all(own);
      std::iota(all.begin(), all.end(), number(batch - own));
      all.insert(all.end(), {last.first, last.second});
      labels.push_back(std::move(all));
    }
    bool has_changed = false;
    for (std::size_t i = 0; i < 2; ++i) {
      const Node* transpose = transpose_of(node.inputs[i]);
      if (transpose == nullptr) continue;
      const Dims& perm = std::get<TransposeAttributes>(transpose->attributes).perm;
      Dims before(perm.size());
      for (std::size_t d = 0; d < perm.size(); ++d)
        before[static_cast<std::size_t>(perm[d])] = labels[i][d];
      if (before.back() < m) continue;
      labels[i] = std::move(before);
      node.inputs[i] = transpose->inputs[0];
      has_changed = true;
    }
    if (!has_changed) return false;
    Dims output(batch + 2);
    std::iota(output.begin(), output.end(), 0);
    node.op = OpKind::Einsum;
    node.attributes = EinsumAttributes{std::move(labels), std::move(output)};
    return true;
  }

 private:
  Graph& graph_;
  std::vector<std::vector<NodeId>>
      consumers_;                   // by value; these and the products before any change
  std::vector<bool> are_products_;  // by node

  std::size_t rank_of(ValueId id) const { return graph_.value(id).type.shape.size(); }

  bool is_product(const Node& node) const {
    return node.op == OpKind::MatMul && rank_of(node.inputs[0]) >= 2 &&
           rank_of(node.inputs[1]) >= 2;
  }

  // Of a value that products alone read.
  const Node* transpose_of(ValueId id) const {
    const NodeId producer = graph_.value(id).producer;
    if (producer == kNoNode || graph_.node(producer).op != OpKind::Transpose) return nullptr;
    const auto& readers = consumers_[static_cast<std::size_t>(id)];
    const bool is_read_by_products = std::ranges::all_of(
        readers, [&](NodeId reader) { return are_products_[static_cast<std::size_t>(reader)]; });
    return is_read_by_products && !graph_.is_output(id) ? &graph_.node(producer) : nullptr;
  }
};

}  // namespace

PassResult absorb_transposes(Graph& graph) {
  PassResult result;
  const Absorber absorber(graph);
  for (Node& node : graph.nodes) result.rewrites += absorber.absorb(node) ? 1 : 0;
  if (result.rewrites > 0) graph.normalise();
  return result;
}

}  // namespace polyte::graph
