// Recurrence: the steps of an RNN, a GRU or an LSTM in one direction, in order; products with the
// inputs of all steps are made before. In the letters of ONNX, x has Xt W' + Wb and all of Rb that
// no gate multiplies:
//
//   loop i in 0..T
//     RNN    H = f(x[i] + H R')
//     GRU    z, r = f(x[i] + H R');  h = g(x[i] + (r * H) R' + Rb)
//            or, with reset_after,   h = g(x[i] + r * (H R' + Rb))
//            H = (1 - z) * h + z * H
//     LSTM   i, o, f, c = x[i] + H R'
//            C = f(f + P * C) * C + f(i + P * C) * g(c)
//            H = f(o + P * C) * h(C)
//     y[i] = H
//
// A sequence that is shorter than the others keeps its state behind its end; its y is 0 there.
// Short floats: sums and gates are computed in f32, states are rounded.
#include "graph/ops/recurrence.h"

#include "graph/ops/arithmetic.h"
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

namespace {

using ir::Affine;
using ir::Expr;

class Steps {
 public:
  Steps(Expander& expander, const Node& node)
      : expander_(expander),
        node_(node),
        attributes_(std::get<RecurrenceAttributes>(node.attributes)),
        type_(expander.type(node.inputs[Recurrent::X]).dtype),
        sum_type_(accumulator_of(type_)),
        steps_(expander.shape(node.inputs[Recurrent::X])[0]),
        batch_(expander.shape(node.inputs[Recurrent::X])[1]),
        hidden_(expander.shape(node.inputs[Recurrent::Weight])[0]) {}

  void run() {
    y_ = expander_.store(node_.outputs[0]);
    h_ = state(1, Recurrent::H0, "h");
    if (attributes_.cell == Cell::Lstm) c_ = state(2, Recurrent::C0, "c");
    expander_.in_order({"i", 0, steps_}, [&] {
      if (attributes_.cell == Cell::Rnn) rnn_step();
      if (attributes_.cell == Cell::Gru) gru_step();
      if (attributes_.cell == Cell::Lstm) lstm_step();
    });
  }

 private:
  Expander& expander_;
  const Node& node_;
  const RecurrenceAttributes& attributes_;
  const DType type_, sum_type_;
  const std::int64_t steps_, batch_, hidden_;
  std::string y_, h_, c_;

  Affine time() const {
    const Affine i = Affine::symbol("i");
    return attributes_.backwards ? Affine(steps_ - 1) - i : i;
  }
  Ranges elements() const { return {{"b", 0, batch_}, {"n", 0, hidden_}}; }
  Expr widened(const Expr& x) const {
    return x->type == sum_type_ ? x : ir::make_cast(sum_type_, x);
  }
  Expr rounded(const Expr& x) const { return x->type == type_ ? x : ir::make_cast(type_, x); }
  Expr number(double value) const { return ir::make_literal(sum_type_, value); }
  Expr operand(std::size_t which, const Subscripts& at) const {
    return widened(expander_.read(node_.inputs[which], at));
  }
  Expr load(const std::string& buffer, const Subscripts& at) const {
    return widened(expander_.load(buffer, at));
  }

  // A buffer [batch, hidden] that begins as an operand says, or with zeros: an output, where it is
  // wanted.
  std::string state(std::size_t output, std::size_t initial, const std::string& name) {
    const bool is_wanted = output < node_.outputs.size() && node_.outputs[output] != kNoValue;
    std::string buffer = is_wanted ? expander_.store(node_.outputs[output])
                                   : expander_.temporary(name, type_, {batch_, hidden_});
    expander_.assign(buffer, subscripts_of(elements()), elements(), [&](const Subscripts& at) {
      return has_input(node_, initial) ? expander_.read(node_.inputs[initial], at)
                                       : ir::make_literal(type_, 0);
    });
    return buffer;
  }

  // [batch, columns]: `from` times so many columns of the weight, from `first` on, and x there.
  std::string sum(const std::string& name, const std::string& from, std::int64_t first,
                  std::int64_t columns, bool with_x = true) {
    std::string buffer = expander_.temporary(name, sum_type_, {batch_, columns});
    const Affine k = Affine::symbol("k");
    Element x;
    if (with_x)
      x = [&](const Subscripts& at) {
        return operand(Recurrent::X, {time(), at[0], at[1] + first});
      };
    expander_.accumulate(
        buffer, {{"b", 0, batch_}, {"j", 0, columns}}, {{"k", 0, hidden_}}, ir::Combiner::Sum,
        [&](const Subscripts& at) {
          return mul(load(from, {at[0], k}), operand(Recurrent::Weight, {k, at[1] + first}));
        },
        {}, x);
    return buffer;
  }

  void assign(const std::string& buffer, const Element& element) {
    expander_.assign(buffer, subscripts_of(elements()), elements(), element);
  }

  Expr by(std::size_t which, const Expr& x) const {
    return activated(attributes_.activations.at(which), clipped(x));
  }
  Expr clipped(const Expr& x) const {
    if (attributes_.clip <= 0) return x;
    const Expr low = number(-attributes_.clip), high = number(attributes_.clip);
    const Expr above = choose(is_less(x, low), low, x);  // NaN stays
    return choose(is_less(high, above), high, above);
  }
  Expr is_active(const Subscripts& at) const {
    const Expr length = expander_.read(node_.inputs[Recurrent::Lengths], {at[0]});
    return is_less(ir::make_index(time()), ir::make_cast(DType::I64, length));
  }

