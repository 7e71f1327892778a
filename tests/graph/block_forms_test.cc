// Which operators have a form on values in blocks of channels, and the reason where one has none.
#include "graph/layouts/block_forms.h"

#include <doctest/doctest.h>

#include "graph/expander.h"
#include "ir/program_text.h"
#include "tests/graph/pass_testing.h"

namespace polyte::graph {

using namespace testing;

namespace {

ConvAttributes conv_1x1(std::int64_t group = 1) {
  return {.window = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, .group = group, .output_padding = {}};
}

ValueId numbers(Graph& graph, Dims shape) {
  return graph.add_constant("c", random_integers(f32(std::move(shape)), 1));
}

// Why the last node has no form in blocks of four; empty if it has one.
std::string why_not(const Graph& graph) {
  const BlockForms forms(graph, 4);
  const auto last = static_cast<NodeId>(graph.nodes.size()) - 1;
  return forms.has(last) ? "" : forms.of(last).error().reason;
}

std::string why_not(OpKind op, Attributes attributes, const Dims& shape,
                    std::vector<Dims> constants = {}) {
  Graph graph;
  std::vector<ValueId> inputs = {graph.add_input("x", f32(shape))};
  for (Dims& dims : constants) inputs.push_back(numbers(graph, std::move(dims)));
  add(graph, "y", op, std::move(attributes), inputs);
  return why_not(graph);
}

}  // namespace

TEST_CASE("operators that keep channels apart have a form in blocks") {
  const Window window{{2, 2}, {2, 2}, {1, 1}, {1, 0}, {0, 1}};
  CHECK(why_not(OpKind::MaxPool, PoolAttributes{.window = window}, {1, 6, 5, 5}) == "");
  CHECK(why_not(OpKind::AveragePool, PoolAttributes{.window = window}, {1, 6, 5, 5}) == "");
  CHECK(why_not(OpKind::GlobalAveragePool, NoAttributes{}, {1, 6, 5, 5}) == "");
  CHECK(why_not(OpKind::ReduceMax, ReduceAttributes{{3}, true}, {1, 6, 5, 5}) == "");
  CHECK(why_not(OpKind::Relu, NoAttributes{}, {1, 6, 5}) == "");
  CHECK(why_not(OpKind::Add, NoAttributes{}, {1, 6, 5, 5}, {{6, 1, 1}}) == "");
  CHECK(why_not(OpKind::Slice, SliceAttributes{{0, 4, 1, 0}, {1, 1, 1, 2}, {1, 2, 3, 2}},
                {1, 6, 5, 5}) == "");
  CHECK(why_not(OpKind::Pad, PadAttributes{{0, 0, 1, 1}, {0, 0, 0, 0}}, {1, 6, 5, 5}) == "");
  CHECK(why_not(OpKind::Conv, conv_1x1(), {1, 6, 5, 5}, {{3, 6, 1, 1}}) == "");
  CHECK(why_not(OpKind::Conv, conv_1x1(6), {1, 6, 5, 5}, {{6, 1, 1, 1}}) == "");
  CHECK(why_not(OpKind::Conv, conv_1x1(2), {1, 16, 5, 5}, {{8, 8, 1, 1}}) == "");
}

TEST_CASE("what has none says why") {
  CHECK(why_not(OpKind::Softmax, SoftmaxAttributes{1, 2}, {1, 6, 5, 5}) == "works across channels");
  CHECK(why_not(OpKind::ReduceMax, ReduceAttributes{{1}, true}, {1, 6, 5, 5}) ==
        "works across channels");
  CHECK(why_not(OpKind::ReduceMax, ReduceAttributes{{3}, false}, {1, 6, 5, 5}) ==
        "drops some of the spatial dimensions");
  CHECK(why_not(OpKind::Relu, NoAttributes{}, {6, 5}) ==
        "its input has no channels and spatial dimensions");
  CHECK(why_not(OpKind::Conv, conv_1x1(), {1, 6, 5, 5}, {{1, 6, 1, 1}}) == "gives one channel");
  CHECK(why_not(OpKind::Conv, conv_1x1(2), {1, 6, 5, 5}, {{4, 3, 1, 1}}) ==
        "groups of 3 to 2 channels do not fit in blocks of 4");
  CHECK(why_not(OpKind::Slice, SliceAttributes{{0, 2, 0, 0}, {1, 1, 1, 1}, {1, 4, 5, 5}},
                {1, 6, 5, 5}) == "channels 2 to 6 are not whole blocks");
  CHECK(why_not(OpKind::Pad, PadAttributes{{0, 1, 0, 0}, {0, 0, 0, 0}}, {1, 6, 5, 5}) ==
        "pads channels");
  CHECK(why_not(OpKind::Concat, AxisAttributes{1}, {1, 6, 5, 5}, {{1, 2, 5, 5}}) ==
        "an operand of 6 channels does not end with a block of 4");
}

TEST_CASE("weights that are no constants stay as they are") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 8, 5, 5})),
                w = graph.add_input("w", f32({8, 8, 1, 1}));
  add(graph, "y", OpKind::Conv, conv_1x1(), {x, w});
  CHECK(why_not(graph) == "its weights are not constants");
}

