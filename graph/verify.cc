// The rules of a Graph, each checked apart from the others so that every broken one is reported.
#include <unordered_set>

#include "graph/graph.h"
#include "graph/op.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

// Ids that are out of range stop only the checks that would follow them.
class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  std::vector<std::string> run() {
    check_values();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) check_node(static_cast<NodeId>(n));
    check_interface();
    return std::move(problems_);
  }

 private:
  void fail(std::string problem) { problems_.push_back(std::move(problem)); }
  bool in_range(ValueId id) const {
    return id >= 0 && id < static_cast<ValueId>(graph_.values.size());
  }

  void check_values() {
    std::unordered_set<std::string> names;
    for (const Value& value : graph_.values) {
      if (!names.insert(value.name).second) fail("value '" + value.name + "': name is not unique");
      const std::int64_t size = size_in_bytes(value.type);
      if (value.data && static_cast<std::int64_t>(value.data->size()) != size) {
        fail("value '" + value.name + "': constant has " + std::to_string(value.data->size()) +
             " bytes, expected " + std::to_string(size));
      }
      if (value.data && value.producer != kNoNode)
        fail("value '" + value.name + "': a constant with a producer");
    }
  }

  void check_node(NodeId id) {
    const Node& node = graph_.node(id);
    const std::string who = "node '" + node.name + "': ";
    if (!node_names_.insert(node.name).second) fail(who + "name is not unique");
    // Ids in range, so that types can be looked up.
    bool sound = !node.outputs.empty() && node.outputs.front() != kNoValue;
    if (!sound) fail(who + "no first output");
    for (ValueId input : node.inputs) {
      if (input == kNoValue) continue;
      // Inputs and constants have no producer, and kNoNode is below every id.
      if (!in_range(input))
        sound = false, fail(who + "input id out of range");
      else if (graph_.value(input).producer >= id)
        fail(who + "reads '" + graph_.value(input).name + "' before it exists");
    }
    for (ValueId output : node.outputs) {
      if (output == kNoValue) continue;
      if (!in_range(output))
        sound = false, fail(who + "output id out of range");
      else if (graph_.value(output).producer != id)
        fail(who + "is not the producer of its output");
    }
    // Inference looks operands up, which ids out of range would stop.
    if (sound) check_types(node, who);
  }

  void check_types(const Node& node, const std::string& who) {
    const auto types = infer_types(graph_, node);
    if (!types) return fail(who + types.error().reason);
    if (node.outputs.size() > types->size()) return fail(who + "has too many outputs");
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      const TensorType& got = graph_.value(node.outputs[i]).type;
      if (!(got == (*types)[i])) {
        fail(who + "output " + std::to_string(i) + " is " + to_string(got) + ", expected " +
             to_string((*types)[i]));
      }
    }
  }

  void check_interface() {
    for (ValueId id : graph_.inputs) {
      if (!in_range(id))
        fail("graph input id out of range");
      else if (graph_.value(id).data || graph_.value(id).producer != kNoNode)
        fail("graph input '" + graph_.value(id).name + "' is computed or constant");
    }
    for (ValueId id : graph_.outputs) {
      if (!in_range(id)) fail("graph output id out of range");
    }
  }

  const Graph& graph_;
  std::unordered_set<std::string> node_names_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace polyte::graph