  // `value` where the sequence goes on, else what the buffer has.
  void advance(const std::string& buffer, const Element& value) {
    assign(buffer, [&](const Subscripts& at) {
      const Expr next = rounded(value(at));
      return has_input(node_, Recurrent::Lengths)
                 ? choose(is_active(at), next, expander_.load(buffer, at))
                 : next;
    });
  }
  void write_y() {
    expander_.assign(y_, {time(), Affine::symbol("b"), Affine::symbol("n")}, elements(),
                     [&](const Subscripts& at) {
                       const Expr h = expander_.load(h_, {at[0], at[1]});
                       return has_input(node_, Recurrent::Lengths)
                                  ? choose(is_active(at), h, ir::make_literal(type_, 0))
                                  : h;
                     });
  }

  void rnn_step() {
    const std::string s = sum("s", h_, 0, hidden_);
    advance(h_, [&](const Subscripts& at) { return by(0, load(s, at)); });
    write_y();
  }

  void gru_step() {
    const std::int64_t both = 2 * hidden_;
    const bool after = attributes_.reset_after;
    const std::string s = sum("s", h_, 0, both);
    const auto gate = [&](const Subscripts& at, std::int64_t which) {
      return by(0, load(s, {at[0], at[1] + which * hidden_}));
    };
    std::string from = h_;
    if (!after) {
      from = expander_.temporary("m", type_, {batch_, hidden_});
      assign(from, [&](const Subscripts& at) {
        return rounded(mul(gate(at, Recurrent::Reset), load(h_, at)));
      });
    }
    const std::string u = sum("u", from, both, hidden_, !after);
    advance(h_, [&](const Subscripts& at) {
      Expr candidate = load(u, at);
      if (has_input(node_, Recurrent::Bias))
        candidate = add(candidate, operand(Recurrent::Bias, {at[1]}));
      if (after)
        candidate = add(operand(Recurrent::X, {time(), at[0], at[1] + both}),
                        mul(gate(at, Recurrent::Reset), candidate));
      const Expr z = gate(at, Recurrent::Update);
      return add(mul(sub(number(1), z), by(1, candidate)), mul(z, load(h_, at)));
    });
    write_y();
  }

  void lstm_step() {
    const std::string s = sum("s", h_, 0, 4 * hidden_);
    const auto gate = [&](const Subscripts& at, std::int64_t which) {
      Expr own = load(s, {at[0], at[1] + which * hidden_});
      if (which == Recurrent::New || !has_input(node_, Recurrent::Peepholes)) return own;
      return add(own, mul(operand(Recurrent::Peepholes, {at[1] + which * hidden_}), load(c_, at)));
    };
    advance(c_, [&](const Subscripts& at) {
      return add(mul(by(0, gate(at, Recurrent::Forget)), load(c_, at)),
                 mul(by(0, gate(at, Recurrent::In)), by(1, gate(at, Recurrent::New))));
    });
    advance(h_, [&](const Subscripts& at) {
      return mul(by(0, gate(at, Recurrent::Out)),
                 activated(attributes_.activations.at(2), load(c_, at)));
    });
    write_y();
  }
};

}  // namespace

Types infer_recurrence(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 7)) return *no;
  if (auto no = expect_float(graph, node, Recurrent::X)) return *no;
  if (auto no = expect_rank_at_least(graph, node, Recurrent::X, 3)) return *no;
  if (auto no = expect_rank_at_least(graph, node, Recurrent::Weight, 2)) return *no;
  const auto& attributes = std::get<RecurrenceAttributes>(node.attributes);
  const std::size_t functions = attributes.cell == Cell::Rnn   ? 1
                                : attributes.cell == Cell::Gru ? 2
                                                               : 3;
  if (attributes.activations.size() != functions)
    return Decline{"has " + std::to_string(attributes.activations.size()) +
                   " activations, expected " + std::to_string(functions)};
  const TensorType& x = input_type(graph, node, Recurrent::X);
  const std::int64_t steps = x.shape[0], batch = x.shape[1];
  const std::int64_t hidden = input_type(graph, node, Recurrent::Weight).shape[0];
  const std::int64_t columns = gates_of(attributes.cell) * hidden;
  const std::pair<std::size_t, Dims> shapes[] = {{Recurrent::X, {steps, batch, columns}},
                                                 {Recurrent::Weight, {hidden, columns}},
                                                 {Recurrent::H0, {batch, hidden}},
                                                 {Recurrent::C0, {batch, hidden}},
                                                 {Recurrent::Lengths, {batch}},
                                                 {Recurrent::Peepholes, {3 * hidden}},
                                                 {Recurrent::Bias, {hidden}}};
  for (const auto& [input, shape] : shapes) {
    if (!has_input(node, input)) continue;
    if (auto no = expect_shape(graph, node, input, shape)) return *no;
    const DType type = input_type(graph, node, input).dtype;
    const DType expected = input == Recurrent::Lengths ? DType::I64 : x.dtype;
    if (type != expected)
      return Decline{"input " + std::to_string(input) + " is " + std::string(to_string(type)) +
                     ", expected " + std::string(to_string(expected))};
  }
  const TensorType state{x.dtype, {batch, hidden}};
  std::vector<TensorType> types = {{x.dtype, {steps, batch, hidden}}, state};
  if (attributes.cell == Cell::Lstm) types.push_back(state);
  return types;
}

void expand_recurrence(Expander& expander, const Node& node) { Steps(expander, node).run(); }

}  // namespace polyte::graph
