#include "driver/compile/device_code.h"

#include <cctype>

#include "codegen/cpu/link.h"
#include "ir/intrinsics.h"
#include "ir/loop_program.h"
#include "runtime/manifest.h"

namespace polyte::driver {
namespace {

// As a name of members and of a module: letters, digits and underscores.
std::string as_word(const std::string& name) {
  std::string word;
  for (const char c : name) word += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return word;
}

// It has an instruction that later generations have not.
bool is_for_one_generation(const ir::LoopProgram& program) {
  bool found = false;
  ir::for_each_stmt(program.body, [&](const ir::Stmt& s) {
    const auto* tensorized = std::get_if<ir::Tensorized>(&s->op);
    const ir::Intrinsic* row = tensorized ? ir::find_intrinsic(tensorized->intrinsic) : nullptr;
    found = found || (row && row->specific);
  });
  return found;
}

}  // namespace

GpuObject compile_for_gpu(const codegen::Kernel& kernel, const codegen::Target& target,
                          bool emulated) {
  // PTX is for all later generations too, but for a kernel that uses what one alone can do.
  const bool is_specific = is_for_one_generation(kernel.program);
  codegen::Target portable = target;
  portable.machine.gpu->specific = is_specific && target.machine.gpu->specific;
  GpuObject result{codegen::compile({&kernel, 1}, portable), {}};
  DeviceCode& device = result.device;
  device.module = as_word(kernel.program.name);
  device.launches = result.host.kernels.at(0).launches;
  // Machine code for this GPU, ready to load, beside the PTX.
  if (codegen::has_assembler()) {
    device.assembled = codegen::assemble_ptx(result.host.device, target.machine);
    if (codegen::assembler_path(codegen::Assembler::Program).empty())
      device.assembled.messages.emplace_back("assembled by libnvJitLink: no ptxas was found");
    device.images.push_back(
        {codegen::architecture_of(*target.machine.gpu), std::exchange(device.assembled.bytes, {})});
  } else {
    result.host.kernels[0].notes.push_back(
        "no ptxas and no libnvJitLink: '" + device.module +
        "' has PTX alone, which the driver compiles when the artifact is opened");
  }
  if (is_specific)
    result.host.kernels[0].notes.push_back("'" + device.module + "' is for " +
                                           codegen::architecture_of(*target.machine.gpu) +
                                           " alone: it uses what no other generation has");
  // Without an assembler PTX is all there is, also for one generation.
  if (!is_specific || device.images.empty())
    device.images.push_back({runtime::kPtx, std::move(result.host.device)});
  // Compiled once more, for this processor: the emulator runs the same loops.
  if (!emulated) return result;
  const codegen::ObjectCode for_cpu = codegen::compile({&kernel, 1}, target, {.emulated = true});
  device.images.push_back({runtime::kEmulated, codegen::link({&for_cpu.bytes, 1})});
  return result;
}

}  // namespace polyte::driver
