#include "graph/propose_joins.h"

#include <algorithm>
#include <optional>
#include <string>

#include "graph/op.h"

namespace polyte::graph {

namespace {

const std::string kReason = "scores, their softmax and the product in one pass";

bool is_product(const Node& node) { return node.op == OpKind::MatMul || node.op == OpKind::Gemm; }

// Of the last dimension alone.
bool is_row_softmax(const Graph& graph, const Node& node) {
  if (node.op != OpKind::Softmax) return false;
  const auto rank = static_cast<std::int64_t>(graph.value(node.inputs[0]).type.shape.size());
  const auto& [axis, end] = std::get<SoftmaxAttributes>(node.attributes);
  return axis + 1 == rank && end == rank;
}

class Proposer {
 public:
  Proposer(const Graph& graph, const FusionReport& fused)
      : graph_(graph), fused_(fused), consumers_(consumers_of(graph)) {}

  std::vector<KeepTogether> run() const {
    std::vector<KeepTogether> proposals;
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
      if (!is_row_softmax(graph_, graph_.node(id))) continue;
      // MatMul -> .. -> Softmax -> MatMul, each read by the next one only: attention.
      const std::optional<NodeId> before = scores(id), behind = only_reader(id);
      if (before && behind && is_product(graph_.node(*behind)))
        proposals.push_back(
            {.first = *before, .second = *behind, .reason = kReason, .proposed = true});
    }
    return proposals;
  }

 private:
  const Graph& graph_;
  const FusionReport& fused_;
  std::vector<std::vector<NodeId>> consumers_;

  // Of a node whose value nobody else sees.
  std::optional<NodeId> only_reader(NodeId id) const {
    const ValueId value = graph_.node(id).outputs[0];
    const std::vector<NodeId>& readers = consumers_[static_cast<std::size_t>(value)];
    return readers.size() == 1 && !graph_.is_output(value) ? std::optional(readers[0])
                                                           : std::nullopt;
  }

  // The product that makes the scores, at the head of its group; what the group makes only
  // the softmax reads.
  std::optional<NodeId> scores(NodeId softmax) const {
    const NodeId last = graph_.value(graph_.node(softmax).inputs[0]).producer;
    if (last == kNoNode || only_reader(last) != softmax) return std::nullopt;
    const auto& group =
        fused_.groups[static_cast<std::size_t>(fused_.group_of[static_cast<std::size_t>(last)])];
    // A value of the group that is read elsewhere would have to be stored, as wide as the scores.
    const auto is_read_here = [&](NodeId id) {
      const auto reader = only_reader(id);
      return id == last || (reader && std::ranges::find(group, *reader) != group.end());
    };
    const auto product =
        std::ranges::find_if(group, [&](NodeId id) { return is_product(graph_.node(id)); });
    return product != group.end() && std::ranges::all_of(group, is_read_here)
               ? std::optional(*product)
               : std::nullopt;
  }
};

}  // namespace

std::vector<KeepTogether> propose_joins(const Graph& graph, const FusionReport& fused) {
  return Proposer(graph, fused).run();
}

}  // namespace polyte::graph
