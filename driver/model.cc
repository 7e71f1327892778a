#include "driver/model.h"

#include <algorithm>
#include <cctype>
#include <chrono>

#include "codegen/link.h"
#include "driver/assemble.h"
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

// "g2_conv_relu": the position and up to three operators, a name that Program text accepts.
std::string group_name(const graph::Graph& graph, std::size_t number, const std::vector<graph::NodeId>& nodes) {
  constexpr std::size_t kShown = 3;
  std::string name = "g" + std::to_string(number);
  for (std::size_t i = 0; i < std::min(kShown, nodes.size()); ++i) {
    name += '_';
    for (char c : graph::info(graph.node(nodes[i]).op).name) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return name;
}

void partition(CompiledModel& model, const ModelOptions& options) {
  model.fusion_graph = graph::make_fusion_graph(model.graph);
  graph::FusionOptions fusion;
  fusion.enabled = options.fuse;
  model.fusion = graph::fuse(model.fusion_graph, fusion);
  for (const std::vector<int>& nodes : model.fusion.groups) {
    GroupPlan group;
    group.nodes = nodes;
    group.name = group_name(model.graph, model.groups.size(), nodes);
    group.view = nodes.size() == 1 && graph::is_view(model.graph.node(nodes[0]).op);
    model.groups.push_back(std::move(group));
  }
}

void expand_groups(CompiledModel& model) {
  for (GroupPlan& group : model.groups) {
    if (!group.view) group.expansion = graph::expand(model.graph, group.nodes, group.name);
  }
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
};

std::vector<KernelRequest> distinct_kernels(CompiledModel& model, const ModelOptions& options) {
  std::map<std::string, int> known;
  std::vector<KernelRequest> requests;
  for (GroupPlan& group : model.groups) {
    if (group.view) continue;
    auto [it, fresh] = known.try_emplace(kernel_key(group, options), static_cast<int>(requests.size()));
    group.kernel = it->second;
    if (!fresh) continue;
    KernelRequest request{&group, {}};
    request.options.arm = arm_of(group, options);
    request.options.proof = options.proof;
    request.options.strict = options.strict;
    request.options.exact = options.exact;
    if (const NamedScript* script = script_of(group, options)) {
      request.options.arm = Arm::Script;
      request.options.script = &script->script;
      request.options.script_origin = script->origin;
    }
    requests.push_back(request);
  }
  return requests;
}

void schedule_kernels(CompiledModel& model, const codegen::Target& target, const ModelOptions& options, int jobs) {
  const std::vector<KernelRequest> requests = distinct_kernels(model, options);
  model.kernels.resize(requests.size());
  run_jobs(jobs, requests.size(), [&](std::size_t i) {
    auto program = std::make_shared<const ir::Program>(requests[i].group->expansion.program);
    model.kernels[i] = build_kernel(program, target.machine, requests[i].options);
    model.kernels[i].kernel.program.name = "k" + std::to_string(i);
  });
  for (const BuiltKernel& kernel : model.kernels) {
    model.notes.insert(model.notes.end(), kernel.notes.begin(), kernel.notes.end());
  }
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

CompiledModel partition_model(graph::Graph graph, const Machine& machine, const ModelOptions& options) {
  CompiledModel model;
  model.graph = std::move(graph);
  if (options.optimize) {
    graph::OptimizeOptions passes;
    passes.exact = options.exact;
    passes.layout = {options.layout, {machine.lanes(DType::F32), machine.fma_per_cycle}};
    run(model, "graph passes", [&] { model.passes = graph::optimize(model.graph, passes); });
  }
  run(model, "fusion", [&] { partition(model, options); });
  run(model, "expansion", [&] { expand_groups(model); });
  return model;
}

CompiledModel schedule_model(graph::Graph graph, const codegen::Target& target, const ModelOptions& options) {
  CompiledModel model = partition_model(std::move(graph), target.machine, options);
  check_scripts_used(model, options);
  run(model, "schedules", [&] { schedule_kernels(model, target, options, jobs_of(options)); });
  return model;
}

CompiledModel compile_model(graph::Graph graph, const codegen::Target& target, const ModelOptions& options) {
  CompiledModel model = schedule_model(std::move(graph), target, options);
  CompiledCode code;
  run(model, "code", [&] { code = generate_code(model, target, jobs_of(options)); });
  run(model, "assembly", [&] { model.parts = assemble(model, code.scratch, code.library, target, options); });
  return model;
}

}  // namespace polyte::driver
