#include "driver/assemble.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/memory_plan.h"
#include "support/checked.h"

namespace polyte::driver {
namespace {

constexpr std::int64_t kAlignment = 64;

bool has_parallel_loop(const ir::LoopProgram& program) {
  bool found = false;
  ir::for_each_stmt(program.body, [&](const ir::Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    found = found || (loop && loop->kind == ir::LoopKind::Parallel);
  });
  return found;
}

std::set<std::string> buffers_read(const ir::LoopProgram& program) {
  std::set<std::string> names;
  ir::for_each_expr(program.body, [&](const ir::Expr& root) {
    for (const ir::Load* load : ir::loads_of(root)) names.insert(load->buffer);
  });
  return names;
}

void describe_target(const codegen::Target& target, runtime::ArtifactManifest& manifest) {
  manifest.cpu = target.machine.cpu;
  for (const std::string& feature : target.machine.features) {
    if (!feature.empty() && feature[0] == '+') manifest.features.push_back(feature);
  }
}

// The constants member under construction: 64-byte aligned pieces, equal sources once.
class ConstantPool {
 public:
  std::int64_t add(const std::vector<std::byte>& bytes) {
    const std::int64_t offset = ceil_div(static_cast<std::int64_t>(bytes_.size()), kAlignment) * kAlignment;
    bytes_.resize(static_cast<std::size_t>(offset));
    if (bytes_.empty() && bytes.empty()) bytes_.resize(kAlignment);  // what has no elements has a place all the same
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return offset;
  }
  std::int64_t add_shared(const std::shared_ptr<const graph::Bytes>& data) {
    auto it = known_.find(data);
    if (it != known_.end()) return it->second;
    const std::int64_t offset = add(*data);
    known_.emplace(data, offset);
    return offset;
  }
  runtime::AlignedBuffer finish() const {
    runtime::AlignedBuffer buffer(static_cast<std::int64_t>(bytes_.size()));
    if (!bytes_.empty()) std::memcpy(buffer.data(), bytes_.data(), bytes_.size());
    return buffer;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::vector<std::byte> bytes_;
  std::map<std::shared_ptr<const graph::Bytes>, std::int64_t> known_;  // by address: looked up, never iterated
};

class Assembler {
 public:
  Assembler(const CompiledModel& model, const std::vector<codegen::ScratchLayout>& scratch,
            const codegen::Target& target)
      : model_(model), graph_(model.graph), scratch_(scratch), target_(target) {}

  runtime::ArtifactParts run(const std::string& library, const ModelOptions& options) {
    interface();
    for (const GroupPlan& group : model_.groups) add_group(group);
    copy_remaining_outputs();
    plan_memory();
    describe(options);
    const auto* code = reinterpret_cast<const std::byte*>(library.data());
    parts_.kernels.assign(code, code + library.size());
    if (!constants_.empty()) parts_.constants.push_back(constants_.finish());
    return std::move(parts_);
  }

 private:
  const CompiledModel& model_;
  const graph::Graph& graph_;
  const std::vector<codegen::ScratchLayout>& scratch_;
  const codegen::Target& target_;
  runtime::ArtifactParts parts_;
  ConstantPool constants_;
  std::map<graph::ValueId, std::int64_t> buffer_of_;  // value -> buffer number
  std::set<graph::ValueId> delivered_;                // outputs that a step writes in place
  std::vector<runtime::Lifetime> lifetimes_;          // of arena buffers
  std::vector<std::int64_t> arena_buffers_;           // their numbers

  runtime::ArtifactManifest& manifest() { return parts_.manifest; }

  static runtime::TensorSpec spec_of(const graph::Value& value) {
    return {value.name, value.type.dtype, value.type.shape};
  }

  std::int64_t add_buffer(const std::string& name, runtime::BufferPlace place, std::int64_t index, std::int64_t offset,
                          std::int64_t bytes) {
    manifest().buffers.push_back({name, place, index, offset, bytes});
    return static_cast<std::int64_t>(manifest().buffers.size()) - 1;
  }

