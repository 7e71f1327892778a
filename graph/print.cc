// Text of a Graph, one line a value or node.
#include <sstream>

#include "graph/graph.h"
#include "graph/op.h"

namespace polyte::graph {

namespace {

std::string list(const Dims& dims, const char* separator = "x") {
  std::string text;
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i ? separator : "") + std::to_string(dims[i]);
  return text.empty() ? "-" : text;
}

// Collects "name=value" pairs; values equal to the default may be left out by the caller.
class Pairs {
 public:
  template <class T>
  Pairs& add(const char* name, const T& value) {
    out_ << (first_ ? "" : " ") << name << '=' << value;
    first_ = false;
    return *this;
  }
  Pairs& flag(const char* name, bool value) { return value ? add(name, "true") : *this; }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
  bool first_ = true;
};

void add_window(Pairs& pairs, const Window& window) {
  pairs.add("kernel", list(window.kernel)).add("strides", list(window.strides));
  pairs.add("dilations", list(window.dilations)).add("pads", list(window.pads_begin) + ":" + list(window.pads_end));
}

struct Printer {
  Pairs pairs;
  void operator()(const NoAttributes&) {}
  void operator()(const ActivationAttributes& a) { pairs.add("alpha", a.alpha).add("beta", a.beta); }
  void operator()(const InfAttributes& a) { pairs.add("negative", a.negative).add("positive", a.positive); }
  void operator()(const CastAttributes& a) { pairs.add("to", polyte::to_string(a.to)); }
  void operator()(const ConvAttributes& a) {
    add_window(pairs, a.window);
    pairs.add("group", a.group);
    if (!a.output_padding.empty()) pairs.add("output_padding", list(a.output_padding));
    if (a.output_block != 0) pairs.add("blocks", std::to_string(a.input_block) + "->" + std::to_string(a.output_block));
  }
  void operator()(const PoolAttributes& a) {
    add_window(pairs, a.window);
    pairs.flag("ceil_mode", a.ceil_mode).flag("count_include_pad", a.count_include_pad);
    pairs.flag("column_major_indices", a.column_major_indices);
  }
  void operator()(const GemmAttributes& a) {
    pairs.add("alpha", a.alpha).add("beta", a.beta).flag("trans_a", a.trans_a).flag("trans_b", a.trans_b);
  }
  void operator()(const AxisAttributes& a) { pairs.add("axis", a.axis); }
  void operator()(const SoftmaxAttributes& a) { pairs.add("axis", a.axis).add("end", a.end); }
  void operator()(const ReduceAttributes& a) { pairs.add("axes", list(a.axes, ",")).add("keep_dims", a.keep_dims); }
  void operator()(const ArgAttributes& a) {
    pairs.add("axis", a.axis).add("keep_dims", a.keep_dims).flag("select_last", a.select_last);
  }
  void operator()(const CumSumAttributes& a) {
    pairs.add("axis", a.axis).flag("exclusive", a.exclusive).flag("reverse", a.reverse);
  }
  void operator()(const TopKAttributes& a) { pairs.add("axis", a.axis).add("k", a.k).add("largest", a.largest); }
  void operator()(const GatherNDAttributes& a) { pairs.add("batch_dims", a.batch_dims); }
  void operator()(const ScatterAttributes& a) {
    static constexpr const char* kReductions[] = {"none", "add", "mul", "max", "min"};
    pairs.add("axis", a.axis).add("reduction", kReductions[static_cast<int>(a.reduction)]);
  }
  void operator()(const EinsumAttributes& a) {
    std::string text;
    for (const Dims& labels : a.inputs) text += (text.empty() ? "" : ";") + list(labels, ",");
    pairs.add("labels", text + "->" + list(a.output, ","));
  }
  void operator()(const ShapeAttributes& a) { pairs.add("shape", list(a.shape)); }
  void operator()(const TransposeAttributes& a) { pairs.add("perm", list(a.perm, ",")); }
  void operator()(const SliceAttributes& a) {
    pairs.add("starts", list(a.starts, ",")).add("steps", list(a.steps, ",")).add("sizes", list(a.sizes, ","));
  }
  void operator()(const PadAttributes& a) {
    static constexpr const char* kModes[] = {"constant", "reflect", "edge", "wrap"};
    pairs.add("begin", list(a.begin, ",")).add("end", list(a.end, ",")).add("mode", kModes[static_cast<int>(a.mode)]);
  }
  void operator()(const TileAttributes& a) { pairs.add("repeats", list(a.repeats, ",")); }
  void operator()(const TriluAttributes& a) { pairs.add("k", a.k).add("upper", a.upper); }
  void operator()(const NormAttributes& a) { pairs.add("epsilon", a.epsilon).add("axis", a.axis); }
  void operator()(const LrnAttributes& a) {
    pairs.add("alpha", a.alpha).add("beta", a.beta).add("bias", a.bias).add("size", a.size);
  }
};

std::string name_of(const Graph& graph, ValueId id) { return id == kNoValue ? "-" : "%" + graph.value(id).name; }

}  // namespace

std::string print_attributes(const Attributes& attributes) {
  Printer printer;
  std::visit(printer, attributes);
  return printer.pairs.text();
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
    for (std::size_t i = 0; i < node.inputs.size(); ++i) out << (i ? ", " : "") << name_of(graph, node.inputs[i]);
    const std::string attributes = print_attributes(node.attributes);
    out << ')' << (attributes.empty() ? "" : " ") << attributes << '\n';
  }
  for (ValueId id : graph.outputs) out << "  out   %" << graph.value(id).name << '\n';
  return out.str();
}

}  // namespace polyte::graph
