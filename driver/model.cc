#include "driver/model.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <set>

#include "codegen/link.h"
#include "driver/assemble.h"
#include "driver/open_model.h"
#include "driver/parallel_jobs.h"
#include "graph/fusion_graph.h"
#include "graph/op.h"

namespace polyte::driver {
namespace {

using Clock = std::chrono::steady_clock;

// One line a step of the list: names it, times it.
template <class F>
void run(CompiledModel& model, const char* stage, F f) {
  const auto start = Clock::now();
  f();
  model.times.push_back({stage, std::chrono::duration<double, std::milli>(Clock::now() - start).count()});
}

void optimize(CompiledModel& model, const Machine& machine, const ModelOptions& options) {
  graph::OptimizeOptions passes;
  passes.exact = options.exact;
  passes.layout = {options.layout, {machine.lanes(DType::F32), machine.fma_per_cycle}};
  passes.unfolded = nodes_of_open_size(model);
  model.passes = graph::optimize(model.graph, passes);
  optimize_others(model, passes);
}

// "g2_conv_relu": the group's label and up to three operators, a name that Program text accepts.
std::string group_name(const graph::Graph& graph, const std::string& label, const std::vector<graph::NodeId>& nodes) {
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

// The label of a group is its position in the first partition; a part of a group that was split adds a letter.
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
    return label + (part < 26 ? std::string(1, static_cast<char>('a' + part)) : "p" + std::to_string(part));
  }

