#include "driver/package/assemble_parts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "driver/compile/describe_target.h"

namespace polyte::driver {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

nlohmann::ordered_json report_of(const DeviceCode& code) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const codegen::DeviceBinary::Kernel& kernel : code.assembled.kernels)
    kernels.push_back({{"name", kernel.name},
                       {"registers", kernel.registers},
                       {"stack_bytes", kernel.stack_bytes},
                       {"spill_store_bytes", kernel.spill_store_bytes},
                       {"spill_load_bytes", kernel.spill_load_bytes}});
  return {{"module", code.module},
          {"kernels", std::move(kernels)},
          {"messages", code.assembled.messages}};
}

}  // namespace

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

std::vector<std::int64_t> packed_sizes(const BuiltKernel& kernel) {
  std::vector<std::int64_t> sizes;
  for (const PackedBuffer& buffer : kernel.packed) sizes.push_back(buffer.bytes());
  return sizes;
}

void take_kernels(const std::string& library, runtime::ArtifactParts& parts) {
  parts.kernels = bytes_of(library);
}

void take_device(std::span<const DeviceCode> modules, runtime::ArtifactParts& parts) {
  if (modules.empty()) return;
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  for (const DeviceCode& code : modules) {
    runtime::DeviceModule module{code.module, {}, {}};
    for (const codegen::LaunchInfo& launch : code.launches)
      module.kernels.push_back({launch.name, launch.threads, launch.shared_bytes});
    for (const DeviceCode::Image& image : code.images) {
      // The emulator's code is machine code of this processor, so running it takes the
      // processor's features, which a cubin does not.
      module.architectures.push_back(image.architecture);
      if (image.architecture == runtime::kEmulated)
        parts.manifest.features = needed_features(codegen::detect_host());
      parts.device.push_back({code.module, image.architecture, bytes_of(image.bytes)});
    }
    parts.manifest.device.push_back(std::move(module));
    report.push_back(report_of(code));
  }
  parts.report = nlohmann::ordered_json{{"device", std::move(report)}}.dump(1) + "\n";
}

void take_constants(ConstantPool& pool, int jobs, runtime::ArtifactParts& parts) {
  if (pool.empty()) return;
  Constants constants = pool.finish(jobs);
  // Until here, offsets are those that the pool gave when a constant was placed: which are
  // equal, and lie in one place, is known when all are there.
  for (runtime::BufferSpec& buffer : parts.manifest.buffers)
    if (buffer.place == runtime::BufferPlace::Constant)
      buffer.offset = constants.offset_of(buffer.offset);
  parts.constants.push_back(std::move(constants.bytes));
}

}  // namespace polyte::driver
