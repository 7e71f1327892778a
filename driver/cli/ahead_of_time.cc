#include "driver/cli/ahead_of_time.h"

#include <sstream>

#include "driver/compile/describe_target.h"
#include "driver/package/assemble_parts.h"
#include "ir/program_text.h"
#include "support/error.h"
#include "support/join_words.h"

namespace polyte::cli {
namespace {

using codegen::CArgument;

codegen::Kernel named(codegen::Kernel kernel, const std::string& symbol) {
  kernel.program.name = symbol;
  return kernel;
}

codegen::Kernel packing_kernel(const driver::BuiltKernel& kernel) {
  codegen::Kernel packing;
  packing.program = kernel.packing;
  return packing;
}

// As the header declares an argument: extents and alignment are part of the contract in C.
CArgument argument_of(const codegen::Kernel& kernel, std::size_t i) {
  const ir::Buffer& buffer = kernel.program.buffers.at(i);
  CArgument argument;
  argument.name = buffer.name;
  argument.dtype = buffer.dtype;
  argument.shape = ir::constant_shape(buffer);
  argument.is_written = buffer.role == ir::Role::Out || buffer.role == ir::Role::InOut;
  argument.alignment = codegen::known_alignment_of(kernel, i, false);
  return argument;
}

// A constant that the kernel only sees packed is not asked for, and what is packed is not written
// by it.
std::vector<CArgument> arguments_of(const driver::BuiltKernel& kernel) {
  const std::set<std::string> read = driver::buffers_read(kernel.kernel.program);
  const std::size_t packed = kernel.kernel.program.buffers.size() - kernel.packed.size();
  std::vector<CArgument> result;
  for (std::size_t i = 0; i < kernel.kernel.program.buffers.size(); ++i) {
    result.push_back(argument_of(kernel.kernel, i));
    if (i >= packed) result.back().is_written = false;
    result.back().is_passed = result.back().is_written || read.contains(result.back().name);
  }
  return result;
}

// The function that packs reads the constants and writes the packed ones; none where nothing
// is packed.
std::vector<CArgument> packing_of(const driver::BuiltKernel& kernel) {
  const codegen::Kernel packing = packing_kernel(kernel);
  std::vector<CArgument> result;
  for (std::size_t i = 0; i < packing.program.buffers.size() && !kernel.packed.empty(); ++i) {
    result.push_back(argument_of(packing, i));
    result.back().is_written = std::ranges::any_of(
        kernel.packed,
        [&](const driver::PackedBuffer& packed) { return packed.name == result.back().name; });
  }
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> about(const driver::BuiltKernel& kernel, const codegen::Target& target) {
  std::vector<std::string> lines = {"Written by Polyte, schedule " + kernel.script.name + ":", ""};
  for (const std::string& line : lines_of(ir::print(*kernel.program))) lines.push_back("  " + line);
  const std::string& name = kernel.program->name;  // of the files
  lines.insert(
      lines.end(),
      {"",
       "Link " + name + ".o (--emit object), which is for " + to_string(target.kind) + ", " +
           target.machine.cpu + ", or " + name + ".c (--emit header,c), which is for any",
       "processor and takes its threads from OpenMP; either with -lm. Neither needs Polyte.", ""});
  return lines;
}

}  // namespace

std::string c_entries(const driver::BuiltKernel& kernel, const codegen::Target& target) {
  return codegen::write_c_entries(compile_ahead(kernel, target).c_kernel);
}

std::string extension_of(const std::string& kind) {
  if (kind == "object") return "o";
  return kind == "header" ? "h" : kind;
}

AheadOfTime compile_ahead(const driver::BuiltKernel& kernel, const codegen::Target& target) {
  if (target.kind == TargetKind::Cuda)
    throw UserError(ExitStatus::Unsupported,
                    "--emit object and header: kernels of a CPU, the target is " +
                        target.machine.cpu + "; --artifact keeps a GPU's");
  AheadOfTime result;
  codegen::CKernel& c = result.c_kernel;
  c.name = kernel.program->name;
  const codegen::CNamesOfKernel names = codegen::c_names_of(c.name);
  // What C calls is a wrapper in the header, so the kernel itself has a symbol of its own.
  std::vector<codegen::Kernel> kernels = {named(kernel.kernel, names.kernel)};
  if (!kernel.packed.empty()) kernels.push_back(named(packing_kernel(kernel), names.pack_kernel));
  codegen::ObjectCode object = codegen::compile(kernels, target);
  // The wrapper passes scratch to the kernel, and has none to pass for packing.
  if (kernels.size() > 1 && object.kernels[1].scratch.total_bytes(1) > 0)
    throw UserError(ExitStatus::Unsupported,
                    "--emit object: what packs the constants of '" + c.name +
                        "' needs memory of its own; give them as inputs, not const");
  c.arguments = arguments_of(kernel);
  c.packing = packing_of(kernel);
  c.shared_bytes = object.kernels[0].scratch.shared_bytes;
  c.bytes_per_worker = object.kernels[0].scratch.bytes_per_worker;
  c.is_parallel = driver::has_parallel_loop(kernel.kernel.program);
  c.about = about(kernel, target);
  runtime::ArtifactManifest needs;
  driver::describe_target(target, needs);
  for (const std::string& feature : needs.features)
    if (target.kind == TargetKind::X86) c.needs.push_back(feature.substr(1));
  result.object = std::move(object.bytes);
  return result;
}

}  // namespace polyte::cli