 private:
  std::map<graph::NodeId, const GroupPlan*> before_;
  std::map<std::string, int> parts_;
  int count_ = 0;
};

void form_groups(CompiledModel& model) {
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

void partition(CompiledModel& model, const ModelOptions& options, const std::set<std::string>& model_nodes) {
  model.fusion_graph = graph::make_fusion_graph(model.graph);
  model.fusion_options.enabled = options.fuse;
  apply_requests(options.fusion, model.fusion_graph, model_nodes, model.fusion_options);
  form_groups(model);
  check_granted(options.fusion, model.fusion);
}

void expand_groups(CompiledModel& model) {
  for (GroupPlan& group : model.groups) {
    if (!group.view) group.expansion = graph::expand(model.graph, group.nodes, group.name);
  }
  open_groups(model);
}

Arm arm_of(const GroupPlan& group, const ModelOptions& options) {
  auto it = options.group_arms.find(group.name);
  return it == options.group_arms.end() ? options.arm : it->second;
}

const NamedScript* script_of(const GroupPlan& group, const ModelOptions& options) {
  auto it = std::ranges::find_if(options.scripts, [&](const NamedScript& s) { return s.script.program == group.name; });
  return it == options.scripts.end() ? nullptr : &*it;
}

// What makes two groups one kernel: what they compute and how they are scheduled.
std::string kernel_key(const GroupPlan& group, const ModelOptions& options) {
  const NamedScript* script = script_of(group, options);
  std::string how = script ? "script " + script->origin : to_string(arm_of(group, options));
  return how + "\n" + ir::canonical_text(group.expansion.program);
}

struct KernelRequest {
  const GroupPlan* group = nullptr;
  KernelOptions options;
  std::string key;
};

std::vector<KernelRequest> distinct_kernels(CompiledModel& model, const ModelOptions& options) {
  std::map<std::string, int> known;
  std::vector<KernelRequest> requests;
  for (GroupPlan& group : model.groups) {
    if (group.view) continue;
    auto [it, fresh] = known.try_emplace(kernel_key(group, options), static_cast<int>(requests.size()));
    group.kernel = it->second;
    if (!fresh) continue;
    KernelRequest request{&group, {}, it->first};
    request.options.arm = arm_of(group, options);
    request.options.proof = options.proof;
    request.options.second_judge = options.second_judge;
    request.options.judge_steps = options.judge_steps;
    request.options.strict = options.strict;
    request.options.defer_fallback = true;
    request.options.exact = options.exact;
    for (const OpenSymbol& symbol : model.symbols) request.options.typical.push_back(symbol.chosen_for());
    if (const NamedScript* script = script_of(group, options)) {
      request.options.arm = Arm::Script;
      request.options.script = &script->script;
      request.options.script_origin = script->origin;
    }
    requests.push_back(request);
  }
  return requests;
}

using KernelsByKey = std::map<std::string, BuiltKernel>;

// Those in `known` are not built again; all that are built are added to it.
void schedule_kernels(CompiledModel& model, const codegen::Target& target, const ModelOptions& options, int jobs,
                      KernelsByKey& known) {
  const std::vector<KernelRequest> requests = distinct_kernels(model, options);
  model.kernels.assign(requests.size(), {});
  run_jobs(jobs, requests.size(), [&](std::size_t i) {
    if (auto built = known.find(requests[i].key); built != known.end()) {
      model.kernels[i] = built->second;
    } else {
      auto program = std::make_shared<const ir::Program>(requests[i].group->expansion.program);
      model.kernels[i] = build_kernel(program, target.machine, requests[i].options);
    }
    model.kernels[i].kernel.program.name = "k" + std::to_string(i);
  });
  for (std::size_t i = 0; i < requests.size(); ++i) known.try_emplace(requests[i].key, model.kernels[i]);
}

// Groups that the loop side hands back are split, until none is.
void schedule_and_split(CompiledModel& model, const codegen::Target& target, const ModelOptions& options) {
  const int jobs = jobs_of(options);
  KernelsByKey known;
  for (;;) {
    schedule_kernels(model, target, options, jobs, known);
    std::vector<std::string> kept;
    const std::vector<graph::KeepApart> apart = groups_to_split(model, options, kept);
    if (apart.empty()) {
      model.notes.insert(model.notes.end(), kept.begin(), kept.end());
      break;
    }
    for (const graph::KeepApart& one : apart) {
      const auto name = [&](int node) { return "'" + model.graph.node(node).name + "'"; };
      model.notes.push_back(one.reason + "; split between " + name(one.nodes[0]) + " and " + name(one.nodes[1]));
      model.fusion_options.keep_apart.push_back(one);
    }
    form_groups(model);
    expand_groups(model);
  }
  if (options.strict) refuse_fallbacks(model.kernels);
  for (const BuiltKernel& kernel : model.kernels)
    model.notes.insert(model.notes.end(), kernel.notes.begin(), kernel.notes.end());
}

void check_scripts_used(const CompiledModel& model, const ModelOptions& options) {
  std::vector<std::string> problems;
  auto check = [&](const std::string& who, const std::string& group) {
    const std::string problem = missing_kernel(model, group);
    if (!problem.empty()) problems.push_back(who + ": " + problem);
  };
  for (const NamedScript& script : options.scripts) check(script.origin, script.script.program);
  for (const auto& [name, arm] : options.group_arms) check("--schedule " + name + "=" + to_string(arm), name);
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

struct CompiledCode {
  std::vector<codegen::ScratchLayout> scratch;
  std::string library;
};

CompiledCode generate_code(CompiledModel& model, const codegen::Target& target, int jobs) {
  std::vector<std::string> objects(model.kernels.size());
  CompiledCode code;
  code.scratch.resize(model.kernels.size());
  std::vector<std::vector<std::string>> notes(model.kernels.size());
  run_jobs(jobs, model.kernels.size(), [&](std::size_t i) {
    codegen::ObjectCode object = codegen::compile({&model.kernels[i].kernel, 1}, target);
    objects[i] = std::move(object.bytes);
    code.scratch[i] = object.kernels.at(0).scratch;
    notes[i] = object.kernels[0].notes;
  });
  for (const auto& of_kernel : notes) model.notes.insert(model.notes.end(), of_kernel.begin(), of_kernel.end());
  if (!objects.empty()) code.library = codegen::link(objects);
  return code;
}

}  // namespace

int jobs_of(const ModelOptions& options) { return options.jobs > 0 ? options.jobs : default_jobs(); }

std::string missing_kernel(const CompiledModel& model, const std::string& group) {
  std::string known;
  for (const GroupPlan& each : model.groups) {
    if (each.name == group) return each.view ? "group '" + group + "' is a view: no kernel computes it" : "";
    if (!each.view) known += (known.empty() ? "" : ", ") + each.name;
  }
  return "the model has no group '" + group + "' (there are " + (known.empty() ? "none" : known) + ")";
}

CompiledModel partition_model(Network network, const Machine& machine, const ModelOptions& options) {
  CompiledModel model;
  model.symbols = std::move(network.symbols);
  model.sizes = std::move(network.sizes);
  model.others.assign(std::move_iterator(network.graphs.begin() + 1), std::move_iterator(network.graphs.end()));
  model.graph = std::move(network.graphs.front());
  std::set<std::string> model_nodes;
  for (const graph::Node& node : model.graph.nodes) model_nodes.insert(node.name);
  if (options.optimize) run(model, "graph passes", [&] { optimize(model, machine, options); });
  run(model, "fusion", [&] { partition(model, options, model_nodes); });
  run(model, "expansion", [&] { expand_groups(model); });
  return model;
}

CompiledModel schedule_model(Network network, const codegen::Target& target, const ModelOptions& options) {
  CompiledModel model = partition_model(std::move(network), target.machine, options);
  check_scripts_used(model, options);
  run(model, "schedules", [&] { schedule_and_split(model, target, options); });
  return model;
}

CompiledModel compile_model(Network network, const codegen::Target& target, const ModelOptions& options) {
  CompiledModel model = schedule_model(std::move(network), target, options);
  CompiledCode code;
  run(model, "code", [&] { code = generate_code(model, target, jobs_of(options)); });
  run(model, "assembly", [&] { model.parts = assemble(model, code.scratch, code.library, target, options); });
  return model;
}

}  // namespace polyte::driver
