#include "codegen/cpu/link.h"
#include "driver/compile/describe_target.h"
#include "driver/compile/device_code.h"
#include "driver/compile/pack_constants.h"
#include "driver/package/assemble.h"
#include "driver/package/assemble_parts.h"
#include "driver/package/constant_pool.h"
#include "driver/package/scheduling.h"
#include "driver/package/thread_cost.h"

namespace polyte::driver {
namespace {

// The one step of an operator: its Program's buffers in order, then what the kernel wants packed.
class OperatorAssembler {
 public:
  OperatorAssembler(const CompiledOperator& op, std::span<const runtime::Tensor> tensors)
      : op_(op), tensors_(tensors), read_(buffers_read(op.built.kernel.program)) {}

  // The order of the steps: copies of tensors that are updated in place (add_interface), then
  // the kernel.
  runtime::ArtifactParts run(const codegen::Target& target) {
    const std::vector<const ir::Buffer*> interface = op_.built.program->interface();
    POLYTE_CHECK(interface.size() == tensors_.size(), "one tensor an interface buffer");
    for (std::size_t i = 0; i < interface.size(); ++i) add_interface(*interface[i], tensors_[i]);
    add_packed();
    add_step(target);
    describe_target(target, parts_.manifest);
    parts_.manifest.options = {{"script", op_.built.script.name}};
    parts_.scripts.emplace_back(op_.built.program->name, schedule::print(op_.built.script));
    if (target.kind == TargetKind::Cuda) {
      add_device(target);
    } else {
      take_kernels(op_.library, parts_);
    }
    take_constants(pool_, 1, parts_);
    return std::move(parts_);
  }

 private:
  const CompiledOperator& op_;
  std::span<const runtime::Tensor> tensors_;
  const std::set<std::string> read_;
  runtime::ArtifactParts parts_;
  runtime::StepSpec step_;
  ConstantPool pool_;
  std::map<std::string, std::span<const std::byte>> constants_;

  void add_buffer(const std::string& name, runtime::BufferPlace place, std::size_t index,
                  std::int64_t offset, std::int64_t bytes) {
    step_.buffers.push_back(static_cast<std::int64_t>(parts_.manifest.buffers.size()));
    parts_.manifest.buffers.push_back(
        {name, place, static_cast<std::int64_t>(index), offset, bytes});
  }

  void add_argument(const ir::Buffer& buffer, const runtime::Tensor& tensor,
                    runtime::BufferPlace place, std::vector<runtime::TensorSpec>& specs) {
    add_buffer(buffer.name, place, specs.size(), 0, tensor.bytes());
    specs.push_back({buffer.name, tensor.dtype(), tensor.shape()});
  }

  // In the Program's order: the step's buffers are what the kernel takes.
  void add_interface(const ir::Buffer& buffer, const runtime::Tensor& tensor) {
    using runtime::BufferPlace;
    switch (buffer.role) {
      case ir::Role::In:
        return add_argument(buffer, tensor, BufferPlace::Input, parts_.manifest.inputs);
      case ir::Role::Out:
        return add_argument(buffer, tensor, BufferPlace::Output, parts_.manifest.outputs);
      case ir::Role::Const:
        return add_constant(buffer, tensor);
      case ir::Role::InOut:
        return add_in_place(buffer, tensor);
      default:
        POLYTE_CHECK(false, "'" + buffer.name + "' is no part of the interface");
    }
  }

  // An artifact's tensors are inputs or outputs: one that is both is copied from the input of its
  // name to the output, where the kernel works on it. So a run can be repeated.
  void add_in_place(const ir::Buffer& buffer, const runtime::Tensor& tensor) {
    runtime::ArtifactManifest& manifest = parts_.manifest;
    const auto number = static_cast<std::int64_t>(manifest.buffers.size());
    const auto index = static_cast<std::int64_t>(manifest.inputs.size());
    manifest.buffers.push_back(
        {buffer.name, runtime::BufferPlace::Input, index, 0, tensor.bytes()});
    manifest.inputs.push_back({buffer.name, tensor.dtype(), tensor.shape()});
    add_argument(buffer, tensor, runtime::BufferPlace::Output, manifest.outputs);
    runtime::StepSpec copy;
    copy.group = op_.built.program->name;
    copy.buffers = {number, number + 1};
    manifest.steps.push_back(std::move(copy));
  }

  // What is only read packed leaves no bytes of its own behind.
  void add_constant(const ir::Buffer& buffer, const runtime::Tensor& tensor) {
    if (read_.contains(buffer.name)) {
      add_buffer(buffer.name, runtime::BufferPlace::Constant, 0, pool_.add(tensor.raw()),
                 tensor.bytes());
    } else {
      add_buffer(buffer.name, runtime::BufferPlace::Arena, 0, 0, 0);
    }
    constants_[buffer.name] = tensor.raw();
  }

  // Packed when the pool is written: only then is the memory there.
  void add_packed() {
    const std::vector<std::int64_t> sizes = packed_sizes(op_.built);
    const std::vector<std::int64_t> offsets =
        pool_.add(sizes, [this](auto packed) { pack_constants(op_.built, constants_, packed); });
    for (std::size_t i = 0; i < sizes.size(); ++i)
      add_buffer(op_.built.packed[i].name, runtime::BufferPlace::Constant, 0, offsets[i], sizes[i]);
  }

  // An emulated operator's own library holds the device's code: what starts it on a GPU is
  // made here.
  void add_device(const codegen::Target& target) {
    const GpuObject made = compile_for_gpu(op_.built.kernel, target, op_.emulated);
    take_kernels(codegen::link({&made.host.bytes, 1}), parts_);
    take_device({&made.device, 1}, parts_);
  }

  void add_step(const codegen::Target& target) {
    step_.kernel = op_.built.kernel.program.name;
    step_.scheduling = scheduling_of(op_.built);
    step_.group = op_.built.program->name;
    step_.scratch_shared_bytes = op_.scratch.shared_bytes;
    step_.scratch_bytes_per_worker = op_.scratch.bytes_per_worker;
    step_.parallel = has_parallel_loop(op_.built.kernel.program) &&
                     is_worth_threads(*op_.built.program, target.machine);
    parts_.manifest.steps.push_back(step_);
  }
};

}  // namespace

runtime::ArtifactParts assemble(const CompiledOperator& op,
                                std::span<const runtime::Tensor> tensors,
                                const codegen::Target& target) {
  return OperatorAssembler(op, tensors).run(target);
}

}  // namespace polyte::driver
