#include "graph/evaluate.h"

#include <utility>

#include "graph/expand.h"
#include "ir/interpret.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

// Values by number, filled group by group; a group reads only what earlier groups have computed.
class Evaluator {
 public:
  Evaluator(const Graph& graph, std::span<const Tensor> inputs);
  void run(const std::vector<NodeId>& group);
  std::vector<Tensor> outputs() const;

 private:
  const Graph& graph_;
  std::vector<Tensor> values_;  // by ValueId; empty bytes until computed
};

Evaluator::Evaluator(const Graph& graph, std::span<const Tensor> inputs) : graph_(graph) {
  std::vector<std::string> problems;
  if (inputs.size() != graph.inputs.size()) {
    problems.push_back("got " + std::to_string(inputs.size()) + " inputs, expected " +
                       std::to_string(graph.inputs.size()));
  }
  // Constants have their bytes from here on. A wrong count and wrong types are all reported: the
  // loop below looks at the inputs that are there.
  for (const Value& value : graph.values) values_.push_back(value.tensor());
  for (std::size_t i = 0; i < inputs.size() && i < graph.inputs.size(); ++i) {
    const Value& expected = graph.value(graph.inputs[i]);
    if (!(inputs[i].type == expected.type)) {
      problems.push_back("input '" + expected.name + "' is " + to_string(inputs[i].type) +
                         ", expected " + to_string(expected.type));
    }
    values_[static_cast<std::size_t>(graph.inputs[i])] = inputs[i];
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, std::move(problems));
}

// As a kernel would be called: operands in, results out, by the Program's interface.
void Evaluator::run(const std::vector<NodeId>& group) {
  const Expansion expansion = expand(graph_, group, "group");
  const std::vector<const ir::Buffer*> interface = expansion.program.interface();
  POLYTE_CHECK(interface.size() == expansion.arguments.size(),
               "one argument for each interface buffer");
  ir::Environment environment;
  // The interpreter makes the buffers of outputs and temporaries itself.
  for (std::size_t i = 0; i < interface.size(); ++i) {
    if (interface[i]->role == ir::Role::Out) continue;
    const Tensor& operand = values_.at(static_cast<std::size_t>(expansion.arguments[i]));
    POLYTE_CHECK(operand.bytes != nullptr, "groups are evaluated in topological order");
    environment[interface[i]->name] = {interface[i]->dtype, ir::constant_shape(*interface[i]),
                                       operand.bytes->copy()};
  }
  ir::interpret(expansion.program, environment, {});
  for (std::size_t i = 0; i < interface.size(); ++i) {
    if (interface[i]->role != ir::Role::Out) continue;
    Tensor& result = values_.at(static_cast<std::size_t>(expansion.arguments[i]));
    result.bytes =
        std::make_shared<const Bytes>(std::move(environment.at(interface[i]->name).bytes));
  }
}

std::vector<Tensor> Evaluator::outputs() const {
  std::vector<Tensor> outputs;
  for (ValueId id : graph_.outputs) {
    outputs.push_back(values_.at(static_cast<std::size_t>(id)));
    POLYTE_CHECK(outputs.back().bytes != nullptr,
                 "output '" + graph_.value(id).name + "' was not computed");
  }
  return outputs;
}

}  // namespace

std::vector<Tensor> evaluate_groups(const Graph& graph, std::span<const std::vector<NodeId>> groups,
                                    std::span<const Tensor> inputs) {
  Evaluator evaluator(graph, inputs);
  for (const std::vector<NodeId>& group : groups) evaluator.run(group);
  return evaluator.outputs();
}

std::vector<Tensor> evaluate_graph(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<std::vector<NodeId>> groups;
  // One group per node: no operator is written into another, so every value passes through memory.
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) groups.push_back({id});
  return evaluate_groups(graph, groups, inputs);
}

}  // namespace polyte::graph
