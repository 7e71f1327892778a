// polyte interpret MODEL.onnx: the imported graph, node by node in the Program interpreter, without
// any pass of the compiler: what a compiled model is compared with.
#include <algorithm>

#include "driver/cli/model_options.h"
#include "graph/evaluate.h"

namespace polyte::cli {
namespace {

graph::Tensor to_graph_tensor(const runtime::Tensor& tensor) {
  const auto raw = tensor.raw();
  return {{tensor.dtype(), tensor.shape()},
          std::make_shared<const graph::Bytes>(raw.begin(), raw.end())};
}

runtime::Tensor from_graph_tensor(const graph::Tensor& tensor) {
  runtime::Tensor result(tensor.type.dtype, tensor.type.shape);
  std::ranges::copy(*tensor.bytes, result.raw().begin());
  return result;
}

std::vector<NamedBuffer> input_buffers(const graph::Graph& graph) {
  std::vector<NamedBuffer> buffers;
  for (graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    buffers.push_back(
        {value.name, true, false, runtime::Tensor(value.type.dtype, value.type.shape)});
  }
  return buffers;
}

}  // namespace

int interpret_model(const std::string& path, const ModelVerbOptions& model,
                    const DataOptions& data) {
  const frontend::Imported imported = frontend::import_onnx(path, import_options(model));
  const graph::Graph& graph = imported.graph;
  std::vector<NamedBuffer> inputs = input_buffers(graph);
  fill_buffers(data, inputs);
  std::vector<std::string> names;
  for (graph::ValueId id : graph.outputs) names.push_back(graph.value(id).name);
  check_outputs(data, names);
  std::vector<graph::Tensor> tensors;
  for (const NamedBuffer& input : inputs) tensors.push_back(to_graph_tensor(input.tensor));
  // From here on, so that import and filling are not part of the time reported.
  const auto start = std::chrono::steady_clock::now();
  const std::vector<graph::Tensor> results = graph::evaluate_graph(graph, tensors);
  std::vector<NamedBuffer> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(
        {graph.value(graph.outputs[i]).name, false, true, from_graph_tensor(results[i])});
  }
  tell_outputs(path + ": " + std::to_string(graph.nodes.size()) + " nodes interpreted in " +
                   milliseconds(milliseconds_since(start)),
               outputs);
  return finish_outputs(data, outputs);
}

}  // namespace polyte::cli
