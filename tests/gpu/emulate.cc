#include "tests/gpu/emulate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <tuple>

#include "codegen/cpu/link.h"
#include "codegen/nvptx/assembler.h"
#include "ir/program_text.h"
#include "ir/warp_memory.h"
#include "runtime/shared_library.h"
#include "support/error.h"
#include "support/gpu_machines.h"

namespace polyte::gpu::testing {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<ir::Values> sizes_of(const std::string& line) {
  std::vector<ir::Values> all(1);
  std::stringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (word == "|") {
      all.emplace_back();
    } else {
      all.back()[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
    }
  }
  return all;
}

KernelFile parsed(const fs::path& path) {
  KernelFile file;
  file.name = path.stem().string();
  std::stringstream lines(read(path));
  bool in_script = false;
  for (std::string line; std::getline(lines, line);) {
    constexpr const char* kSizes = "# sizes: ";
    if (line.rfind(kSizes, 0) == 0) file.sizes = sizes_of(line.substr(std::string(kSizes).size()));
    constexpr const char* kTolerance = "# tolerance: ";
    if (line.rfind(kTolerance, 0) == 0)
      file.tolerance = std::stod(line.substr(std::string(kTolerance).size()));
    file.of_largest =
        file.of_largest || (line.rfind(kTolerance, 0) == 0 && line.ends_with(" of the largest"));
    constexpr const char* kOnlyFor = "# only for: ";
    if (line.rfind(kOnlyFor, 0) == 0) file.only_for = line.substr(std::string(kOnlyFor).size());
    file.open = file.open || line == "# open";
    file.reads_subscripts = file.reads_subscripts || line == "# reads subscripts";
    file.no_conflicts = file.no_conflicts || line == "# no conflicts";
    if (line.rfind('#', 0) == 0) continue;
    in_script = in_script || line.rfind("schedule ", 0) == 0;
    (in_script ? file.script : file.program) += line + "\n";
  }
  if (file.sizes.empty()) file.sizes.emplace_back();
  return file;
}

}  // namespace

std::vector<KernelFile> kernel_files() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator("tests/gpu/kernels"))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<KernelFile> files;
  for (const fs::path& path : paths) files.push_back(parsed(path));
  return files;
}

KernelFile kernel_named(const std::string& name) {
  for (const KernelFile& file : kernel_files())
    if (file.name == name) return file;
  throw InternalError("no kernel " + name);
}

