#include "driver/compile/operator.h"

#include <algorithm>
#include <cstring>

#include "codegen/cpu/link.h"
#include "driver/compile/describe_target.h"
#include "driver/compile/pack_constants.h"
#include "support/features.h"

namespace polyte::driver {
namespace {

runtime::Bytes to_bytes(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, text.size()};
}

// The library, once this processor is known to have what its code needs.
const std::string& checked_library(const CompiledOperator& op) {
  if (op.emulated) return op.library;
  if (op.arch == to_string(TargetKind::Cuda))
    throw UserError(ExitStatus::Device,
                    "'" + op.built.program->name + "' is compiled for " + op.cpu +
                        ": polyte run takes it as an artifact (--artifact), --emulate runs its "
                        "threads on this CPU");
  runtime::ArtifactManifest needs;
  needs.arch = op.arch;
  needs.cpu = op.cpu;
  needs.features = op.features;
  runtime::check_cpu(needs, detect_features(), op.built.program->name);
  return op.library;
}

}  // namespace

CompiledOperator compile_operator(std::shared_ptr<const ir::Program> program,
                                  const codegen::Target& target, const KernelOptions& options) {
  CompiledOperator op;
  op.built = build_kernel(std::move(program), target.machine, options);
  StageLog log(op.built.times);
  codegen::ObjectCode object;
  const codegen::CodegenOptions how{.emulated = options.emulated};
  log.run("code generation",
          [&] { object = codegen::compile({&op.built.kernel, 1}, target, how); });
  log.run("link", [&] { op.library = codegen::link({&object.bytes, 1}); });
  // Temporaries of open size are no part of the workspace, whose size is fixed: they are rooms,
  // buffers that are given with the others.
  op.scratch = object.kernels.at(0).scratch;
  for (const ir::Buffer& buffer : op.built.kernel.program.buffers)
    if (buffer.role == ir::Role::Temp) op.rooms.push_back(buffer);
  op.emulated = options.emulated;
  runtime::ArtifactManifest needs;
  describe_target(target, needs);
  op.arch = needs.arch;
  op.cpu = needs.cpu;
  op.features = needs.features;
  for (const std::string& note : object.kernels[0].notes) op.built.notes.push_back(note);
  return op;
}

LoadedOperator::LoadedOperator(const CompiledOperator& op)
    : library_(to_bytes(checked_library(op)), op.built.kernel.program.name),
      kernel_(library_.kernel(op.built.kernel.program.name)) {}

Workers Workers::of_threads(int threads) {
  Workers workers{std::make_shared<runtime::ThreadPool>(threads)};
  workers.host = &workers.pool->host();
  return workers;
}

OperatorRunner::OperatorRunner(const CompiledOperator& op, std::span<runtime::Tensor> tensors,
                               int threads)
    : OperatorRunner(std::make_shared<const LoadedOperator>(op), op, tensors,
                     Workers::of_threads(threads)) {}

OperatorRunner::OperatorRunner(std::shared_ptr<const LoadedOperator> loaded,
                               const CompiledOperator& op, std::span<runtime::Tensor> tensors,
                               Workers workers)
    : loaded_(std::move(loaded)),
      workers_(std::move(workers)),
      packed_(pack_constants(op.built, tensors)),
      scratch_(DType::U8, {op.scratch.total_bytes(static_cast<int>(workers_.host->workers))}),
      room_buffers_(op.rooms),
      rooms_(op.rooms.size()),
      sizes_(op.built.program->params.size()),
      program_(op.built.program),
      emulated_(op.emulated) {
  POLYTE_CHECK(tensors.size() == op.built.program->interface().size(),
               "one tensor an interface buffer");
  // The kernel takes one array of addresses:
  //   tensors of the interface | packed constants | rooms | the open sizes, if there are any
  for (const std::span<runtime::Tensor> all : {tensors, std::span(packed_)}) {
    for (runtime::Tensor& tensor : all) {
      buffers_.push_back(tensor.data());
      bytes_.push_back(static_cast<std::int64_t>(tensor.raw().size()));
    }
  }
  for (const ir::Buffer* buffer : op.built.program->interface())
    is_const_.push_back(buffer->role == ir::Role::Const);
  buffers_.resize(buffers_.size() + rooms_.size());
  if (!sizes_.empty()) buffers_.push_back(sizes_.data());
  bytes_.resize(buffers_.size(), static_cast<std::int64_t>(sizes_.size() * sizeof(std::int64_t)));
  others_ = buffers_;
}

