#include "graph/layouts/layout_choice.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace polyte::graph {

namespace {

constexpr std::int64_t kForced = std::int64_t{1} << 40;  // more cycles than reorders cost

std::size_t at(int id) { return static_cast<std::size_t>(id); }

bool is_forced(OpKind op) {
  return op == OpKind::Conv || op == OpKind::MaxPool || op == OpKind::AveragePool;
}

}  // namespace

// A dense convolution reads blocks and plain channels alike: it takes blocks, and does not ask for
// them.
bool LayoutChoice::wants_blocks(const Use& use) { return use.form == OperandForm::Blocked; }

bool LayoutChoice::takes_blocks(const Use& use) {
  return wants_blocks(use) || use.form == OperandForm::Either;
}

LayoutChoice::LayoutChoice(const Graph& graph, const BlockForms& forms, const LayoutPrices& prices)
    : graph_(graph), forms_(forms), prices_(prices), uses_(graph.values.size()) {
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    const Node& node = graph.node(id);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == kNoValue || graph.value(input).is_constant()) continue;
      uses_[at(input)].push_back(
          {id, forms.has(id) ? forms.of(id)->operands[i] : OperandForm::AsIs});
    }
  }
}

// The node that can leave the value in blocks, if there is one.
NodeId LayoutChoice::maker_of(ValueId id) const {
  const NodeId maker = graph_.value(id).producer;
  return maker != kNoNode && forms_.has(maker) && !forms_.of(maker)->plain_result ? maker : kNoNode;
}

void LayoutChoice::add_nodes(MinimumCut& cut, bool forced) const {
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
    if (!forms_.has(id)) {
      cut.costs_if_first(at(id), MinimumCut::kNever);
      continue;
    }
    // The edge whose price is negative is left out, so a node has one of the two at most.
    const bool must = forced && is_forced(graph_.node(id).op);
    const std::int64_t gain = must ? kForced : prices_.plain(id) - prices_.blocked(id);
    cut.costs_unless_first(at(id), gain);
    cut.costs_if_first(at(id), -gain);
  }
}

// A reorder to blocks: a vertex that is on the first side if some reader wants blocks, and costs
// unless they are made.
void LayoutChoice::add_entry(MinimumCut& cut, ValueId id) const {
  const std::vector<Use>& uses = uses_[at(id)];
  if (std::ranges::none_of(uses, wants_blocks)) return;
  const std::size_t entry = cut.add_thing();
  for (const Use& use : uses)
    if (wants_blocks(use)) cut.edge(at(use.reader), entry, MinimumCut::kNever);
  if (maker_of(id) == kNoNode)
    cut.costs_if_first(entry, prices_.reorder(id));
  else
    cut.edge(entry, at(maker_of(id)), prices_.reorder(id));
}

// A reorder back: a vertex that is on the second side if some reader wants none, and costs
// if blocks are made.
void LayoutChoice::add_exit(MinimumCut& cut, ValueId id) const {
  if (maker_of(id) == kNoNode) return;
  const std::size_t exit = cut.add_thing();
  cut.edge(at(maker_of(id)), exit, prices_.reorder(id));
  for (const Use& use : uses_[at(id)]) {
    if (takes_blocks(use))
      cut.edge(exit, at(use.reader), MinimumCut::kNever);
    else
      cut.costs_if_first(exit, MinimumCut::kNever);
  }
  if (graph_.is_output(id)) cut.costs_if_first(exit, MinimumCut::kNever);
}

std::vector<bool> LayoutChoice::choose(bool forced) const {
  MinimumCut cut(graph_.nodes.size());  // the first side computes in blocks
  add_nodes(cut, forced);
  for (ValueId id = 0; id < static_cast<ValueId>(graph_.values.size()); ++id) {
    add_entry(cut, id);
    add_exit(cut, id);
  }
  // Entries and exits come behind the nodes.
  std::vector<bool> in_blocks = cut.first_side();
  in_blocks.resize(graph_.nodes.size());
  return in_blocks;
}

std::int64_t LayoutChoice::reorders(ValueId id, const std::vector<bool>& in_blocks) const {
  const NodeId maker = maker_of(id);
  const bool is_blocked = maker != kNoNode && in_blocks[at(maker)];
  const auto reads_plain = [&](const Use& use) {
    return !in_blocks[at(use.reader)] || !takes_blocks(use);
  };
  const auto reads_blocks = [&](const Use& use) {
    return in_blocks[at(use.reader)] && wants_blocks(use);
  };
  const std::vector<Use>& uses = uses_[at(id)];
  // Made in blocks: reordered if anybody reads it plain. Made plain: if anybody wants blocks.
  const bool turns = is_blocked ? graph_.is_output(id) || std::ranges::any_of(uses, reads_plain)
                                : std::ranges::any_of(uses, reads_blocks);
  return turns ? prices_.reorder(id) : 0;
}

std::int64_t LayoutChoice::cost(const std::vector<bool>& in_blocks) const {
  std::int64_t sum = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id)
    if (forms_.has(id)) sum += in_blocks[at(id)] ? prices_.blocked(id) : prices_.plain(id);
  for (ValueId id = 0; id < static_cast<ValueId>(graph_.values.size()); ++id)
    sum += reorders(id, in_blocks);
  return sum;
}

std::vector<std::vector<NodeId>> LayoutChoice::regions(const std::vector<bool>& in_blocks) const {
  // Union-find over the values that are handed on in blocks.
  std::vector<NodeId> parent(graph_.nodes.size());
  std::iota(parent.begin(), parent.end(), 0);
  const std::function<NodeId(NodeId)> root = [&](NodeId id) {
    while (parent[at(id)] != id) id = parent[at(id)] = parent[at(parent[at(id)])];
    return id;
  };
  for (ValueId id = 0; id < static_cast<ValueId>(graph_.values.size()); ++id) {
    const NodeId maker = maker_of(id);
    if (maker == kNoNode || !in_blocks[at(maker)]) continue;
    for (const Use& use : uses_[at(id)]) {
      if (takes_blocks(use) && in_blocks[at(use.reader)])
        parent[at(root(use.reader))] = root(maker);
    }
  }
  std::vector<std::vector<NodeId>> found;
  std::vector<int> number(graph_.nodes.size(), -1);
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
    if (!in_blocks[at(id)]) continue;
    int& region = number[at(root(id))];
    if (region < 0) {
      region = static_cast<int>(found.size());
      found.emplace_back();
    }
    found[static_cast<std::size_t>(region)].push_back(id);
  }
  return found;
}

}  // namespace polyte::graph