TEST_CASE("padding must stay finite") {
  // 1 / 0 would be multiplied by a weight of zero.
  CHECK(why_not(OpKind::Reciprocal, NoAttributes{}, {1, 6, 5, 5}) ==
        "what it leaves in the padding of 6 channels is not known");
  CHECK(why_not(OpKind::Reciprocal, NoAttributes{}, {1, 8, 5, 5}) == "");
  CHECK(why_not(OpKind::Div, NoAttributes{}, {1, 6, 5, 5}, {{1, 6, 1, 1}}) ==
        "what it leaves in the padding of 6 channels is not known");
  // A window might meet nothing but padding: minus infinity.
  const Window outside{{2, 2}, {1, 1}, {3, 3}, {1, 1}, {1, 1}};
  CHECK(why_not(OpKind::MaxPool, PoolAttributes{.window = outside}, {1, 6, 5, 5}) ==
        "what it leaves in the padding of 6 channels is not known");
  // Sigmoid leaves a half, a product with a zero is zero again, a product of halves is
  // not followed.
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 6, 5, 5}));
  const ValueId half = add(graph, "half", OpKind::Sigmoid, NoAttributes{}, {x});
  add(graph, "swish", OpKind::Mul, NoAttributes{}, {x, half});
  CHECK(why_not(graph) == "");
  add(graph, "square", OpKind::Mul, NoAttributes{}, {half, half});
  CHECK(why_not(graph) == "what it leaves in the padding of 6 channels is not known");
}

// A made-up operator: the element where its width is even, else 0. Its row, in Relu's place,
// says nothing of it.
void expand_even(Expander& expander, const Node& node) {
  expander.define(node.outputs[0], [&](const Subscripts& at) {
    const ir::Expr x = expander.read(node.inputs[0], at);
    const ir::Expr rest = ir::make_index(at.back() - floor_div(at.back(), 2) * 2);
    return ir::make_select(ir::make_binary(ir::BinaryOp::Lt, rest, ir::make_int(DType::I64, 1)), x,
                           ir::make_literal(x->type, 0));
  });
}

TEST_CASE("an operator whose row promises nothing stays where it is, and so do its operands") {
  std::vector<OpInfo> table(all_operators().begin(), all_operators().end());
  OpInfo& made_up = table[static_cast<std::size_t>(OpKind::Relu)];
  made_up = {OpKind::Relu, "Even", OpPattern::ElemWise, made_up.infer, expand_even};
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 8, 2, 4}));
  const ValueId negated = add(graph, "negated", OpKind::Neg, NoAttributes{}, {x});
  const ValueId y = add(graph, "y", OpKind::Relu, NoAttributes{}, {negated});
  graph.outputs = {y};

  // Layouts: another place of an element would be another result. The promise would let it through.
  const BlockForms forms(graph, 4, std::nullopt, table);
  CHECK(forms.has(0));
  REQUIRE_FALSE(forms.has(1));
  CHECK(forms.of(1).error().reason == "what an element becomes depends on where it is");
  made_up.traits.depends_on_position = false;
  CHECK(BlockForms(graph, 4, std::nullopt, table).has(1));
  made_up.traits.depends_on_position = true;

  // Expansion: its operand is computed once, into a buffer; a number is read from a buffer, too.
  const NodeId both[] = {0, 1};
  CHECK(ir::print(Expander(graph, both, "group", table).run().program) ==
        "program group()\n"
        "  in    x: f32[1, 8, 2, 4]\n  out   y: f32[1, 8, 2, 4]\n  temp  negated: f32[1, 8, 2, 4]\n"
        "\n  negated[n, c, h, w] = -x[n, c, h, w]  for n in 0..1, c in 0..8, h in 0..2, w in 0..4\n"
        "  y[n, c, h, w] = select(i64(w "
        "% 2) < 1, negated[n, c, h, w], 0)  for n in 0..1, c in 0..8, h in 0..2, w in 0..4\n");
  const ValueId one = graph.add_constant("one", make_tensor(f32({1, 1, 1, 1}), {1.0}));
  add(graph, "z", OpKind::Relu, NoAttributes{}, {one});
  const NodeId last[] = {2};
  CHECK(ir::print(Expander(graph, last, "number", table).run().program)
            .find("const one: f32[1, 1, 1, 1]") != std::string::npos);
}

TEST_CASE("a convolution in blocks refuses operands that do not fit") {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 2, 5, 5, 4}));
  const auto refusal = [&](ConvAttributes conv, Dims weight, std::int64_t input_block,
                           std::int64_t output_block) {
    conv.input_block = input_block;
    conv.output_block = output_block;
    const Node node{"y", OpKind::Conv, conv, {x, numbers(graph, std::move(weight))}, {}};
    const auto types = infer_types(graph, node);
    return types ? to_string((*types)[0]) : types.error().reason;
  };
  CHECK(refusal(conv_1x1(), {3, 8, 1, 1, 4}, 4, 4) == "f32[1, 3, 5, 5, 4]");
  CHECK(refusal(conv_1x1(8), {2, 1, 1, 1, 4}, 4, 4) == "f32[1, 2, 5, 5, 4]");
  CHECK(refusal(conv_1x1(), {3, 8, 1, 1, 4}, 2, 4) ==
        "the input lies in blocks of 2, the output of 4");
  CHECK(refusal(conv_1x1(), {3, 8, 1, 1, 2}, 4, 4) ==
        "weight has shape [3, 8, 1, 1, 2], expected blocks of 4");
  CHECK(refusal(conv_1x1(4), {2, 2, 1, 1, 4}, 4, 4) ==
        "groups of 2 to 2 channels do not fit in blocks of 4");
}

}  // namespace polyte::graph
