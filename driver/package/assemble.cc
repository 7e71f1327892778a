#include "driver/package/assemble.h"

#include <algorithm>
#include <set>

#include "driver/compile/describe_target.h"
#include "driver/compile/open_model.h"
#include "driver/compile/pack_constants.h"
#include "driver/package/assemble_parts.h"
#include "driver/package/constant_pool.h"
#include "driver/package/model_storage.h"
#include "driver/package/scheduling.h"
#include "driver/package/thread_cost.h"
#include "graph/op.h"

namespace polyte::driver {
namespace {

class Assembler {
 public:
  Assembler(const CompiledModel& model, const codegen::Target& target, bool share)
      : model_(model),
        graph_(model.graph),
        target_(target),
        storage_(plan_model_storage(
            model, share, target.kind == TargetKind::Cuda ? codegen::kDeviceAlignment : 1)) {}

  // The interface; the steps, which decide what constants are kept; then what rests on these.
  runtime::ArtifactParts run(const ModelOptions& options) {
    for (const OpenSymbol& symbol : model_.symbols)
      manifest().symbols.push_back({symbol.name, symbol.least, symbol.most});
    for (const graph::ValueId id : graph_.inputs) manifest().inputs.push_back(spec_of(model_, id));
    for (const graph::ValueId id : graph_.outputs)
      manifest().outputs.push_back(spec_of(model_, id));
    for (std::size_t step = 0; step < storage_.steps.size(); ++step) add_step(step);
    manifest().arena_bytes = storage_.plan.arena_bytes;
    describe(options);
    take_kernels(model_.library, parts_);
    take_constants(constants_, jobs_of(options), parts_);
    take_device(model_.device, parts_);
    return std::move(parts_);
  }

 private:
  const CompiledModel& model_;
  const graph::Graph& graph_;
  const codegen::Target& target_;
  const ModelStorage storage_;
  runtime::ArtifactParts parts_;
  ConstantPool constants_;
  std::map<int, std::int64_t> buffer_of_;  // value of storage_ -> buffer number
  std::optional<std::int64_t> sizes_buffer_;

  runtime::ArtifactManifest& manifest() { return parts_.manifest; }

  const std::string& name_of(int value) const { return storage_.names.at(at(value)); }

  static std::size_t at(int position) { return static_cast<std::size_t>(position); }

  std::int64_t add_buffer(runtime::BufferSpec buffer) {
    manifest().buffers.push_back(std::move(buffer));
    return static_cast<std::int64_t>(manifest().buffers.size()) - 1;
  }

  // Where bytes [offset, offset + bytes) of a value lie: in the arena, or within what is outside of
  // it, an input, an output or a constant that holds the value.
  runtime::BufferSpec region(int value, std::int64_t offset, std::int64_t bytes) {
    const runtime::StoragePlan::Place& place = storage_.plan.places.at(at(value));
    runtime::BufferSpec buffer{name_of(value), runtime::BufferPlace::Arena, 0,
                               place.offset + offset, bytes};
    if (place.inside < 0) return buffer;
    const graph::ValueId home = storage_.ids.at(at(place.inside));
    const auto output = std::ranges::find(storage_.outputs, place.inside);
    if (output != storage_.outputs.end()) {
      buffer.place = runtime::BufferPlace::Output;
      buffer.index = output - storage_.outputs.begin();
    } else if (graph_.value(home).is_constant()) {
      buffer.place = runtime::BufferPlace::Constant;
      buffer.offset += constants_.add_shared(graph_.value(home).data);
    } else {
      buffer.place = runtime::BufferPlace::Input;
      buffer.index = std::ranges::find(graph_.inputs, home) - graph_.inputs.begin();
    }
    return buffer;
  }

  // One buffer per value; a region of it, for a copy, is a buffer of its own.
  std::int64_t buffer_of(int value) {
    const auto known = buffer_of_.find(value);
    if (known != buffer_of_.end()) return known->second;
    runtime::BufferSpec buffer = region(value, 0, storage_.values.at(at(value)).bytes);
    const runtime::StoragePlan::Share& share = storage_.plan.shares.at(at(value));
    using Kind = runtime::StoragePlan::Share::Kind;
    if (share.kind != Kind::Own) {
      buffer.sharing = share.kind == Kind::View   ? runtime::Sharing::View
                       : share.kind == Kind::Part ? runtime::Sharing::Part
                                                  : runtime::Sharing::Over;
      buffer.shared_with = name_of(share.of);
    }
    return buffer_of_[value] = add_buffer(std::move(buffer));
  }

  // The first steps are the groups', the others make outputs that are copies.
  void add_step(std::size_t step) {
    const bool is_group = step < model_.groups.size();
    const bool has_kernel = is_group && !model_.groups[step].view;
    const runtime::StoragePlan::Left& left = storage_.plan.steps[step];
    // A step that only copies may be left to the plan: what is a view or a part of its source needs
    // nothing, and the copies that remain are steps by themselves.
    if (has_kernel && left.runs) return add_kernel(step);
    for (const runtime::Copy& copy : left.runs ? storage_.steps[step].copies : left.copies)
      add_copy(copy, is_group ? model_.groups[step].name : "output " + name_of(copy.to));
  }

