// The shapes of a model's inputs: what the file fixes, what a caller gives (--shape, the
// shape of a --value, what is offered for the run), and symbols, which have one extent in the
// whole model: that of --shape N=4, of an input whose shape is given, or else the one that
// ImportOptions::extent_of has for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/import_problems.h"
#include "frontend/importers/context.h"

namespace polyte::frontend {

// A value of one element without its dimensions: --value sr=16000 is the list [16000], and a number
// where the input is one. Any other value as it is.
Tensor as_scalar(Tensor value);

class InputShapes {
 public:
  // Binds the symbols; the state knows the options, and which inputs are no initializers.
  InputShapes(const onnx::GraphProto& graph, const ImportState& state, ImportProblems& problems);

  // UserError(Unsupported) where something stays open, all of it named.
  Dims shape_of(const onnx::ValueInfoProto& input) const;
  bool is_bound_symbol(const std::string& name) const { return symbols_.contains(name); }
  // Symbols that extent_of was asked for.
  const std::vector<std::string>& open() const { return open_; }

 private:
  using Binding = std::pair<std::int64_t, std::string>;  // the extent, and what gave it

  std::optional<Dims> given_shape(const onnx::ValueInfoProto& input) const;
  void bind(const std::string& symbol, std::int64_t extent, const std::string& by,
            ImportProblems& problems);
  void bind_by_name(const onnx::GraphProto& graph, ImportProblems& problems);
  void bind_by_inputs(const onnx::GraphProto& graph, ImportProblems& problems);
  void bind_open(const onnx::GraphProto& graph, ImportProblems& problems);

  const ImportState& state_;
  const ImportOptions& options_;
  std::map<std::string, Binding> symbols_;
  std::vector<std::string> open_;
};

}  // namespace polyte::frontend
