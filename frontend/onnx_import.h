// From an ONNX file to a Graph: opsets 1 to 28, static shapes. Everything wrong with a model
// is reported at once:
//
//   yolo.onnx: 3 of 241 nodes are not supported
//     'nms' (NonMaxSuppression, opset 13)    operator not supported
//     'cast_9' (Cast, opset 13)              to = STRING: supported are f64 f32 f16 bf16
//                                            i8..i64 u8..u64 bool
//
// Invalid models are UserError(InvalidInput), unsupported ones UserError(Unsupported), sizes above
// the limits UserError(ResourceLimit). The model is untrusted data: nothing is allocated before
// its size is checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace polyte::frontend {

// The value that an input will have at run time, if it is known; `position` counts the inputs
// without initializers.
using Offer =
    std::function<std::optional<graph::Tensor>(const std::string& input, std::size_t position)>;

struct ImportOptions {
  // Of inputs, or the extent of a symbol: --shape x=1x3x224x224, N=4.
  std::map<std::string, graph::Dims> shapes;
  std::map<std::string, graph::Tensor> values;  // inputs bound to a constant: --value shape=...
  // Asked only for inputs that decide a shape, or whose own is open.
  Offer offer;
  // The extent of a symbol that nothing else binds; without it such an input is refused.
  std::function<std::int64_t(const std::string& symbol)> extent_of;
  // Told of each file of external data.
  std::function<void(const std::filesystem::path& file)> reads;
  std::int64_t max_file_bytes = (std::int64_t{1} << 31) - 1;
  std::int64_t max_tensor_bytes = std::int64_t{1} << 34;  // any value of the graph
  // Of all constants that are not stored but computed.
  std::int64_t max_made_bytes = std::int64_t{1} << 30;
  std::int64_t max_nodes = 1'000'000;
};

struct Imported {
  graph::Graph graph;  // normalised and verified
  // Inputs that became constants with the value that was offered.
  std::vector<std::string> specialised;
  // What a user may want to know: a default input became a constant, ...
  std::vector<std::string> notes;
  // Symbols that extent_of was asked for, in the order of the inputs.
  std::vector<std::string> open;
};

Imported import_onnx(const std::filesystem::path& file, const ImportOptions& options = {});
// The same for a model in memory; external data is looked for beneath `folder`.
Imported import_onnx_bytes(std::string_view bytes, const std::string& name,
                           const std::filesystem::path& folder, const ImportOptions& options = {});

// Every node of the model, in its order, those of its branches after it, names as they can be
// shown. An invalid model throws as above; unsupported nodes are listed here.
struct NodeCoverage {
  std::string name, op;  // op with its domain where that is not ONNX's own: "com.acme::Foo"
  std::int64_t opset = 0;
  bool supported = false;
  // Why not; or what could not be checked because an earlier node is not supported.
  std::string reason;
  bool checked = true;  // false: the operator is known, but its operands are not
};
struct Coverage {
  std::vector<NodeCoverage> nodes;
  std::vector<std::string> problems;  // not of a node: an input of symbolic shape, an opset, a type
};
Coverage coverage(const std::filesystem::path& file, const ImportOptions& options = {});

// The table of the importer, for `polyte ops`: one row per operator and range of opsets, sorted.
struct OperatorSupport {
  std::string op;
  int since = 1, until = 1;
  std::string restrictions;  // empty: all of it
};
std::vector<OperatorSupport> supported_operators();
inline constexpr int kLeastOpset = 1, kGreatestOpset = 28;

// A tensor stored by itself (TensorProto), as conformance cases have them: input_0.pb. Sequences
// and optionals are UserError(Unsupported). `name`, if given, receives the tensor's name.
graph::Tensor read_tensor_file(const std::filesystem::path& file, std::string* name = nullptr);

}  // namespace polyte::frontend