  void add_copy(const runtime::Copy& copy, const std::string& group) {
    runtime::StepSpec step;
    step.group = group;
    for (runtime::BufferSpec buffer : {region(copy.from, copy.from_offset, copy.bytes),
                                       region(copy.to, copy.to_offset, copy.bytes)}) {
      const runtime::TensorSpec spec = spec_of(model_, storage_.ids.at(at(copy.to)));
      if (is_open(spec)) buffer.exact = runtime::byte_count(spec);  // of open values all is copied
      step.buffers.push_back(add_buffer(std::move(buffer)));
    }
    manifest().steps.push_back(std::move(step));
  }

  void add_kernel(std::size_t number) {
    const GroupPlan& group = model_.groups[number];
    const BuiltKernel& kernel = model_.kernel_of(group);
    const codegen::ScratchLayout& scratch = model_.scratch[at(model_.kernel_of_group[number])];
    runtime::StepSpec step;
    step.kernel = kernel.kernel.program.name;
    step.scheduling = scheduling_of(kernel);
    step.group = group.name;
    step.scratch_shared_bytes = scratch.shared_bytes;
    step.scratch_bytes_per_worker = scratch.bytes_per_worker;
    const bool is_open = !kernel.program->params.empty();
    step.parallel = has_parallel_loop(kernel.kernel.program) &&
                    (is_open || is_worth_threads(group.expansion.program, target_.machine));
    step.parallel_from = least_scale_for_threads(*kernel.program, kernel.typical, target_.machine);
    for (const graph::NodeId id : group.nodes) {
      const graph::Node& node = graph_.node(id);
      step.nodes.push_back(std::string(graph::info(node.op).name) + " '" + node.name + "'");
    }
    const std::set<std::string> read = buffers_read(kernel.kernel.program);
    const std::vector<const ir::Buffer*> own = group.expansion.program.interface();
    // Equal kernels have one Program, whose names are those of the first group; buffers are this
    // group's own, by position. A constant that is only read packed leaves no bytes behind.
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool packed_away =
          own[i]->role == ir::Role::Const && !read.contains(kernel.program->interface()[i]->name);
      step.buffers.push_back(
          packed_away ? add_buffer({own[i]->name, runtime::BufferPlace::Arena, 0, 0, 0})
                      : buffer_of(storage_.value_of.at(group.expansion.arguments.at(i))));
    }
    add_packed(group, kernel, step);
    for (const int room : storage_.rooms[number]) step.buffers.push_back(buffer_of(room));
    if (!kernel.program->params.empty()) step.buffers.push_back(sizes_buffer());
    manifest().steps.push_back(std::move(step));
  }

  std::int64_t sizes_buffer() {
    const auto bytes = static_cast<std::int64_t>(model_.symbols.size() * sizeof(std::int64_t));
    if (!sizes_buffer_)
      sizes_buffer_ = add_buffer({"sizes", runtime::BufferPlace::Sizes, 0, 0, bytes});
    return *sizes_buffer_;
  }

  // Constants in the kernel's own layout. Equal kernels have their own weights, so packing
  // is per group.
  void add_packed(const GroupPlan& group, const BuiltKernel& kernel, runtime::StepSpec& step) {
    if (kernel.packed.empty()) return;
    std::map<std::string, std::span<const std::byte>> constants;
    const std::vector<const ir::Buffer*> names = kernel.program->interface();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i]->role != ir::Role::Const) continue;
      constants[names[i]->name] = *graph_.value(group.expansion.arguments[i]).data;
    }
    const std::vector<std::int64_t> sizes = packed_sizes(kernel);
    const std::vector<std::int64_t> offsets = constants_.add(
        sizes, [&kernel, constants](auto packed) { pack_constants(kernel, constants, packed); });
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      step.buffers.push_back(add_buffer({group.name + "." + kernel.packed[i].name,
                                         runtime::BufferPlace::Constant, 0, offsets[i], sizes[i]}));
    }
  }

  void describe(const ModelOptions& options) {
    describe_target(target_, manifest());
    manifest().options = {{"scheduler", to_string(options.scheduler)},
                          {"fusion", options.fuse ? "on" : "off"},
                          {"layout", std::string(graph::to_string(options.layout))},
                          {"convolutions", std::string(graph::to_string(options.convolutions))},
                          {"exact", options.exact ? "on" : "off"}};
    for (const GroupPlan& group : model_.groups) {
      if (group.view) continue;
      schedule::Script script = model_.kernel_of(group).script;
      script.program = group.name;
      parts_.scripts.emplace_back(group.name, schedule::print(script));
    }
  }
};

}  // namespace

runtime::ArtifactParts assemble(const CompiledModel& model, const codegen::Target& target,
                                const ModelOptions& options) {
  return Assembler(model, target, options.share).run(options);
}

}  // namespace polyte::driver
