#include "driver/package/model_storage.h"

#include <algorithm>

#include "driver/compile/open_model.h"
#include "driver/compile/storage_facts.h"
#include "support/error.h"

namespace polyte::driver {
namespace {

// Numbers values as they are met: inputs, then each group's in execution order, then copies for
// outputs.
class StorageBuilder {
 public:
  StorageBuilder(const ScheduledModel& model, std::int64_t alignment)
      : model_(model), graph_(model.graph), alignment_(alignment) {}

  ModelStorage run(bool share) {
    for (const graph::ValueId id : graph_.inputs) value(id);
    for (const GroupPlan& group : model_.groups) {
      storage_.rooms.emplace_back();
      group.view ? add_view(group) : add_kernel(group);
    }
    add_outputs();
    storage_.plan = plan(share);
    const std::vector<std::string> problems =
        runtime::check_storage(storage_.values, storage_.steps, storage_.plan);
    POLYTE_CHECK(problems.empty(), "memory plan: " + problems.front());
    return std::move(storage_);
  }

 private:
  const ScheduledModel& model_;
  const graph::Graph& graph_;
  std::int64_t alignment_;
  ModelStorage storage_;

  // Results over operands tie values together, which once in a while makes the arena larger.
  runtime::StoragePlan plan(bool share) const {
    using Level = runtime::SharingLevel;
    if (!share) return runtime::plan_storage(storage_.values, storage_.steps, Level::None);
    runtime::StoragePlan all = runtime::plan_storage(storage_.values, storage_.steps, Level::All);
    runtime::StoragePlan copies =
        runtime::plan_storage(storage_.values, storage_.steps, Level::Copies);
    return copies.arena_bytes < all.arena_bytes ? copies : all;
  }

  int add_value(const runtime::TensorSpec& spec, graph::ValueId id, runtime::Home home) {
    storage_.values.push_back({runtime::unit_bytes(spec), home});
    storage_.ids.push_back(id);
    storage_.names.push_back(spec.name);
    return static_cast<int>(storage_.values.size()) - 1;
  }

  int add_value(graph::ValueId id, runtime::Home home) {
    return add_value(spec_of(model_, id), id, home);
  }

  // A constant has no producer either: it is given, as an input is.
  int value(graph::ValueId id) {
    const auto known = storage_.value_of.find(id);
    if (known != storage_.value_of.end()) return known->second;
    const bool is_given = graph_.value(id).producer == graph::kNoNode;
    const runtime::Home home = is_given               ? runtime::Home::Given
                               : graph_.is_output(id) ? runtime::Home::Output
                                                      : runtime::Home::Arena;
    return storage_.value_of[id] = add_value(id, home);
  }

  // A copy of all bytes, which the plan turns into a view wherever it can.
  void add_copy_of_all(int from, int to) {
    const std::int64_t bytes = storage_.values[static_cast<std::size_t>(to)].bytes;
    storage_.steps.push_back(
        {.reads = {from}, .writes = {to}, .copies = {{from, 0, to, 0, bytes}}});
  }

  void add_view(const GroupPlan& group) {
    const graph::Node& node = graph_.node(group.nodes[0]);
    const int from = value(node.inputs[0]);
    add_copy_of_all(from, value(node.outputs[0]));
  }

  void add_kernel(const GroupPlan& group) {
    runtime::StorageStep step;
    std::vector<int> arguments;
    const std::vector<const ir::Buffer*> interface = group.expansion.program.interface();
    for (std::size_t i = 0; i < interface.size(); ++i) {
      arguments.push_back(value(group.expansion.arguments.at(i)));
      (interface[i]->role == ir::Role::Out ? step.writes : step.reads).push_back(arguments.back());
    }
    add_rooms(group, step);
    // Whether all that the kernel does is to copy runs of bytes, which the plan may then do
    // without. Of open sizes never: a part of a value lies at a distance that a larger scale
    // would stretch. An offset that does not keep the device's alignment would put a part where
    // no kernel may read it.
    const auto runs = model_.symbols.empty() ? copied_runs(group.expansion.program) : std::nullopt;
    const auto is_aligned = [&](const CopiedRun& run) {
      return (run.to_offset - run.from_offset) % alignment_ == 0;
    };
    if (runs && std::ranges::all_of(*runs, is_aligned)) {
      for (const CopiedRun& run : *runs)
        step.copies.push_back(
            {arguments[run.from], run.from_offset, arguments[run.to], run.to_offset, run.bytes});
    } else {
      for (const auto& [result, operand] : model_.kernel_of(group).kernel.in_place)
        step.in_place.push_back({arguments[result], arguments[operand]});
    }
    storage_.steps.push_back(std::move(step));
  }

  // A kernel's temporaries of open size live in the arena while it runs, like its results.
  void add_rooms(const GroupPlan& group, runtime::StorageStep& step) {
    const ir::LoopProgram& kernel = model_.kernel_of(group).kernel.program;
    for (const ir::Buffer& buffer : kernel.buffers) {
      if (buffer.role != ir::Role::Temp) continue;
      const auto spec =
          spec_of(group.name + "." + buffer.name, buffer.dtype, buffer.shape, kernel.params);
      storage_.rooms.back().push_back(add_value(spec, graph::kNoValue, runtime::Home::Arena));
      step.writes.push_back(storage_.rooms.back().back());
    }
  }

  // The first output of a value that a group computes is that value; all others are copied from it.
  void add_outputs() {
    std::vector<int> taken;
    for (const graph::ValueId id : graph_.outputs) {
      const int source = value(id);
      const bool is_own =
          storage_.values[static_cast<std::size_t>(source)].home == runtime::Home::Output &&
          std::ranges::find(taken, source) == taken.end();
      if (is_own) taken.push_back(source);
      storage_.outputs.push_back(is_own ? source : add_value(id, runtime::Home::Output));
      if (!is_own) add_copy_of_all(source, storage_.outputs.back());
    }
  }
};

}  // namespace

ModelStorage plan_model_storage(const ScheduledModel& model, bool share, std::int64_t alignment) {
  return StorageBuilder(model, alignment).run(share);
}

}  // namespace polyte::driver