  void interface() {
    for (graph::ValueId id : graph_.inputs) {
      const graph::Value& value = graph_.value(id);
      buffer_of_[id] = add_buffer(value.name, runtime::BufferPlace::Input,
                                  static_cast<std::int64_t>(manifest().inputs.size()), 0, size_in_bytes(value.type));
      manifest().inputs.push_back(spec_of(value));
    }
    for (graph::ValueId id : graph_.outputs) manifest().outputs.push_back(spec_of(graph_.value(id)));
  }

  // The buffer that a step writes `id` to: the caller's output where it is one, else a place in the arena.
  std::int64_t target_buffer(graph::ValueId id, int step) {
    const graph::Value& value = graph_.value(id);
    const std::int64_t bytes = size_in_bytes(value.type);
    auto output = std::ranges::find(graph_.outputs, id);
    if (output != graph_.outputs.end()) {
      delivered_.insert(id);
      return buffer_of_[id] =
                 add_buffer(value.name, runtime::BufferPlace::Output, output - graph_.outputs.begin(), 0, bytes);
    }
    const std::int64_t number = add_buffer(value.name, runtime::BufferPlace::Arena, 0, 0, bytes);
    arena_buffers_.push_back(number);
    lifetimes_.push_back({bytes, step, step});
    return buffer_of_[id] = number;
  }

  std::int64_t source_buffer(graph::ValueId id, int step) {
    const graph::Value& value = graph_.value(id);
    auto known = buffer_of_.find(id);
    if (known == buffer_of_.end()) {
      POLYTE_CHECK(value.is_constant(), "value '" + value.name + "' is read before a step writes it");
      const std::int64_t number = add_buffer(value.name, runtime::BufferPlace::Constant, 0,
                                             constants_.add_shared(value.data), size_in_bytes(value.type));
      known = buffer_of_.emplace(id, number).first;
    }
    auto arena = std::ranges::find(arena_buffers_, known->second);
    if (arena != arena_buffers_.end()) {
      runtime::Lifetime& life = lifetimes_[static_cast<std::size_t>(arena - arena_buffers_.begin())];
      life.last_step = std::max(life.last_step, step);
    }
    return known->second;
  }

  int next_step() { return static_cast<int>(manifest().steps.size()); }

  void add_copy(graph::ValueId from, std::int64_t to, const std::string& group) {
    runtime::StepSpec step;
    step.group = group;
    step.buffers = {source_buffer(from, next_step()), to};
    manifest().steps.push_back(std::move(step));
  }

  void add_group(const GroupPlan& group) {
    if (group.view) {
      const graph::Node& node = graph_.node(group.nodes[0]);
      const graph::ValueId from = node.inputs[0], to = node.outputs[0];
      if (graph_.is_output(to)) {
        const std::int64_t target = target_buffer(to, next_step());
        add_copy(from, target, group.name);
      } else {
        buffer_of_[to] = source_buffer(from, next_step());  // the same bytes under another shape
      }
      return;
    }
    add_kernel(group);
  }

  void add_kernel(const GroupPlan& group) {
    const BuiltKernel& kernel = model_.kernels[static_cast<std::size_t>(group.kernel)];
    const codegen::ScratchLayout& scratch = scratch_[static_cast<std::size_t>(group.kernel)];
    const int number = next_step();
    runtime::StepSpec step;
    step.kernel = kernel.kernel.program.name;
    step.group = group.name;
    step.scratch_shared_bytes = scratch.shared_bytes;
    step.scratch_bytes_per_worker = scratch.bytes_per_worker;
    step.parallel = has_parallel_loop(kernel.kernel.program);
    const std::set<std::string> read = buffers_read(kernel.kernel.program);
    const std::vector<const ir::Buffer*> own = group.expansion.program.interface();
    for (std::size_t i = 0; i < own.size(); ++i) {
      const graph::ValueId id = group.expansion.arguments.at(i);
      const bool result = own[i]->role == ir::Role::Out;
      const bool packed_away = own[i]->role == ir::Role::Const && !read.contains(kernel.program->interface()[i]->name);
      if (packed_away) {
        step.buffers.push_back(add_buffer(own[i]->name, runtime::BufferPlace::Arena, 0, 0, 0));
      } else {
        step.buffers.push_back(result ? target_buffer(id, number) : source_buffer(id, number));
      }
    }
    add_packed(group, kernel, step);
    manifest().steps.push_back(std::move(step));
  }

