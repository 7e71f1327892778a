#include "frontend/input_shapes.h"

#include <algorithm>

#include "frontend/names.h"

namespace polyte::frontend {

namespace {

// A dimension that nobody has named: PaddlePaddle writes -1 or "?", each of them a size of its own.
bool is_known(const onnx::TensorShapeProto::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() != -1;
}

std::string symbol_of(const onnx::TensorShapeProto::Dimension& dim) {
  return dim.dim_param() == "?" ? std::string() : dim.dim_param();
}

bool has_static_shape(const onnx::TypeProto::Tensor& type) {
  return type.has_shape() &&
         std::ranges::all_of(type.shape().dim(), [](const auto& dim) { return is_known(dim); });
}

}  // namespace

Tensor as_scalar(Tensor value) {
  if (graph::element_count(value.type.shape) == 1) value.type.shape.clear();
  return value;
}

InputShapes::InputShapes(const onnx::GraphProto& graph, const ImportState& state,
                         ImportProblems& problems)
    : state_(state), options_(*state.options) {
  bind_by_name(graph, problems);
  bind_by_inputs(graph, problems);
  if (options_.extent_of) bind_open(graph, problems);
}

// What is given by hand goes before what is offered for the run, which is asked only where the file
// leaves the shape open.
std::optional<Dims> InputShapes::given_shape(const onnx::ValueInfoProto& input) const {
  if (const auto shape = options_.shapes.find(input.name()); shape != options_.shapes.end())
    return shape->second;
  if (const auto value = options_.values.find(input.name()); value != options_.values.end()) {
    const auto& proto = input.type().tensor_type();
    // `--value n=16000` does not say whether a scalar or one element is meant: the model does.
    const bool is_scalar = proto.has_shape() && proto.shape().dim_size() == 0;
    return is_scalar ? as_scalar(value->second).type.shape : value->second.type.shape;
  }
  if (has_static_shape(input.type().tensor_type())) return std::nullopt;
  if (const auto offered = state_.offered(input.name())) return offered->type.shape;
  return std::nullopt;
}

void InputShapes::bind(const std::string& symbol, std::int64_t extent, const std::string& by,
                       ImportProblems& problems) {
  const auto& [known, first] = symbols_.try_emplace(symbol, extent, by).first->second;
  if (known != extent)
    problems.invalid("symbol " + named(symbol) + " is " + std::to_string(known) + " by " + first +
                     " and " + std::to_string(extent) + " by " + by);
}

// --shape N=4 where N is no input but a symbol of one.
void InputShapes::bind_by_name(const onnx::GraphProto& graph, ImportProblems& problems) {
  std::unordered_set<std::string> inputs, known;
  for (const auto& input : graph.input()) {
    inputs.insert(input.name());
    for (const auto& dim : input.type().tensor_type().shape().dim()) known.insert(symbol_of(dim));
  }
  for (const auto& [name, dims] : options_.shapes) {
    // An input's own shape is not a symbol's extent; unknown names are reported elsewhere.
    if (inputs.contains(name) || !known.contains(name) || name.empty()) continue;
    if (dims.size() == 1)
      bind(name, dims[0], "--shape", problems);
    else
      problems.invalid("--shape gives symbol " + named(name) + " " + std::to_string(dims.size()) +
                       " extents, expected one");
  }
}

// An input x[N, 3] that is given as 4x3 binds N to 4, for all other inputs too.
void InputShapes::bind_by_inputs(const onnx::GraphProto& graph, ImportProblems& problems) {
  for (const auto& input : graph.input()) {
    if (!state_.input_positions.contains(input.name())) continue;
    const auto& proto = input.type().tensor_type().shape();
    const std::optional<Dims> dims = given_shape(input);
    if (!dims || proto.dim_size() != static_cast<int>(dims->size())) continue;
    for (int d = 0; d < proto.dim_size(); ++d) {
      const std::string symbol = symbol_of(proto.dim(d));
      if (!symbol.empty())
        bind(symbol, (*dims)[static_cast<std::size_t>(d)], "input " + named(input.name()),
             problems);
    }
  }
}

// Last, for symbols that neither --shape nor an input has bound. The extent may be asked for
// only once per symbol: further inputs of that symbol find it bound.
void InputShapes::bind_open(const onnx::GraphProto& graph, ImportProblems& problems) {
  for (const auto& input : graph.input()) {
    if (!state_.input_positions.contains(input.name()) || given_shape(input)) continue;
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      if (symbol_of(dim).empty() || symbols_.contains(symbol_of(dim))) continue;
      open_.push_back(symbol_of(dim));
      bind(open_.back(), options_.extent_of(open_.back()), "the caller", problems);
    }
  }
}

Dims InputShapes::shape_of(const onnx::ValueInfoProto& input) const {
  const auto& proto = input.type().tensor_type();
  const std::optional<Dims> given = given_shape(input);
  if (!proto.has_shape() && !given)
    throw UserError(ExitStatus::Unsupported, "has no shape: give it with --shape");
  if (given && proto.has_shape() && proto.shape().dim_size() != static_cast<int>(given->size())) {
    throw UserError(ExitStatus::InvalidInput, "is bound to shape " + dims_text(*given) +
                                                  ", expected rank " +
                                                  std::to_string(proto.shape().dim_size()));
  }
  Dims shape = given.value_or(Dims{});
  std::string open, example;  // " batch=1"
  for (int d = 0; d < proto.shape().dim_size(); ++d) {
    const auto& dim = proto.shape().dim(d);
    const auto symbol = symbols_.find(symbol_of(dim));
    if (is_known(dim) && given && (*given)[static_cast<std::size_t>(d)] != dim.dim_value()) {
      throw UserError(ExitStatus::InvalidInput, "is bound to shape " + dims_text(*given) +
                                                    ", but dimension " + std::to_string(d) +
                                                    " is " + std::to_string(dim.dim_value()));
    }
    if (given) continue;
    if (!is_known(dim) && symbol == symbols_.end() && example.empty() && !symbol_of(dim).empty())
      example = " " + symbol_of(dim) + "=SIZE";
    if (!is_known(dim) && symbol == symbols_.end())
      open += (open.empty() ? "dimension " : ", dimension ") + std::to_string(d) +
              (symbol_of(dim).empty() ? " is not given" : " is " + named(symbol_of(dim)));
    shape.push_back(is_known(dim) || symbol == symbols_.end() ? dim.dim_value()
                                                              : symbol->second.first);
  }
  if (!open.empty())
    throw UserError(ExitStatus::Unsupported, "has a shape that is not static: " + open +
                                                 "; give the shape, or a symbol, with --shape" +
                                                 example);
  return shape;
}

}  // namespace polyte::frontend