// Rooms only grow: a run at smaller sizes uses a part of what is there.
void OperatorRunner::resize(std::span<const std::int64_t> sizes,
                            std::span<runtime::Tensor> tensors) {
  POLYTE_CHECK(sizes.size() == sizes_.size(), "one value an open size");
  ir::Values values;
  for (std::size_t i = 0; i < sizes.size(); ++i) values[program_->params[i]] = sizes[i];
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    const std::size_t at = tensors.size() + packed_.size() + i;
    std::vector<std::int64_t> shape;
    for (const ir::Affine& extent : room_buffers_[i].shape)
      shape.push_back(ir::evaluate(extent, values));
    bytes_[at] = runtime::count_bytes(room_buffers_[i].dtype, shape);
    if (rooms_[i].bytes() < bytes_[at]) rooms_[i] = runtime::AlignedBuffer(bytes_[at]);
    buffers_[at] = others_[at] = rooms_[i].data();
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) bytes_[i] = tensors[i].bytes();
  std::ranges::copy(sizes, sizes_.begin());
}

// What the emulator finds in code whose script was proved is a fault of Polyte.
// Outputs and the workspace are undefined at first, and no output may end as a copy of what is
// undefined.
int OperatorRunner::run_emulated(const std::vector<const void*>& buffers) {
  using Defined = runtime::Emulator::Defined;
  runtime::Emulator emulator(emulation_);
  const std::vector<const ir::Buffer*> interface = program_->interface();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const bool is_out = i < interface.size() && interface[i]->role == ir::Role::Out;
    const std::string name = i < interface.size() ? interface[i]->name : "a packed constant";
    emulator.add_memory(name, const_cast<void*>(buffers[i]),  // NOLINT: the device has no const
                        bytes_[i], is_out ? Defined::No : Defined::Yes);
  }
  emulator.add_memory("the workspace", scratch_.data(),
                      static_cast<std::int64_t>(scratch_.raw().size()), Defined::No);
  const polyte_host host = emulator.host();
  const int code = loaded_->kernel()(buffers.data(), scratch_.data(), &host);
  counts_ = emulator.counts();
  for (std::size_t i = 0; i < interface.size(); ++i)
    if (code == 0 && (interface[i]->role == ir::Role::Out || interface[i]->role == ir::Role::InOut))
      emulator.expect_no_undefined_copy(buffers[i]);
  if (!emulator.faults().empty()) {
    std::string text = "the emulator found a fault in the code of '" + program_->name + "'";
    for (const std::string& fault : emulator.faults()) text += "\n  " + fault;
    throw InternalError(text);
  }
  return code != 0 ? code : emulator.status();
}

void OperatorRunner::run() { run(buffers_); }

// For calls with other tensors of the same shapes: constants keep the addresses that were
// packed.
void OperatorRunner::run_on(std::span<void* const> data) {
  POLYTE_CHECK(data.size() == is_const_.size(), "one address per tensor");
  for (std::size_t i = 0; i < data.size(); ++i)
    if (!is_const_[i]) others_[i] = data[i];
  run(others_);
}

void OperatorRunner::run(const std::vector<const void*>& buffers) {
  const int code = emulated_ ? run_emulated(buffers)
                             : loaded_->kernel()(buffers.data(), scratch_.data(), workers_.host);
  if (code == POLYTE_OUT_OF_BOUNDS)
    throw UserError(
        ExitStatus::InvalidInput,
        "a subscript read at run time is outside its dimension; polyte interpret says which");
  if (code != 0) throw InternalError("the kernel returned code " + std::to_string(code));
}

std::vector<runtime::Tensor> make_tensors(const ir::Program& program) {
  std::vector<runtime::Tensor> tensors;
  for (const ir::Buffer* buffer : program.interface()) {
    tensors.emplace_back(buffer->dtype, ir::constant_shape(*buffer));
  }
  return tensors;
}

ir::Contents to_contents(const runtime::Tensor& tensor) {
  ir::Contents contents = ir::make_contents(tensor.dtype(), tensor.shape());
  std::ranges::copy(tensor.raw(), contents.bytes.begin());
  return contents;
}

runtime::Tensor to_tensor(const ir::Contents& contents) {
  runtime::Tensor tensor(contents.dtype, contents.shape);
  std::ranges::copy(contents.bytes, tensor.raw().begin());
  return tensor;
}

}  // namespace polyte::driver
