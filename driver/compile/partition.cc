#include "driver/compile/partition.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "driver/compile/open_model.h"
#include "graph/fusion_graph.h"
#include "graph/op.h"
#include "graph/propose_joins.h"

namespace polyte::driver {
namespace {

void optimize(PartitionedModel& model, const Machine& machine, const ModelOptions& options) {
  graph::OptimizeOptions passes;
  passes.exact = options.exact;
  passes.absorbs_transposes = !machine.gpu;
  passes.unrolls_recurrences = machine.gpu.has_value();
  passes.layout = layout_options(options.layout, machine);
  passes.unfolded = nodes_of_open_size(model);
  passes.convolutions = convolution_options(options.convolutions, machine);
  // Of an image only the batch can be open (open_groups).
  passes.convolutions.use.any_batch = !model.others.empty();
  model.passes = graph::optimize(model.graph, passes);
  optimize_others(model, passes);
}

// "g2_conv_relu": the group's label and up to three operators, a name that Program text accepts.
std::string group_name(const graph::Graph& graph, const std::string& label,
                       const std::vector<graph::NodeId>& nodes) {
  constexpr std::size_t kShown = 3;
  std::string name = "g" + label;
  for (std::size_t i = 0; i < std::min(kShown, nodes.size()); ++i) {
    name += '_';
    for (char c : graph::info(graph.node(nodes[i]).op).name) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return name;
}

// The label of a group is its position in the first partition; a part of a group that was split
// adds a letter.
class Labels {
 public:
  explicit Labels(const std::vector<GroupPlan>& before) {
    for (const GroupPlan& group : before) {
      for (const graph::NodeId node : group.nodes) before_[node] = &group;
    }
  }

  std::string next(const std::vector<graph::NodeId>& nodes) {
    if (before_.empty()) return std::to_string(count_++);
    const GroupPlan& old = *before_.at(nodes.front());
    std::string label = old.name.substr(1, old.name.find('_') - 1);
    if (old.nodes == nodes) return label;
    const int part = parts_[label]++;
    return label +
           (part < 26 ? std::string(1, static_cast<char>('a' + part)) : "p" + std::to_string(part));
  }

 private:
  std::map<graph::NodeId, const GroupPlan*> before_;
  std::map<std::string, int> parts_;
  int count_ = 0;
};

// What only a schedule can be worth, where one of the schedulers may say so.
void propose_joins(PartitionedModel& model, const Machine& machine, const ModelOptions& options) {
  const bool has_passes = machine.gpu && (options.scheduler == Scheduler::Poly ||
                                          options.scheduler == Scheduler::Template);
  if (!has_passes || options.exact || !options.fuse || !model.symbols.empty()) return;
  // Fused once without them: what is left apart is where a join may be worth it.
  const graph::FusionReport fused = graph::fuse(model.fusion_graph, model.fusion_options);
  for (graph::KeepTogether& join : graph::propose_joins(model.graph, fused))
    model.fusion_options.keep_together.push_back(std::move(join));
}

void partition(PartitionedModel& model, const Machine& machine, const ModelOptions& options,
               const std::set<std::string>& model_nodes) {
  model.fusion_graph = graph::make_fusion_graph(model.graph);
  model.fusion_options.enabled = options.fuse;
  apply_requests(options.fusion, model.fusion_graph, model_nodes, model.fusion_options);
  propose_joins(model, machine, options);
  form_groups(model);
  check_granted(options.fusion, model.fusion);
}

}  // namespace

// The old groups decide the labels of the new ones, so that a script or an option that names a
// group still means it after others were split.
void form_groups(PartitionedModel& model) {
  model.fusion = graph::fuse(model.fusion_graph, model.fusion_options);
  const std::vector<GroupPlan> before = std::move(model.groups);
  model.groups.clear();
  Labels labels(before);
  for (const std::vector<int>& nodes : model.fusion.groups) {
    GroupPlan group;
    group.nodes = nodes;
    group.name = group_name(model.graph, labels.next(nodes), nodes);
    group.view = nodes.size() == 1 && graph::is_view(model.graph.node(nodes[0]).op);
    model.groups.push_back(std::move(group));
  }
}

void expand_groups(PartitionedModel& model) {
  for (GroupPlan& group : model.groups) {
    if (!group.view) group.expansion = graph::expand(model.graph, group.nodes, group.name);
  }
  open_groups(model);
}

std::string missing_kernel(const PartitionedModel& model, const std::string& group) {
  std::string known;
  for (const GroupPlan& each : model.groups) {
    if (each.name == group)
      return each.view ? "group '" + group + "' is a view: no kernel computes it" : "";
    if (!each.view) known += (known.empty() ? "" : ", ") + each.name;
  }
  return "the model has no group '" + group + "' (there are " + (known.empty() ? "none" : known) +
         ")";
}

PartitionedModel partition_model(Network network, const Machine& machine,
                                 const ModelOptions& options) {
  PartitionedModel model;
  StageLog log(model.times);
  model.symbols = std::move(network.symbols);
  model.sizes = std::move(network.sizes);
  model.others.assign(std::move_iterator(network.graphs.begin() + 1),
                      std::move_iterator(network.graphs.end()));
  model.graph = std::move(network.graphs.front());
  // Taken before any pass: a request that names a node which a pass removed is answered with
  // that.
  std::set<std::string> model_nodes;
  for (const graph::Node& node : model.graph.nodes) model_nodes.insert(node.name);
  if (options.optimize) log.run("graph passes", [&] { optimize(model, machine, options); });
  log.run("fusion", [&] { partition(model, machine, options, model_nodes); });
  log.run("expansion", [&] { expand_groups(model); });
  return model;
}

graph::LayoutOptions layout_options(graph::Layout layout, const Machine& machine) {
  // Blocks of channels are for the vector registers of a CPU.
  if (machine.gpu && layout == graph::Layout::Auto) layout = graph::Layout::Plain;
  return {layout, {machine.lanes(DType::F32), machine.fma_per_cycle}};
}

graph::ConvolutionOptions convolution_options(graph::Convolutions how, const Machine& machine) {
  if (machine.gpu && how == graph::Convolutions::Auto) how = graph::Convolutions::Direct;
  return {how, {{machine.lanes(DType::F32), machine.fma_per_cycle}}};
}

}  // namespace polyte::driver
