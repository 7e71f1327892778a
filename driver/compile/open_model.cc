#include "driver/compile/open_model.h"

#include <algorithm>

namespace polyte::driver {
namespace {

// The group's Program at each point of the sizes: from them the one Program is found whose
// coefficients give all of them. Node ids are equal in all graphs, which has been checked.
Result<ir::Program> open_group(const PartitionedModel& model, const GroupPlan& group) {
  std::vector<ir::Program> programs{group.expansion.program};
  for (const graph::Graph& other : model.others)
    programs.push_back(graph::expand(other, group.nodes, group.name).program);
  std::vector<ir::SizeRange> ranges;
  for (const OpenSymbol& symbol : model.symbols) ranges.push_back({symbol.least, symbol.most});
  return ir::open_program(model.sizes, ranges, programs);
}

// Whether elements lie at affine places: no extent but the first, or those before it being one,
// depends on a size. The element (n, c, h) of [N, C, H] lies at (n * C + c) * H + h: N may be open,
// an open H would multiply iterators.
bool has_affine_places(const std::vector<ir::Affine>& shape) {
  const auto is_one = [](const ir::Affine& extent) { return extent == ir::Affine(1); };
  const auto first = std::ranges::find_if_not(shape, is_one);
  return first == shape.end() ||
         std::all_of(first + 1, shape.end(), [](const ir::Affine& e) { return e.is_constant(); });
}

std::string shape_text(const std::vector<ir::Affine>& shape) {
  std::string text;
  for (const ir::Affine& extent : shape) text += (text.empty() ? "" : ", ") + ir::to_string(extent);
  return "[" + text + "]";
}

void check_places(const PartitionedModel& model, const GroupPlan& group,
                  std::vector<std::string>& problems) {
  for (const ir::Buffer* buffer : group.expansion.program.interface()) {
    if (has_affine_places(buffer->shape)) continue;
    std::string nodes;
    for (const graph::NodeId id : group.nodes)
      nodes += (nodes.empty() ? "'" : ", '") + model.graph.node(id).name + "'";
    problems.push_back(
        "'" + buffer->name + "' of " + nodes + " is " + shape_text(buffer->shape) +
        ": an open size that is not the outermost extent puts elements at products of sizes");
  }
}

// Each extent from its values at all points; they have been found affine before.
std::vector<ir::Affine> shape_of(const PartitionedModel& model, graph::ValueId id) {
  std::vector<ir::Affine> shape;
  for (std::size_t d = 0; d < model.graph.value(id).type.shape.size(); ++d) {
    std::vector<std::int64_t> extents{model.graph.value(id).type.shape[d]};
    for (const graph::Graph& other : model.others)
      extents.push_back(other.value(id).type.shape.at(d));
    const std::optional<ir::Affine> extent = ir::fit(model.sizes, extents);
    POLYTE_CHECK(extent, "value '" + model.graph.value(id).name + "' has no shape over the sizes");
    shape.push_back(*extent);
  }
  return shape;
}

}  // namespace

// By a changed type of a result, at any point.
std::set<std::string> nodes_of_open_size(const PartitionedModel& model) {
  std::set<std::string> names;
  for (const graph::Graph& other : model.others)
    for (std::size_t n = 0; n < model.graph.nodes.size(); ++n)
      for (const graph::ValueId id : model.graph.nodes[n].outputs)
        if (id != graph::kNoValue && !(other.value(id).type == model.graph.value(id).type))
          names.insert(model.graph.nodes[n].name);
  return names;
}

// The others run through the same passes; a pass that decides by sizes could make another graph
// of one, so they are compared again.
void optimize_others(PartitionedModel& model, const graph::OptimizeOptions& passes) {
  if (model.others.empty()) return;
  std::vector<graph::Graph> graphs{model.graph};
  for (graph::Graph& other : model.others) {
    graph::optimize(other, passes);
    share_constants(model.graph, other);
    graphs.push_back(std::move(other));
  }
  refuse_open_sizes(model.sizes, differences(model.sizes, graphs));
  model.others.assign(std::move_iterator(graphs.begin() + 1), std::move_iterator(graphs.end()));
}

void open_groups(PartitionedModel& model) {
  if (model.others.empty()) return;
  std::vector<std::string> problems;
  for (GroupPlan& group : model.groups) {
    if (group.view) continue;
    Result<ir::Program> open = open_group(model, group);
    if (open) {
      group.expansion.program = *std::move(open);
      check_places(model, group, problems);
    } else {
      problems.push_back("group '" + group.name +
                         "' is no affine function of the sizes: " + open.error().reason);
    }
  }
  refuse_open_sizes(model.sizes, std::move(problems));
}

runtime::TensorSpec spec_of(const PartitionedModel& model, graph::ValueId id) {
  std::vector<std::string> symbols;
  for (const OpenSymbol& symbol : model.symbols) symbols.push_back(symbol.name);
  const graph::Value& value = model.graph.value(id);
  return spec_of(value.name, value.type.dtype, shape_of(model, id), symbols);
}

// kOpenExtent, with its number, where an extent depends on a size.
runtime::TensorSpec spec_of(const std::string& name, DType dtype,
                            const std::vector<ir::Affine>& shape,
                            const std::vector<std::string>& symbols) {
  runtime::TensorSpec spec{name, dtype, {}, {}};
  for (const ir::Affine& extent : shape) {
    spec.shape.push_back(extent.is_constant() ? extent.constant() : runtime::kOpenExtent);
    if (extent.is_constant()) continue;
    runtime::OpenNumber number{extent.constant(), {}};
    for (const std::string& symbol : symbols)
      number.coefficients.push_back(extent.coefficient(symbol));
    spec.open.push_back(std::move(number));
  }
  return spec;
}

}  // namespace polyte::driver
