#include "driver/compile/pack_constants.h"

#include <algorithm>

#include "ir/copy_loops.h"
#include "ir/interpret.h"

namespace polyte::driver {
namespace {

// What a packing computes besides moving elements; slow.
// Bytes are copied in and out: the interpreter has buffers of its own.
void interpret_packing(const ir::LoopProgram& packing, const ir::CopyMemory& memory) {
  ir::Environment buffers;
  for (const ir::Buffer& buffer : packing.buffers) {
    const auto from = memory.from.find(buffer.name);
    if (from == memory.from.end()) continue;
    ir::Contents contents{
        buffer.dtype, ir::constant_shape(buffer), {from->second.begin(), from->second.end()}};
    buffers.emplace(buffer.name, std::move(contents));
  }
  ir::interpret(packing, buffers, {});
  for (const auto& [name, bytes] : memory.to)
    std::ranges::copy(buffers.at(name).bytes, bytes.begin());
}

}  // namespace

void pack_constants(const BuiltKernel& kernel,
                    const std::map<std::string, std::span<const std::byte>>& constants,
                    std::span<const std::span<std::byte>> packed) {
  if (kernel.packed.empty()) return;
  ir::CopyMemory memory;
  for (const ir::Buffer& buffer : kernel.packing.buffers) {
    if (const auto it = constants.find(buffer.name); it != constants.end()) memory.from.insert(*it);
  }
  for (std::size_t i = 0; i < kernel.packed.size(); ++i)
    memory.to.emplace(kernel.packed[i].name, packed[i]);
  // Nearly all packings only move elements.
  if (ir::only_copies(kernel.packing)) return ir::run_copies(kernel.packing, memory);
  interpret_packing(kernel.packing, memory);
}

std::vector<runtime::Tensor> pack_constants(const BuiltKernel& kernel,
                                            std::span<runtime::Tensor> tensors) {
  std::map<std::string, std::span<const std::byte>> constants;
  const std::vector<const ir::Buffer*> interface = kernel.program->interface();
  for (std::size_t i = 0; i < interface.size(); ++i) {
    if (interface[i]->role == ir::Role::Const) constants[interface[i]->name] = tensors[i].raw();
  }
  std::vector<runtime::Tensor> packed;
  for (const PackedBuffer& buffer : kernel.packed) packed.emplace_back(buffer.dtype, buffer.shape);
  std::vector<std::span<std::byte>> bytes;
  for (runtime::Tensor& tensor : packed) bytes.push_back(tensor.raw());
  pack_constants(kernel, constants, bytes);
  return packed;
}

}  // namespace polyte::driver