int count_of(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::vector<ir::LoopProgram> mutants(const ir::LoopProgram& loops,
                                     const std::function<ir::Stmt(const ir::Stmt&)>& form) {
  std::vector<ir::LoopProgram> all;
  int seen = 0;
  for (int which = 0; which <= seen; ++which) {
    seen = 0;
    const std::function<ir::Stmt(const ir::Stmt&)> changed = [&](const ir::Stmt& s) -> ir::Stmt {
      if (const ir::Stmt other = form(s)) return ++seen == which ? other : s;
      return ir::rewrite_children(s, changed);
    };
    ir::LoopProgram result = loops;
    result.body = changed(loops.body);
    if (which > 0) all.push_back(std::move(result));
  }
  return all;
}

namespace {

template <class Access>
std::string line_of(const std::string& kernel, const Access& a) {
  return kernel + ": " + a.statement + (a.write ? " writes " : " reads ") + a.buffer +
         (a.shared ? ", shared: " : ", global: ") + std::to_string(a.requests) + " requests of " +
         std::to_string(a.bytes) + " bytes, cost " + std::to_string(a.cost) + ", ideal " +
         std::to_string(a.ideal) + "\n";
}

}  // namespace

Traffic traffic_of(const ir::LoopProgram& loops, const ir::Environment& inputs, Memory memory) {
  Traffic result;
  int number = 0;
  for (const auto& [launch, work] : ir::launches_of(loops, {}, ir::Extent::All)) {
    const std::string kernel = loops.name + "_launch" + std::to_string(number++);
    for (const ir::MemoryAccess& a : launch)
      if (a.known) result.predicted += line_of(kernel, a);
  }
  const Emulated got = emulate(loops, inputs, {}, {.count_accesses = true}, memory);
  REQUIRE(joined(got.faults) == "");
  std::map<std::string, const runtime::LaunchCounts*> by_name;
  for (const runtime::LaunchCounts& launch : got.counts) by_name[launch.kernel] = &launch;
  for (const auto& [kernel, launch] : by_name)
    for (const runtime::AccessCounts& a : launch->accesses) {
      result.counted += line_of(kernel, a);
      Traffic::Cost& sum = a.shared ? result.shared : result.global;
      sum.cost += a.cost;
      sum.ideal += a.ideal;
    }
  return result;
}

void check_barriers(const ir::LoopProgram& loops, const ir::Environment& inputs) {
  const auto no_barrier = [](const ir::Stmt& s) {
    return std::holds_alternative<ir::Barrier>(s->op) ? ir::make_block({}) : nullptr;
  };
  for (const ir::LoopProgram& fewer : mutants(loops, no_barrier)) {
    CAPTURE(ir::print(fewer));
    CHECK_FALSE(emulate(fewer, inputs, {}).faults.empty());
  }
}

namespace {

int check_waits(const ir::LoopProgram& loops, const ir::Environment& inputs,
                const std::function<ir::Stmt(const ir::CopyGroup&)>& worse_wait) {
  const auto form = [&](const ir::Stmt& s) -> ir::Stmt {
    const auto* group = std::get_if<ir::CopyGroup>(&s->op);
    return group && group->wait ? worse_wait(*group) : nullptr;
  };
  int waits = 0;
  for (const ir::LoopProgram& worse : mutants(loops, form)) {
    CAPTURE(ir::print(worse));
    ++waits;
    for (const bool late : {false, true})
      CHECK_FALSE(emulate(worse, inputs, {}, {.late_copies = late}).faults.empty());
  }
  return waits;
}

}  // namespace

int check_waits(const ir::LoopProgram& loops, const ir::Environment& inputs) {
  return check_waits(loops, inputs, [](const ir::CopyGroup&) { return ir::make_block({}); });
}

int check_exact_waits(const ir::LoopProgram& loops, const ir::Environment& inputs) {
  return check_waits(loops, inputs, [](const ir::CopyGroup& group) {
    return ir::make_copy_group({true, group.pending + 1});
  });
}

codegen::Target gpu(const std::string& name) {
  const auto machine = gpu_machine(name);
  POLYTE_CHECK(machine.has_value(), "no GPU " + name);
  return {*machine, TargetKind::Cuda};
}

// Many tests ask for the same ones, whose proofs take a second each.
schedule::State scheduled(const KernelFile& file, const ir::Values& sizes, const Machine& machine,
                          schedule::ProofLevel proof) {
  static std::map<std::tuple<std::string, ir::Values, std::string, schedule::ProofLevel>,
                  schedule::State>
      known;
  const std::tuple key{file.program + file.script, sizes,
                       machine.cpu + codegen::architecture_of(*machine.gpu), proof};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  auto program = std::make_shared<const ir::Program>(ir::parse_program(file.program, file.name));
  if (!sizes.empty()) program = std::make_shared<const ir::Program>(ir::bind(*program, sizes));
  const auto state = schedule::replay(program, schedule::parse_script(file.script, file.name),
                                      machine, {proof, {}});
  if (!state)
    throw InternalError(file.name + ": " + schedule::to_string(state.error(), file.name, ""));
  return known.emplace(key, *state).first->second;
}

namespace {

struct Compiled {
  std::string text;  // of the loops
  std::int64_t scratch_bytes;
  runtime::SharedLibrary library;
};

Compiled compiled(const ir::LoopProgram& loops, std::string text) {
  const codegen::Kernel kernel{loops, {}};
  codegen::CodegenOptions how;
  how.emulated = true;
  const codegen::ObjectCode object = codegen::compile({&kernel, 1}, gpu("h100"), how);
  const std::string linked = codegen::link({&object.bytes, 1});
  return {std::move(text), object.kernels.front().scratch.total_bytes(1),
          runtime::SharedLibrary(std::as_bytes(std::span(linked)), loops.name)};
}

// The last one is kept: the same loops are run in one order of the threads after another.
const Compiled& last_compiled(const ir::LoopProgram& loops) {
  static std::unique_ptr<const Compiled> last;
  std::string text = ir::print(loops);
  if (!last || last->text != text)
    last = std::make_unique<const Compiled>(compiled(loops, std::move(text)));
  return *last;
}

}  // namespace

Emulated emulate(const ir::LoopProgram& loops, const ir::Environment& inputs,
                 const ir::Values& sizes, const runtime::EmulatorOptions& options, Memory memory) {
  const auto written = runtime::Emulator::Defined::Yes;
  const auto fresh = memory == Memory::Written ? written : runtime::Emulator::Defined::No;
  const Compiled& code = last_compiled(loops);
  Emulated result{inputs, 0, {}, {}};
  runtime::Emulator emulator(options);
  std::vector<const void*> pointers;
  for (const ir::Buffer& buffer : loops.buffers) {
    std::vector<std::int64_t> shape;
    for (const ir::Affine& extent : buffer.shape) shape.push_back(ir::evaluate(extent, sizes));
    const auto [at, is_new] =
        result.buffers.try_emplace(buffer.name, ir::make_contents(buffer.dtype, shape));
    auto& bytes = at->second.bytes;
    emulator.add_memory(buffer.name, bytes.data(), static_cast<std::int64_t>(bytes.size()),
                        is_new ? fresh : written);
    pointers.push_back(bytes.data());
  }
  std::vector<std::int64_t> params;
  for (const std::string& param : loops.params) params.push_back(sizes.at(param));
  pointers.push_back(params.data());
  std::vector<std::byte> scratch(static_cast<std::size_t>(code.scratch_bytes) + 64);
  emulator.add_memory("scratch", scratch.data(), static_cast<std::int64_t>(scratch.size()), fresh);
  const polyte_host host = emulator.host();
  result.code = code.library.kernel(loops.name)(pointers.data(), scratch.data(), &host);
  if (result.code == 0) result.code = emulator.status();
  for (std::size_t i = 0; i < loops.buffers.size(); ++i)
    if (const ir::Role role = loops.buffers[i].role;
        result.code == 0 && (role == ir::Role::Out || role == ir::Role::InOut))
      emulator.expect_no_undefined_copy(pointers[i]);
  result.faults = emulator.faults();
  result.counts = emulator.counts();
  return result;
}

}  // namespace polyte::gpu::testing