  // Constants in the kernel's own layout. Equal kernels have their own weights, so packing is per group.
  void add_packed(const GroupPlan& group, const BuiltKernel& kernel, runtime::StepSpec& step) {
    if (kernel.packed.empty()) return;
    ir::Environment constants;
    const std::vector<const ir::Buffer*> names = kernel.program->interface();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i]->role != ir::Role::Const) continue;
      constants[names[i]->name] = to_contents(graph_.value(group.expansion.arguments[i]).tensor());
    }
    const ir::Environment packed = pack_constants(kernel, constants);
    for (const PackedBuffer& buffer : kernel.packed) {
      const std::vector<std::byte>& bytes = packed.at(buffer.name).bytes;
      step.buffers.push_back(add_buffer(group.name + "." + buffer.name, runtime::BufferPlace::Constant, 0,
                                        constants_.add(bytes), static_cast<std::int64_t>(bytes.size())));
    }
  }

  // Outputs that no step wrote in place: repeated ones, inputs and constants handed through.
  void copy_remaining_outputs() {
    std::set<graph::ValueId> seen;
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const graph::ValueId id = graph_.outputs[i];
      if (seen.insert(id).second && delivered_.contains(id)) continue;
      const graph::Value& value = graph_.value(id);
      add_copy(id,
               add_buffer(value.name, runtime::BufferPlace::Output, static_cast<std::int64_t>(i), 0,
                          size_in_bytes(value.type)),
               "output " + value.name);
    }
  }

  void plan_memory() {
    const runtime::ArenaPlan plan = runtime::plan_arena(lifetimes_);
    for (std::size_t i = 0; i < arena_buffers_.size(); ++i) {
      manifest().buffers[static_cast<std::size_t>(arena_buffers_[i])].offset = plan.offsets[i];
    }
    manifest().arena_bytes = plan.total;
  }

  void describe(const ModelOptions& options) {
    describe_target(target_, manifest());
    manifest().options = {{"scheduler", to_string(options.arm)},
                          {"fusion", options.fuse ? "on" : "off"},
                          {"layout", std::string(graph::to_string(options.layout))},
                          {"exact", options.exact ? "on" : "off"}};
    for (const GroupPlan& group : model_.groups) {
      if (group.view) continue;
      schedule::Script script = model_.kernels[static_cast<std::size_t>(group.kernel)].script;
      script.program = group.name;
      parts_.scripts.emplace_back(group.name, schedule::print(script));
    }
  }
};

// The one step of an operator: its Program's buffers in order, then what the kernel wants packed.
class OperatorAssembler {
 public:
  OperatorAssembler(const CompiledOperator& op, std::span<const runtime::Tensor> tensors)
      : op_(op), tensors_(tensors), read_(buffers_read(op.built.kernel.program)) {}

  runtime::ArtifactParts run(const codegen::Target& target) {
    const std::vector<const ir::Buffer*> interface = op_.built.program->interface();
    POLYTE_CHECK(interface.size() == tensors_.size(), "one tensor an interface buffer");
    for (std::size_t i = 0; i < interface.size(); ++i) add_interface(*interface[i], tensors_[i]);
    add_packed();
    add_step();
    describe_target(target, parts_.manifest);
    parts_.manifest.options = {{"script", op_.built.script.name}};
    parts_.scripts.emplace_back(op_.built.program->name, schedule::print(op_.built.script));
    const auto* code = reinterpret_cast<const std::byte*>(op_.library.data());
    parts_.kernels.assign(code, code + op_.library.size());
    if (!pool_.empty()) parts_.constants.push_back(pool_.finish());
    return std::move(parts_);
  }

