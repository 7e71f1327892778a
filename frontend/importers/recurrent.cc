// RNN, GRU and LSTM: the products with the inputs of all steps at once, with all biases that no
// gate multiplies, then a Recurrence for each direction.
#include "frontend/importers/build.h"
#include "frontend/importers/table.h"

namespace polyte::frontend {

namespace {

using graph::Cell;
using graph::GateActivation;

struct Sizes {
  std::int64_t steps, batch, inputs, hidden, directions, gates;
};

// The functions that gates may have, with the parameters that ONNX gives them.
constexpr std::pair<const char*, GateActivation> kGateActivations[] = {
    {"Sigmoid", {OpKind::Sigmoid}},
    {"Tanh", {OpKind::Tanh}},
    {"Relu", {OpKind::Relu}},
    {"Softsign", {OpKind::Softsign}},
    {"Softplus", {OpKind::Softplus}},
    {"HardSigmoid", {OpKind::HardSigmoid, 0.2, 0.5}},
    {"LeakyRelu", {OpKind::LeakyRelu, 0.01, 0}},
    {"Elu", {OpKind::Elu, 1, 0}},
};

class Recurrence {
 public:
  Recurrence(NodeContext& c, Cell cell) : c_(c), b_(c), cell_(cell) {}
  void run();

 private:
  void read_attributes();
  void read_sizes();
  void expect(std::size_t input, const Dims& shape) const;
  GateActivation activation(std::size_t which) const;
  ValueId of_direction(std::size_t input, std::int64_t d) const;
  ValueId initial(std::size_t input, std::int64_t d) const;
  ValueId products_with_inputs(std::int64_t d) const;
  void add(std::int64_t d);
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
  // By direction: [steps, batch, hidden], and the states behind the last step.
  std::vector<ValueId> y_, h_, cells_;
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
  s_.gates = graph::gates_of(cell_);
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
  if (s_.steps == 0) throw Unsupported{"has no steps"};
}

GateActivation Recurrence::activation(std::size_t which) const {
  const std::string& name = activations_[which];
  std::string all;
  for (const auto& [known, activation] : kGateActivations) {
    if (name == known) return activation;
    all += std::string(" ") + known;
  }
  throw Unsupported{"activation '" + name.substr(0, 40) + "': supported are" + all};
}

// Slice d of an operand whose first dimension are the directions.
ValueId Recurrence::of_direction(std::size_t input, std::int64_t d) const {
  const ValueId all = c_.input(input);
  const Dims shape = c_.type(all).shape;
  return c_.reshape(b_.slice(all, 0, d, 1), Dims(shape.begin() + 1, shape.end()));
}

ValueId Recurrence::initial(std::size_t input, std::int64_t d) const {
  if (!c_.has_input(input)) return graph::kNoValue;
  return c_.reshape(b_.slice(c_.input(input), batch_first_ ? 1 : 0, d, 1), {s_.batch, s_.hidden});
}

ValueId Recurrence::products_with_inputs(std::int64_t d) const {
  const std::int64_t rows = s_.gates * s_.hidden;
  ValueId products = b_.binary(OpKind::MatMul, x_, b_.transpose(of_direction(1, d), {1, 0}));
  if (!c_.has_input(3)) return products;
  const ValueId bias = of_direction(3, d);
  products = b_.add(products, b_.slice(bias, 0, 0, rows));
  // The second one of a GRU's candidate is added after its product.
  const std::int64_t summed = cell_ == Cell::Gru ? 2 * s_.hidden : rows;
  ValueId second = b_.slice(bias, 0, rows, summed);
  if (summed < rows)
    second = b_.concat({second, b_.expand(b_.number(bias, 0), {rows - summed})}, 0);
  return b_.add(products, second);
}

void Recurrence::add(std::int64_t d) {
  graph::RecurrenceAttributes attributes{.cell = cell_,
                                         .backwards = direction_ == "reverse" || d == 1,
                                         .reset_after = reset_after_,
                                         .clip = clip_};
  const std::size_t each = activations_.size() / static_cast<std::size_t>(s_.directions);
  for (std::size_t i = 0; i < each; ++i)
    attributes.activations.push_back(activation(static_cast<std::size_t>(d) * each + i));
  const bool is_lstm = cell_ == Cell::Lstm;
  ValueId lengths = graph::kNoValue, peepholes = graph::kNoValue, bias = graph::kNoValue;
  if (c_.has_input(4)) lengths = c_.cast(c_.input(4), DType::I64);
  if (is_lstm && c_.has_input(7)) peepholes = of_direction(7, d);
  if (cell_ == Cell::Gru && c_.has_input(3))
    bias = b_.slice(of_direction(3, d), 0, (2 * s_.gates - 1) * s_.hidden, s_.hidden);
  const std::vector<ValueId> outputs =
      c_.emit_all(OpKind::Recurrence, std::move(attributes),
                  {products_with_inputs(d), b_.transpose(of_direction(2, d), {1, 0}), initial(5, d),
                   is_lstm ? initial(6, d) : graph::kNoValue, lengths, peepholes, bias},
                  is_lstm ? 3 : 2);
  y_.push_back(outputs[0]);
  h_.push_back(outputs[1]);
  if (is_lstm) cells_.push_back(outputs[2]);
}

// States by direction: [directions, batch, hidden], or with the batch first.
void Recurrence::finish(std::size_t output, const std::vector<ValueId>& states) {
  if (!c_.wants_output(output)) return;
  std::vector<ValueId> parts;
  const Dims shape = batch_first_ ? Dims{s_.batch, 1, s_.hidden} : Dims{1, s_.batch, s_.hidden};
  for (const ValueId state : states) parts.push_back(c_.reshape(state, shape));
  c_.finish_output(output, b_.concat(parts, batch_first_ ? 1 : 0));
}

void Recurrence::run() {
  read_attributes();
  read_sizes();
  for (std::int64_t d = 0; d < s_.directions; ++d) add(d);
  if (c_.wants_output(0)) {
    std::vector<ValueId> parts;
    for (const ValueId y : y_) parts.push_back(c_.reshape(y, {s_.steps, 1, s_.batch, s_.hidden}));
    const ValueId all = b_.concat(parts, 1);
    c_.finish_output(0, batch_first_ ? b_.transpose(all, {2, 0, 1, 3}) : all);
  }
  finish(1, h_);
  if (cell_ == Cell::Lstm) finish(2, cells_);
}

}  // namespace

static void import_rnn(NodeContext& c) { Recurrence(c, Cell::Rnn).run(); }
static void import_gru(NodeContext& c) { Recurrence(c, Cell::Gru).run(); }
static void import_lstm(NodeContext& c) { Recurrence(c, Cell::Lstm).run(); }

Rows recurrent_rows() {
  static constexpr std::string_view kRecurrent =
      "activations with their default parameters, input_forget 0";
  static constexpr Row kRows[] = {
      {"GRU", 3, import_gru, kRecurrent},
      {"LSTM", 1, import_lstm, kRecurrent},
      {"RNN", 1, import_rnn, kRecurrent},
  };
  return kRows;
}

}  // namespace polyte::frontend
