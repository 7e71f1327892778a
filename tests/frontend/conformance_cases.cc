#include "tests/frontend/conformance_cases.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "graph/evaluate.h"
#include "support/error.h"

namespace polyte::testing {

namespace fs = std::filesystem;

namespace {

fs::path tensor_file(const fs::path& set, const std::string& kind, std::size_t i) {
  return set / (kind + "_" + std::to_string(i) + ".pb");
}

std::vector<graph::Tensor> tensors_of(const fs::path& set, const std::string& kind,
                                      const std::set<std::size_t>& left_out = {}) {
  std::vector<graph::Tensor> tensors;
  for (std::size_t i = 0;; ++i) {
    const fs::path file = tensor_file(set, kind, i);
    if (!fs::exists(file)) return tensors;
    if (!left_out.contains(i)) tensors.push_back(frontend::read_tensor_file(file));
  }
}

std::string difference(const graph::Tensor& got, const graph::Tensor& expected) {
  const std::vector<double> a = elements_as_real(got), b = elements_as_real(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!same && !(std::fabs(a[i] - b[i]) <= 1e-7 + 1e-3 * std::fabs(b[i]))) {
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", expected " +
             std::to_string(b[i]);
    }
  }
  return {};
}

// Some cases store bf16 tensors labelled u16, or an input of another shape than the model declares:
// what such a case asks for is not defined. (Importing has checked that outputs have the element
// types that are declared.)
std::string contradiction(const graph::Graph& graph, const std::vector<graph::Tensor>& inputs,
                          const std::vector<graph::Tensor>& outputs) {
  for (std::size_t i = 0; i < inputs.size() && i < graph.inputs.size(); ++i) {
    const graph::TensorType& declared = graph.value(graph.inputs[i]).type;
    if (!(declared == inputs[i].type)) {
      return "input is stored as " + to_string(inputs[i].type) + ", declared " +
             to_string(declared);
    }
  }
  for (std::size_t i = 0; i < outputs.size() && i < graph.outputs.size(); ++i) {
    const graph::TensorType& declared = graph.value(graph.outputs[i]).type;
    if (declared.dtype != outputs[i].type.dtype) {
      return "output is stored as " + to_string(outputs[i].type) + ", declared " +
             to_string(declared);
    }
  }
  return {};
}

// The model with the values that this set has for the inputs that decide shapes.
Outcome check_set(const fs::path& folder, const fs::path& set, bool run) {
  std::map<std::string, std::size_t> positions;
  frontend::ImportOptions options;
  options.offer = [&](const std::string& name,
                      std::size_t position) -> std::optional<graph::Tensor> {
    positions[name] = position;
    const fs::path file = tensor_file(set, "input", position);
    return fs::exists(file) ? std::optional(frontend::read_tensor_file(file)) : std::nullopt;
  };
  const frontend::Imported imported = frontend::import_onnx(folder / "model.onnx", options);
  const graph::Graph& graph = imported.graph;
  std::set<std::size_t> constants;
  for (const std::string& name : imported.specialised) constants.insert(positions.at(name));
  const std::vector<graph::Tensor> inputs = tensors_of(set, "input", constants),
                                   expected = tensors_of(set, "output");
  const std::string contradicts = contradiction(graph, inputs, expected);
  if (!contradicts.empty()) return {Verdict::Unsupported, contradicts};
  if (expected.size() != graph.outputs.size()) return {Verdict::Fail, "number of outputs"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const graph::TensorType& type = graph.value(graph.outputs[i]).type;
    if (!(type == expected[i].type)) {
      return {Verdict::Fail,
              "output is " + to_string(type) + ", expected " + to_string(expected[i].type)};
    }
  }
  if (!run) return {Verdict::Pass, {}};
  const std::vector<graph::Tensor> outputs = evaluate_graph(graph, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string wrong = difference(outputs[i], expected[i]);
    if (!wrong.empty()) return {Verdict::Fail, "output " + std::to_string(i) + ": " + wrong};
  }
  return {Verdict::Pass, {}};
}

}  // namespace

fs::path conformance_folder() {
  const fs::path folder = "/usr/share/libonnx-testdata/data";
  return fs::exists(folder) ? folder : fs::path();
}

std::vector<fs::path> conformance_cases(const std::string& suite) {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(conformance_folder() / suite)) {
    if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

Outcome check_case(const fs::path& folder, bool run) {
  try {
    for (int i = 0;; ++i) {
      const fs::path set = folder / ("test_data_set_" + std::to_string(i));
      if (!fs::exists(set)) break;
      const Outcome outcome = check_set(folder, set, run);
      if (outcome.verdict != Verdict::Pass) return outcome;
    }
    return {Verdict::Pass, {}};
  } catch (const UserError& error) {
    return {error.status() == ExitStatus::Unsupported ? Verdict::Unsupported : Verdict::Fail,
            error.what()};
  } catch (const std::exception& error) {
    return {Verdict::Fail, error.what()};
  }
}

}  // namespace polyte::testing
