// Text of a Graph, one line per value or node.
#include <sstream>

#include "graph/attribute_text.h"
#include "graph/graph.h"
#include "graph/op.h"

namespace polyte::graph {

namespace {

// "3x3"; "-" where there are none.
std::string list(const Dims& dims, const char* separator = "x") {
  std::string text;
  for (std::size_t i = 0; i < dims.size(); ++i)
    text += (i ? separator : "") + std::to_string(dims[i]);
  return text.empty() ? "-" : text;
}

void add_window(AttributeText& text, const Window& window) {
  text.add("kernel", list(window.kernel)).add("strides", list(window.strides));
  text.add("dilations", list(window.dilations))
      .add("pads", list(window.pads_begin) + ":" + list(window.pads_end));
}

}  // namespace

void NoAttributes::print(AttributeText&) const {}
void ActivationAttributes::print(AttributeText& text) const {
  text.add("alpha", alpha).add("beta", beta);
}
void InfAttributes::print(AttributeText& text) const {
  text.add("negative", negative).add("positive", positive);
}
void CastAttributes::print(AttributeText& text) const { text.add("to", polyte::to_string(to)); }
void ConvAttributes::print(AttributeText& text) const {
  add_window(text, window);
  text.add("group", group);
  if (!output_padding.empty()) text.add("output_padding", list(output_padding));
  if (output_block != 0)
    text.add("blocks", std::to_string(input_block) + "->" + std::to_string(output_block));
}
void PoolAttributes::print(AttributeText& text) const {
  add_window(text, window);
  text.flag("ceil_mode", ceil_mode).flag("count_include_pad", count_include_pad);
  text.flag("column_major_indices", column_major_indices);
}
void GemmAttributes::print(AttributeText& text) const {
  text.add("alpha", alpha).add("beta", beta).flag("trans_a", trans_a).flag("trans_b", trans_b);
}
void AxisAttributes::print(AttributeText& text) const { text.add("axis", axis); }
void SoftmaxAttributes::print(AttributeText& text) const { text.add("axis", axis).add("end", end); }
void ReduceAttributes::print(AttributeText& text) const {
  text.add("axes", list(axes, ",")).add("keep_dims", keep_dims);
}
void ArgAttributes::print(AttributeText& text) const {
  text.add("axis", axis).add("keep_dims", keep_dims).flag("select_last", select_last);
}
void CumSumAttributes::print(AttributeText& text) const {
  text.add("axis", axis).flag("exclusive", exclusive).flag("reverse", reverse);
  if (block > 0) text.add("block", block);
}
void TopKAttributes::print(AttributeText& text) const {
  text.add("axis", axis).add("k", k).add("largest", largest);
}
void RecurrenceAttributes::print(AttributeText& text) const {
  static constexpr const char* kCells[] = {"RNN", "GRU", "LSTM"};
  std::string all;
  for (const auto& [op, alpha, beta] : activations)
    all += (all.empty() ? "" : ",") + std::string(to_string(op));
  text.add("cell", kCells[static_cast<int>(cell)]).add("activations", all);
  text.flag("backwards", backwards).flag("reset_after", reset_after);
  if (clip > 0) text.add("clip", clip);
}
void GatherNDAttributes::print(AttributeText& text) const { text.add("batch_dims", batch_dims); }
void ScatterAttributes::print(AttributeText& text) const {
  static constexpr const char* kReductions[] = {"none", "add", "mul", "max", "min"};
  text.add("axis", axis).add("reduction", kReductions[static_cast<int>(reduction)]);
}
void EinsumAttributes::print(AttributeText& text) const {
  std::string all;
  for (const Dims& labels : inputs) all += (all.empty() ? "" : ";") + list(labels, ",");
  text.add("labels", all + "->" + list(output, ","));
}
void ShapeAttributes::print(AttributeText& text) const { text.add("shape", list(shape)); }
void TransposeAttributes::print(AttributeText& text) const { text.add("perm", list(perm, ",")); }
void SliceAttributes::print(AttributeText& text) const {
  text.add("starts", list(starts, ","))
      .add("steps", list(steps, ","))
      .add("sizes", list(sizes, ","));
}
void PadAttributes::print(AttributeText& text) const {
  static constexpr const char* kModes[] = {"constant", "reflect", "edge", "wrap"};
  text.add("begin", list(begin, ","))
      .add("end", list(end, ","))
      .add("mode", kModes[static_cast<int>(mode)]);
}
void TileAttributes::print(AttributeText& text) const { text.add("repeats", list(repeats, ",")); }
void NormAttributes::print(AttributeText& text) const {
  text.add("epsilon", epsilon).add("axis", axis);
}
void LrnAttributes::print(AttributeText& text) const {
  text.add("alpha", alpha).add("beta", beta).add("bias", bias).add("size", size);
}

namespace {

std::string name_of(const Graph& graph, ValueId id) {
  return id == kNoValue ? "-" : "%" + graph.value(id).name;
}

}  // namespace

std::string print_attributes(const Attributes& attributes) {
  AttributeText text;
  std::visit([&](const auto& own) { own.print(text); }, attributes);
  return text.text();
}

std::string print(const Graph& graph) {
  std::ostringstream out;
  out << "graph " << graph.name << '\n';
  for (ValueId id : graph.inputs)
    out << "  in    %" << graph.value(id).name << ": " << to_string(graph.value(id).type) << '\n';
  for (const Value& value : graph.values) {
    if (value.data) out << "  const %" << value.name << ": " << to_string(value.type) << '\n';
  }
  for (const Node& node : graph.nodes) {
    out << "  ";
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      out << (i ? ", " : "") << name_of(graph, node.outputs[i]);
      if (node.outputs[i] != kNoValue) out << ": " << to_string(graph.value(node.outputs[i]).type);
    }
    out << " = " << to_string(node.op) << '(';
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      out << (i ? ", " : "") << name_of(graph, node.inputs[i]);
    const std::string attributes = print_attributes(node.attributes);
    out << ')' << (attributes.empty() ? "" : " ") << attributes << '\n';
  }
  for (ValueId id : graph.outputs) out << "  out   %" << graph.value(id).name << '\n';
  return out.str();
}

}  // namespace polyte::graph
