#include "graph/passes/unroll_recurrences.h"

#include "graph/ops/recurrence.h"
#include "graph/passes/replacements.h"

namespace polyte::graph {
namespace {

constexpr std::int64_t kMostSteps = 512;  // more are no longer worth their kernels

class Unroller {
 public:
  Unroller(Graph& graph, Node node)
      : graph_(graph),
        node_(std::move(node)),
        attributes_(std::get<RecurrenceAttributes>(node_.attributes)),
        steps_(dims(node_.inputs[Recurrent::X])[0]),
        batch_(dims(node_.inputs[Recurrent::X])[1]),
        hidden_(dims(node_.inputs[Recurrent::Weight])[0]) {}

  std::int64_t steps() const { return steps_; }

  // What stands for the outputs, in order.
  std::vector<ValueId> run() {
    State state{initial(Recurrent::H0),
                attributes_.cell == Cell::Lstm ? initial(Recurrent::C0) : kNoValue};
    std::vector<ValueId> all(static_cast<std::size_t>(steps_));
    for (std::int64_t i = 0; i < steps_; ++i) {
      const std::int64_t t = attributes_.backwards ? steps_ - 1 - i : i;
      const ValueId x = reshape(slice(node_.inputs[Recurrent::X], 0, t, 1), {batch_, columns()});
      State next = step(state, x);
      ValueId y = next.h;
      if (operand(Recurrent::Lengths) != kNoValue) {
        const ValueId active =
            emit(OpKind::Less, {}, {number(DType::I64, static_cast<double>(t)), lengths()});
        next.h = emit(OpKind::Where, {}, {active, next.h, state.h});
        if (next.c != kNoValue) next.c = emit(OpKind::Where, {}, {active, next.c, state.c});
        y = emit(OpKind::Where, {}, {active, y, number(type(), 0)});
      }
      all[static_cast<std::size_t>(t)] = reshape(y, {1, batch_, hidden_});
      state = next;
    }
    const ValueId y = steps_ == 1 ? all[0] : emit(OpKind::Concat, AxisAttributes{0}, all);
    return {y, state.h, state.c};
  }

 private:
  struct State {
    ValueId h, c;
  };

  Graph& graph_;
  const Node node_;
  const RecurrenceAttributes& attributes_;
  const std::int64_t steps_, batch_, hidden_;

  const Dims& dims(ValueId id) const { return graph_.value(id).type.shape; }
  DType type() const { return graph_.value(node_.inputs[Recurrent::X]).type.dtype; }
  std::int64_t columns() const { return dims(node_.inputs[Recurrent::X])[2]; }
  ValueId operand(std::size_t which) const {
    return which < node_.inputs.size() ? node_.inputs[which] : kNoValue;
  }