 private:
  const CompiledOperator& op_;
  std::span<const runtime::Tensor> tensors_;
  const std::set<std::string> read_;
  runtime::ArtifactParts parts_;
  runtime::StepSpec step_;
  ConstantPool pool_;
  ir::Environment constants_;

  void add_buffer(const std::string& name, runtime::BufferPlace place, std::size_t index, std::int64_t offset,
                  std::int64_t bytes) {
    step_.buffers.push_back(static_cast<std::int64_t>(parts_.manifest.buffers.size()));
    parts_.manifest.buffers.push_back({name, place, static_cast<std::int64_t>(index), offset, bytes});
  }

  void add_argument(const ir::Buffer& buffer, const runtime::Tensor& tensor, runtime::BufferPlace place,
                    std::vector<runtime::TensorSpec>& specs) {
    add_buffer(buffer.name, place, specs.size(), 0, tensor.bytes());
    specs.push_back({buffer.name, tensor.dtype(), tensor.shape()});
  }

  void add_interface(const ir::Buffer& buffer, const runtime::Tensor& tensor) {
    using runtime::BufferPlace;
    switch (buffer.role) {
      case ir::Role::In:
        return add_argument(buffer, tensor, BufferPlace::Input, parts_.manifest.inputs);
      case ir::Role::Out:
        return add_argument(buffer, tensor, BufferPlace::Output, parts_.manifest.outputs);
      case ir::Role::Const:
        return add_constant(buffer, tensor);
      default:
        throw UserError(ExitStatus::Unsupported, "'" + buffer.name +
                                                     "' is input and output at once: an artifact's tensors are "
                                                     "either");
    }
  }

  // What is only read packed leaves no bytes of its own behind.
  void add_constant(const ir::Buffer& buffer, const runtime::Tensor& tensor) {
    ir::Contents contents = to_contents(tensor);
    if (read_.contains(buffer.name)) {
      add_buffer(buffer.name, runtime::BufferPlace::Constant, 0, pool_.add(contents.bytes), tensor.bytes());
    } else {
      add_buffer(buffer.name, runtime::BufferPlace::Arena, 0, 0, 0);
    }
    constants_[buffer.name] = std::move(contents);
  }

  void add_packed() {
    const ir::Environment packed = pack_constants(op_.built, constants_);
    for (const PackedBuffer& buffer : op_.built.packed) {
      const std::vector<std::byte>& bytes = packed.at(buffer.name).bytes;
      add_buffer(buffer.name, runtime::BufferPlace::Constant, 0, pool_.add(bytes),
                 static_cast<std::int64_t>(bytes.size()));
    }
  }

  void add_step() {
    step_.kernel = op_.built.kernel.program.name;
    step_.group = op_.built.program->name;
    step_.scratch_shared_bytes = op_.scratch.shared_bytes;
    step_.scratch_bytes_per_worker = op_.scratch.bytes_per_worker;
    step_.parallel = has_parallel_loop(op_.built.kernel.program);
    parts_.manifest.steps.push_back(step_);
  }
};

}  // namespace

runtime::ArtifactParts assemble(const CompiledOperator& op, std::span<const runtime::Tensor> tensors,
                                const codegen::Target& target) {
  return OperatorAssembler(op, tensors).run(target);
}

runtime::ArtifactParts assemble(const CompiledModel& model, const std::vector<codegen::ScratchLayout>& scratch,
                                const std::string& library, const codegen::Target& target,
                                const ModelOptions& options) {
  return Assembler(model, scratch, target).run(library, options);
}

}  // namespace polyte::driver
