#include <algorithm>
#include <map>
#include <set>

#include "driver/compile/parallel_jobs.h"
#include "driver/compile/partition.h"

namespace polyte::driver {
namespace {

Scheduler scheduler_of(const GroupPlan& group, const ModelOptions& options) {
  auto it = options.group_schedulers.find(group.name);
  return it == options.group_schedulers.end() ? options.scheduler : it->second;
}

// A script is for the group that its header names.
const NamedScript* script_of(const GroupPlan& group, const ModelOptions& options) {
  auto it = std::ranges::find_if(
      options.scripts, [&](const NamedScript& s) { return s.script.program == group.name; });
  return it == options.scripts.end() ? nullptr : &*it;
}

// What makes two groups one kernel: what they compute and how they are scheduled.
std::string kernel_key(const GroupPlan& group, const ModelOptions& options) {
  const NamedScript* script = script_of(group, options);
  std::string how = script ? "script " + script->origin : to_string(scheduler_of(group, options));
  return how + "\n" + ir::canonical_text(group.expansion.program);
}

struct KernelRequest {
  const GroupPlan* group = nullptr;
  KernelOptions options;
  std::string key;
};

// One request per key; kernel_of_group says which one each group uses. Views have none.
std::vector<KernelRequest> distinct_kernels(ScheduledModel& model, const ModelOptions& options) {
  std::map<std::string, int> known;
  std::vector<KernelRequest> requests;
  model.kernel_of_group.assign(model.groups.size(), -1);
  for (std::size_t g = 0; g < model.groups.size(); ++g) {
    const GroupPlan& group = model.groups[g];
    if (group.view) continue;
    auto [it, fresh] =
        known.try_emplace(kernel_key(group, options), static_cast<int>(requests.size()));
    model.kernel_of_group[g] = it->second;
    if (!fresh) continue;
    KernelRequest request{&group, {}, it->first};
    request.options.scheduler = scheduler_of(group, options);
    request.options.proof = options.proof;
    request.options.second_judge = options.second_judge;
    request.options.judge_steps = options.judge_steps;
    request.options.strict = options.strict;
    // A group without a schedule may be split, and its parts have one: --strict is asked at the
    // end.
    request.options.defer_fallback = true;
    request.options.exact = options.exact;
    if (request.options.scheduler == Scheduler::Template)
      request.options.templates = options.templates;
    // The typical sizes are those that everything was chosen for, in the order of the
    // parameters.
    for (const OpenSymbol& symbol : model.symbols)
      request.options.typical.push_back(symbol.chosen_for());
    if (const NamedScript* script = script_of(group, options)) {
      request.options.scheduler = Scheduler::Script;
      request.options.script = &script->script;
      request.options.script_origin = script->origin;
    }
    requests.push_back(request);
  }
  return requests;
}

using KernelsByKey = std::map<std::string, BuiltKernel>;

// Those in `known` are not built again; all that are built are added to it.
void schedule_kernels(ScheduledModel& model, const codegen::Target& target,
                      const ModelOptions& options, int jobs, KernelsByKey& known) {
  const std::vector<KernelRequest> requests = distinct_kernels(model, options);
  model.kernels.assign(requests.size(), {});
  run_jobs(jobs, requests.size(), [&](std::size_t i) {
    if (auto built = known.find(requests[i].key); built != known.end()) {
      model.kernels[i] = built->second;
    } else {
      auto program = std::make_shared<const ir::Program>(requests[i].group->expansion.program);
      model.kernels[i] = build_kernel(program, target.machine, requests[i].options);
    }
    // By its number, also where it was built in an earlier round under another one.
    model.kernels[i].kernel.program.name = "k" + std::to_string(i);
  });
  for (std::size_t i = 0; i < requests.size(); ++i)
    known.try_emplace(requests[i].key, model.kernels[i]);
}

// Groups that the loop side hands back are split, until none is. It ends: each round keeps at least
// one more pair of nodes apart. Kernels of groups that stay are not scheduled again.
void schedule_and_split(ScheduledModel& model, const codegen::Target& target,
                        const ModelOptions& options) {
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
      model.notes.push_back(one.reason + "; split between " + name(one.nodes[0]) + " and " +
                            name(one.nodes[1]));
      model.fusion_options.keep_apart.push_back(one);
    }
    form_groups(model);
    expand_groups(model);
  }
  if (options.strict) refuse_fallbacks(model.kernels);
  for (const BuiltKernel& kernel : model.kernels)
    model.notes.insert(model.notes.end(), kernel.notes.begin(), kernel.notes.end());
}

void check_scripts_used(const ScheduledModel& model, const ModelOptions& options) {
  std::vector<std::string> problems;
  auto check = [&](const std::string& who, const std::string& group) {
    const std::string problem = missing_kernel(model, group);
    if (!problem.empty()) problems.push_back(who + ": " + problem);
  };
  std::map<std::string, std::string> script_of;  // by the group's name
  for (const NamedScript& script : options.scripts) {
    const std::string& group = script.script.program;
    check(script.origin, group);
    if (const auto [first, is_new] = script_of.try_emplace(group, script.origin); !is_new)
      problems.push_back(script.origin + ": a second script for '" + group + "', which has " +
                         first->second);
  }
  for (const auto& [name, scheduler] : options.group_schedulers)
    check("--schedule " + name + "=" + to_string(scheduler), name);
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

}  // namespace

ScheduledModel schedule_model(PartitionedModel partitioned, const codegen::Target& target,
                              const ModelOptions& options) {
  ScheduledModel model{std::move(partitioned)};
  check_scripts_used(model, options);
  StageLog(model.times).run("schedules", [&] { schedule_and_split(model, target, options); });
  return model;
}

ScheduledModel schedule_model(Network network, const codegen::Target& target,
                              const ModelOptions& options) {
  return schedule_model(partition_model(std::move(network), target.machine, options), target,
                        options);
}

const BuiltKernel& ScheduledModel::kernel_of(const GroupPlan& group) const {
  const auto number = static_cast<std::size_t>(&group - groups.data());
  return kernels.at(static_cast<std::size_t>(kernel_of_group.at(number)));
}

}  // namespace polyte::driver
