// RNN, GRU and LSTM, unrolled: the products with the inputs of all steps at once, then a few
// element-wise operators and one product with the state for every step. Sequences that are shorter
// than the others keep their state.
//
// Each step is, in the letters of ONNX, with Xt of all steps multiplied beforehand (unroll):
//
//    RNN    Ht = f(Xt W' + H R' + Wb + Rb)
//    GRU    zt, rt = f(Xt W' + H R' + Wb + Rb)
//           ht = g(Xt W' + (rt * H) R' + Rb + Wb), or with linear_before_reset
//           ht = g(Xt W' + rt * (H R' + Rb) + Wb)
//           Ht = (1 - zt) * ht + zt * H
//    LSTM   it, ft = f(Xt W' + H R' + P * C + Wb + Rb)      ct = g(Xt W' + H R' + Wb + Rb)
//           Ct = ft * C + it * ct
//           ot = f(Xt W' + H R' + P * Ct + Wb + Rb)         Ht = ot * h(Ct)
//
// where H and C are those of the step before, and each gate has rows of its own in W, R, P and the
// biases.
#include <algorithm>

#include "frontend/importers/build.h"
#include "frontend/importers/table.h"

namespace polyte::frontend {

namespace {

// A graph has no loops (graph/graph.h), so each step is nodes of its own.
constexpr std::int64_t kMostSteps = 512;

enum class Cell { Rnn, Gru, Lstm };

struct Sizes {
  std::int64_t steps, batch, inputs, hidden, directions, gates;
};

struct State {
  ValueId h, c;
};

class Recurrence {
 public:
  Recurrence(NodeContext& c, Cell cell) : c_(c), b_(c), cell_(cell) {}
  void run();

 private:
  void read_attributes();
  void read_sizes();
  void expect(std::size_t input, const Dims& shape) const;
  ValueId activated(std::size_t which, ValueId x) const;
  ValueId clipped(ValueId x) const;
  ValueId part(ValueId x, std::int64_t gate) const {
    return b_.slice(x, 1, gate * s_.hidden, s_.hidden);
  }
  ValueId of_direction(std::size_t input, std::int64_t d) const;
  ValueId initial(std::size_t input, std::int64_t d) const;
  void unroll(std::int64_t d);
  State step(const State& before, ValueId x, std::int64_t d) const;
  ValueId bias_part(std::int64_t d, std::int64_t gate) const;
  State rnn_step(const State& before, ValueId x) const;
  State gru_step(const State& before, ValueId x, std::int64_t d) const;
  State lstm_step(const State& before, ValueId x, std::int64_t d) const;
  void finish(std::size_t output, const std::vector<ValueId>& states);