  ValueId emit(OpKind op, Attributes attributes, std::vector<ValueId> inputs) {
    const NodeId id = graph_.add_node(node_.name, op, std::move(attributes), std::move(inputs),
                                      {graph_.value(node_.outputs[0]).name});
    return graph_.node(id).outputs[0];
  }
  ValueId number(DType dtype, double value) {
    return graph_.add_constant(node_.name, make_scalar(dtype, value));
  }
  ValueId add(ValueId a, ValueId b) { return emit(OpKind::Add, {}, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return emit(OpKind::Mul, {}, {a, b}); }
  ValueId product(ValueId a, ValueId b) { return emit(OpKind::MatMul, {}, {a, b}); }
  ValueId reshape(ValueId x, Dims shape) {
    return emit(OpKind::Reshape, ShapeAttributes{std::move(shape)}, {x});
  }
  ValueId slice(ValueId x, std::size_t axis, std::int64_t begin, std::int64_t size) {
    SliceAttributes part{Dims(dims(x).size(), 0), Dims(dims(x).size(), 1), dims(x)};
    part.starts[axis] = begin;
    part.sizes[axis] = size;
    return emit(OpKind::Slice, std::move(part), {x});
  }
  // Columns of one gate or several.
  ValueId part(ValueId x, std::int64_t gate, std::int64_t gates = 1) {
    return slice(x, dims(x).size() - 1, gate * hidden_, gates * hidden_);
  }
  ValueId weight(std::int64_t gate, std::int64_t gates) {
    return part(node_.inputs[Recurrent::Weight], gate, gates);
  }
  ValueId lengths() { return reshape(operand(Recurrent::Lengths), {batch_, 1}); }
  ValueId initial(std::size_t which) {
    if (operand(which) != kNoValue) return operand(which);
    return emit(OpKind::Expand, ShapeAttributes{{batch_, hidden_}}, {number(type(), 0)});
  }

  ValueId by(std::size_t which, ValueId x) {
    if (attributes_.clip > 0)
      x = emit(OpKind::Clip, {},
               {x, number(type(), -attributes_.clip), number(type(), attributes_.clip)});
    return activation(which, x);
  }
  ValueId activation(std::size_t which, ValueId x) {
    const auto& [op, alpha, beta] = attributes_.activations.at(which);
    const bool is_plain = alpha == 0 && beta == 0;
    return emit(op, is_plain ? Attributes(NoAttributes{}) : ActivationAttributes{alpha, beta}, {x});
  }

  State step(const State& before, ValueId x) {
    if (attributes_.cell == Cell::Rnn)
      return {by(0, add(x, product(before.h, node_.inputs[Recurrent::Weight]))), kNoValue};
    return attributes_.cell == Cell::Gru ? gru_step(before, x) : lstm_step(before, x);
  }

  State gru_step(const State& before, ValueId x) {
    const ValueId gates = by(0, add(part(x, 0, 2), product(before.h, weight(0, 2))));
    const ValueId z = part(gates, 0), r = part(gates, 1);
    const ValueId from = attributes_.reset_after ? before.h : mul(r, before.h);
    ValueId inner = product(from, weight(2, 1));
    if (operand(Recurrent::Bias) != kNoValue) inner = add(inner, operand(Recurrent::Bias));
    if (attributes_.reset_after) inner = mul(r, inner);
    const ValueId candidate = by(1, add(part(x, 2), inner));
    const ValueId rest = emit(OpKind::Sub, {}, {number(type(), 1), z});
    return {add(mul(rest, candidate), mul(z, before.h)), kNoValue};
  }

  State lstm_step(const State& before, ValueId x) {
    const ValueId sums = add(x, product(before.h, node_.inputs[Recurrent::Weight]));
    const auto gate = [&](std::int64_t which, ValueId c) {
      const ValueId own = part(sums, which);
      if (operand(Recurrent::Peepholes) == kNoValue) return by(0, own);
      return by(
          0, add(own, mul(slice(operand(Recurrent::Peepholes), 0, which * hidden_, hidden_), c)));
    };
    const ValueId in = gate(Recurrent::In, before.c), forget = gate(Recurrent::Forget, before.c);
    const ValueId c = add(mul(forget, before.c), mul(in, by(1, part(sums, Recurrent::New))));
    return {mul(gate(Recurrent::Out, c), activation(2, c)), c};
  }
};

}  // namespace

PassResult unroll_recurrences(Graph& graph) {
  PassResult result;
  Replacements replacements(graph);
  const auto count = static_cast<NodeId>(graph.nodes.size());  // without those that are added
  for (NodeId id = 0; id < count; ++id) {
    replacements.update_operands(graph.nodes[static_cast<std::size_t>(id)]);
    const Node& node = graph.node(id);
    if (node.op != OpKind::Recurrence) continue;
    const std::vector<ValueId> outputs = node.outputs;
    Unroller unroller(graph, node);
    if (unroller.steps() > kMostSteps) {
      result.notes.push_back("'" + node.name + "' has more than " + std::to_string(kMostSteps) +
                             " steps");
      continue;
    }
    const std::vector<ValueId> values = unroller.run();
    ++result.rewrites;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] != kNoValue) replacements.replace(outputs[i], values[i]);
  }
  replacements.finish();
  return result;
}

}  // namespace polyte::graph