  NodeContext& c_;
  Build b_;
  Cell cell_;
  Sizes s_{};
  std::string direction_;
  std::vector<std::string> activations_;
  double clip_ = 0;
  bool batch_first_ = false, reset_after_ = false;
  ValueId x_ = graph::kNoValue;  // [steps, batch, inputs]
  // Of the direction that is being unrolled: [hidden, gates * hidden].
  ValueId recurrent_ = graph::kNoValue;
  std::vector<std::vector<ValueId>> outputs_;  // by direction, by step: [batch, hidden]
  std::vector<State> last_;
};

void Recurrence::read_attributes() {
  direction_ = c_.text("direction", "forward");
  if (direction_ != "forward" && direction_ != "reverse" && direction_ != "bidirectional")
    throw Invalid{"direction is '" + direction_ + "', expected forward, reverse or bidirectional"};
  s_.directions = direction_ == "bidirectional" ? 2 : 1;
  if (c_.has_attribute("activations")) {
    for (const auto& attribute : c_.node().attribute()) {
      if (attribute.name() == "activations")
        activations_.assign(attribute.strings().begin(), attribute.strings().end());
    }
  }
  const std::vector<std::string> kDefaults[] = {
      {"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
  const std::vector<std::string>& defaults = kDefaults[static_cast<int>(cell_)];
  if (activations_.empty()) {
    for (std::int64_t d = 0; d < s_.directions; ++d)
      activations_.insert(activations_.end(), defaults.begin(), defaults.end());
  }
  if (activations_.size() != defaults.size() * static_cast<std::size_t>(s_.directions))
    throw Invalid{"has " + std::to_string(activations_.size()) + " activations, expected " +
                  std::to_string(defaults.size() * static_cast<std::size_t>(s_.directions))};
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (c_.has_attribute(name))
      throw Unsupported{std::string("attribute '") + name + "': supported are the defaults"};
  }
  clip_ = c_.real("clip", 0);
  batch_first_ = c_.flag("layout", false);
  if (cell_ == Cell::Gru) reset_after_ = c_.flag("linear_before_reset", false);
  if (cell_ == Cell::Lstm && c_.flag("input_forget", false))
    throw Unsupported{"input_forget is 1, expected 0"};
  c_.ignore("output_sequence");  // an output is computed where it is named
}

void Recurrence::expect(std::size_t input, const Dims& shape) const {
  if (!c_.has_input(input)) return;
  const Dims& got = c_.type(c_.input(input)).shape;
  if (got != shape)
    throw Invalid{"input " + std::to_string(input) + " has shape " + dims_text(got) +
                  ", expected " + dims_text(shape)};
}

void Recurrence::read_sizes() {
  x_ = c_.input(0);
  if (batch_first_) x_ = b_.transpose(x_, {1, 0, 2});
  const Dims x = c_.type(x_).shape, w = c_.type(c_.input(1)).shape;
  if (x.size() != 3 || w.size() != 3) throw Invalid{"X or W is not of rank 3"};
  s_.gates = cell_ == Cell::Rnn ? 1 : cell_ == Cell::Gru ? 3 : 4;
  s_ = {x[0], x[1], x[2], w[1] / s_.gates, s_.directions, s_.gates};
  if (c_.integer("hidden_size", s_.hidden) != s_.hidden)
    throw Invalid{"hidden_size is " + std::to_string(c_.integer("hidden_size", 0)) + ", W is for " +
                  std::to_string(s_.hidden)};
  const std::int64_t rows = s_.gates * s_.hidden;
  expect(1, {s_.directions, rows, s_.inputs});
  expect(2, {s_.directions, rows, s_.hidden});
  expect(3, {s_.directions, 2 * rows});
  expect(4, {s_.batch});
  const Dims state = batch_first_ ? Dims{s_.batch, s_.directions, s_.hidden}
                                  : Dims{s_.directions, s_.batch, s_.hidden};
  expect(5, state);
  if (cell_ == Cell::Lstm) expect(6, state);
  if (cell_ == Cell::Lstm) expect(7, {s_.directions, 3 * s_.hidden});
  if (s_.steps > kMostSteps)
    throw Unsupported{"has " + std::to_string(s_.steps) + " steps: supported are up to " +
                      std::to_string(kMostSteps)};
  if (s_.steps == 0) throw Unsupported{"has no steps"};
}

ValueId Recurrence::activated(std::size_t which, ValueId x) const {
  static const std::pair<const char*, OpKind> kPlain[] = {{"Sigmoid", OpKind::Sigmoid},
                                                          {"Tanh", OpKind::Tanh},
                                                          {"Relu", OpKind::Relu},
                                                          {"Softsign", OpKind::Softsign},
                                                          {"Softplus", OpKind::Softplus}};
  const std::string& name = activations_[which];
  for (const auto& [known, op] : kPlain) {
    if (name == known) return b_.unary(op, x);
  }
  if (name == "HardSigmoid")
    return c_.emit(OpKind::HardSigmoid, graph::ActivationAttributes{0.2, 0.5}, {x});
  if (name == "LeakyRelu")
    return c_.emit(OpKind::LeakyRelu, graph::ActivationAttributes{0.01, 0}, {x});
  if (name == "Elu") return c_.emit(OpKind::Elu, graph::ActivationAttributes{1, 0}, {x});
  throw Unsupported{
      "activation '" + name.substr(0, 40) +
      "': supported are Sigmoid Tanh Relu Softsign Softplus HardSigmoid LeakyRelu Elu"};
}

ValueId Recurrence::clipped(ValueId x) const {
  return clip_ > 0 ? b_.clip(x, b_.number(x, -clip_), b_.number(x, clip_)) : x;
}

// Slice d of an operand whose first dimension are the directions.
ValueId Recurrence::of_direction(std::size_t input, std::int64_t d) const {
  const ValueId all = c_.input(input);
  const Dims shape = c_.type(all).shape;
  return c_.reshape(b_.slice(all, 0, d, 1), Dims(shape.begin() + 1, shape.end()));
}

ValueId Recurrence::initial(std::size_t input, std::int64_t d) const {
  if (!c_.has_input(input)) return b_.expand(b_.number(x_, 0), {s_.batch, s_.hidden});
  return c_.reshape(b_.slice(c_.input(input), batch_first_ ? 1 : 0, d, 1), {s_.batch, s_.hidden});
}

// The recurrent bias of one gate.
ValueId Recurrence::bias_part(std::int64_t d, std::int64_t gate) const {
  return b_.slice(of_direction(3, d), 0, (s_.gates + gate) * s_.hidden, s_.hidden);
}

State Recurrence::rnn_step(const State& before, ValueId x) const {
  const ValueId sum = b_.add(x, b_.binary(OpKind::MatMul, before.h, recurrent_));
  // Activations are listed direction by direction; unroll() has begun the outputs of this one.
  return {activated(outputs_.size() - 1, clipped(sum)), graph::kNoValue};
}

// Gates in the order z, r, h.
State Recurrence::gru_step(const State& before, ValueId x, std::int64_t d) const {
  const std::size_t f = 2 * (outputs_.size() - 1);
  const std::int64_t both = 2 * s_.hidden;
  const ValueId by_gates = b_.binary(OpKind::MatMul, before.h, b_.slice(recurrent_, 1, 0, both));
  const ValueId zr = activated(f, clipped(b_.add(b_.slice(x, 1, 0, both), by_gates)));
  const ValueId z = part(zr, 0), r = part(zr, 1), weight = b_.slice(recurrent_, 1, both, s_.hidden);
  ValueId recurrent = graph::kNoValue;
  if (reset_after_) {
    ValueId inner = b_.binary(OpKind::MatMul, before.h, weight);
    if (c_.has_input(3)) inner = b_.add(inner, bias_part(d, 2));
    recurrent = b_.mul(r, inner);
  } else {
    recurrent = b_.binary(OpKind::MatMul, b_.mul(r, before.h), weight);
    if (c_.has_input(3)) recurrent = b_.add(recurrent, bias_part(d, 2));
  }
  const ValueId h = activated(f + 1, clipped(b_.add(part(x, 2), recurrent)));
  return {b_.add(b_.mul(b_.sub(b_.number(z, 1), z), h), b_.mul(z, before.h)), graph::kNoValue};
}

// Gates in the order i, o, f, c; peepholes in the order i, o, f.
State Recurrence::lstm_step(const State& before, ValueId x, std::int64_t d) const {
  const std::size_t f = 3 * (outputs_.size() - 1);
  const ValueId sum = b_.add(x, b_.binary(OpKind::MatMul, before.h, recurrent_));
  const auto peephole = [&](std::int64_t gate, ValueId state) {
    const ValueId own = part(sum, gate);
    if (!c_.has_input(7)) return own;
    return b_.add(own, b_.mul(b_.slice(of_direction(7, d), 0, gate * s_.hidden, s_.hidden), state));
  };
  const ValueId input = activated(f, clipped(peephole(0, before.c)));
  const ValueId forget = activated(f, clipped(peephole(2, before.c)));
  const ValueId candidate = activated(f + 1, clipped(part(sum, 3)));
  const ValueId cell = b_.add(b_.mul(forget, before.c), b_.mul(input, candidate));
  const ValueId output = activated(f, clipped(peephole(1, cell)));
  return {b_.mul(output, activated(f + 2, cell)), cell};
}

State Recurrence::step(const State& before, ValueId x, std::int64_t d) const {
  if (cell_ == Cell::Rnn) return rnn_step(before, x);
  return cell_ == Cell::Gru ? gru_step(before, x, d) : lstm_step(before, x, d);
}

void Recurrence::unroll(std::int64_t d) {
  outputs_.emplace_back(static_cast<std::size_t>(s_.steps));
  const std::int64_t rows = s_.gates * s_.hidden;
  recurrent_ = b_.transpose(of_direction(2, d), {1, 0});
  ValueId from_inputs = b_.binary(OpKind::MatMul, x_, b_.transpose(of_direction(1, d), {1, 0}));
  if (c_.has_input(3)) {
    const ValueId bias = of_direction(3, d);
    from_inputs = b_.add(from_inputs, b_.slice(bias, 0, 0, rows));
    // The h gate's is added after its product.
    const std::int64_t summed = cell_ == Cell::Gru ? 2 * s_.hidden : rows;
    ValueId second = b_.slice(bias, 0, rows, summed);
    if (summed < rows)
      second = b_.concat({second, b_.expand(b_.number(bias, 0), {rows - summed})}, 0);
    from_inputs = b_.add(from_inputs, second);
  }
  State state{initial(5, d), cell_ == Cell::Lstm ? initial(6, d) : graph::kNoValue};
  // A short sequence begins backwards at its own end: until then its state is the initial one.
  const bool backwards = direction_ == "reverse" || d == 1;
  const ValueId zero = b_.number(x_, 0);
  for (std::int64_t i = 0; i < s_.steps; ++i) {
    const std::int64_t t = backwards ? s_.steps - 1 - i : i;
    const ValueId x = c_.reshape(b_.slice(from_inputs, 0, t, 1), {s_.batch, rows});
    State next = step(state, x, d);
    ValueId output = next.h;
    if (c_.has_input(4)) {
      const ValueId length = c_.reshape(c_.cast(c_.input(4), DType::I64), {s_.batch, 1});
      const ValueId active = b_.less(b_.scalar(DType::I64, static_cast<double>(t)), length);
      next.h = b_.where(active, next.h, state.h);
      if (cell_ == Cell::Lstm) next.c = b_.where(active, next.c, state.c);
      output = b_.where(active, output, zero);
    }
    outputs_.back()[static_cast<std::size_t>(t)] = output;
    state = next;
  }
  last_.push_back(state);
}

// States by direction: [directions, batch, hidden], or with the batch first.
void Recurrence::finish(std::size_t output, const std::vector<ValueId>& states) {
  if (!c_.wants_output(output)) return;
  std::vector<ValueId> parts;
  const Dims shape = batch_first_ ? Dims{s_.batch, 1, s_.hidden} : Dims{1, s_.batch, s_.hidden};
  for (ValueId state : states) parts.push_back(c_.reshape(state, shape));
  c_.finish_output(output, b_.concat(parts, batch_first_ ? 1 : 0));
}

void Recurrence::run() {
  read_attributes();
  read_sizes();
  for (std::int64_t d = 0; d < s_.directions; ++d) unroll(d);
  if (c_.wants_output(0)) {
    std::vector<ValueId> steps;
    for (std::int64_t t = 0; t < s_.steps; ++t) {
      std::vector<ValueId> both;
      for (const auto& direction : outputs_)
        both.push_back(
            c_.reshape(direction[static_cast<std::size_t>(t)], {1, 1, s_.batch, s_.hidden}));
      steps.push_back(b_.concat(both, 1));
    }
    const ValueId all = b_.concat(steps, 0);
    c_.finish_output(0, batch_first_ ? b_.transpose(all, {2, 0, 1, 3}) : all);
  }
  std::vector<ValueId> h, cells;
  for (const State& state : last_) {
    h.push_back(state.h);
    cells.push_back(state.c);
  }
  finish(1, h);
  if (cell_ == Cell::Lstm) finish(2, cells);
}

}  // namespace

static void import_rnn(NodeContext& c) { Recurrence(c, Cell::Rnn).run(); }
static void import_gru(NodeContext& c) { Recurrence(c, Cell::Gru).run(); }
static void import_lstm(NodeContext& c) { Recurrence(c, Cell::Lstm).run(); }

Rows recurrent_rows() {
  static constexpr std::string_view kRecurrent =
      "up to 512 steps, activations with their default parameters, input_forget 0";
  static constexpr Row kRows[] = {
      {"GRU", 3, import_gru, kRecurrent},
      {"LSTM", 1, import_lstm, kRecurrent},
      {"RNN", 1, import_rnn, kRecurrent},
  };
  return kRows;
}

}  // namespace polyte::frontend
