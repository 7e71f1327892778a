// Kernels for AArch64, run under qemu-aarch64, against the same Programs compiled for this machine:
// data are whole numbers, so every order of a sum gives the same bits. 0: all equal; 1: some
// differ; 77: a tool is missing.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "driver/compile/describe_target.h"
#include "driver/compile/operator.h"
#include "driver/compile/pack_constants.h"
#include "runtime/fill.h"
#include "support/error.h"
#include "tests/golden/programs.h"
#include "tests/sweep.h"

namespace polyte::driver {
namespace {

namespace fs = std::filesystem;
using testing::NamedProgram;

constexpr int kSkipped = 77;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "polyte_bits_XXXXXX").string();
    POLYTE_CHECK(mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

bool succeeds(const std::string& command) {
  return std::system(command.c_str()) == 0;
}  // NOLINT(concurrency-mt-unsafe)

// "" or the tool that is not here.
std::string missing_tool() {
  for (const char* tool : {"qemu-aarch64", "clang-19", "ld.lld-19"})
    if (!succeeds(std::string("command -v ") + tool + " >/dev/null 2>&1")) return tool;
  return "";
}

void append(std::string& bytes, std::int64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Whole numbers may be subscripts: not below 0, and at most 4.
template <class T>
void make_subscripts(runtime::Tensor& tensor) {
  auto* const first = static_cast<T*>(tensor.data());
  std::transform(first, first + tensor.raw().size() / sizeof(T), first,
                 [](T value) { return value < 0 ? -value : value; });
}

std::vector<runtime::Tensor> filled_tensors(const ir::Program& program) {
  std::vector<runtime::Tensor> tensors = make_tensors(program);
  const std::vector<const ir::Buffer*> interface = program.interface();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (interface[i]->role == ir::Role::Out) continue;
    runtime::fill(tensors[i], runtime::parse_fill("int:7"), interface[i]->name);
    if (interface[i]->dtype == DType::I32) make_subscripts<std::int32_t>(tensors[i]);
    if (interface[i]->dtype == DType::I64) make_subscripts<std::int64_t>(tensors[i]);
  }
  return tensors;
}

// What start.c reads.
std::string message_of(std::span<runtime::Tensor> tensors, std::span<runtime::Tensor> packed,
                       std::int64_t scratch) {
  std::string text;
  append(text, static_cast<std::int64_t>(tensors.size() + packed.size()));
  append(text, scratch);
  for (const auto& part : {tensors, packed})
    for (runtime::Tensor& tensor : part)
      append(text, static_cast<std::int64_t>(tensor.raw().size()));
  for (const auto& part : {tensors, packed})
    for (runtime::Tensor& tensor : part)
      text.append(reinterpret_cast<const char*>(tensor.raw().data()), tensor.raw().size());
  return text;
}

class Emulated {
 public:
  explicit Emulated(const Folder& folder) : folder_(folder) {
    POLYTE_CHECK(succeeds("clang-19 --target=aarch64-linux-gnu -O1 -ffreestanding "
                          "-fno-stack-protector -fno-builtin -c "
                          "tests/aarch64/start.c -o " +
                          folder_.file("start.o")),
                 "start.c does not compile");
  }

  // Runs the kernel on the tensors: they hold what it left there.
  void run(const NamedProgram& named, Scheduler scheduler,
           std::span<runtime::Tensor> tensors) const {
    const codegen::Target target = target_named("aarch64:neoverse-n1");
    const BuiltKernel kernel =
        build_kernel(named.program, target.machine, testing::unproved(scheduler));
    const codegen::ObjectCode object = codegen::compile({&kernel.kernel, 1}, target);
    std::ofstream(folder_.file("kernel.o"), std::ios::binary) << object.bytes;
    std::vector<runtime::Tensor> packed = pack_constants(kernel, tensors);
    std::ofstream(folder_.file("in"), std::ios::binary)
        << message_of(tensors, packed, object.kernels.front().scratch.total_bytes(1));
    POLYTE_CHECK(succeeds("ld.lld-19 -static --defsym polyte_kernel_entry=" +
                          kernel.kernel.program.name + " " + folder_.file("start.o") + " " +
                          folder_.file("kernel.o") + " -o " + folder_.file("program")),
                 "the kernel cannot be linked");
    POLYTE_CHECK(succeeds("qemu-aarch64 -cpu neoverse-n1 " + folder_.file("program") + " <" +
                          folder_.file("in") + " >" + folder_.file("out")),
                 "the program failed");
    read_results(tensors);
  }

 private:
  const Folder& folder_;

  void read_results(std::span<runtime::Tensor> tensors) const {
    std::ifstream file(folder_.file("out"), std::ios::binary);
    std::int64_t status = -1;
    file.read(reinterpret_cast<char*>(&status), sizeof status);
    POLYTE_CHECK(status == 0, "the kernel returned " + std::to_string(status));
    for (runtime::Tensor& tensor : tensors)
      file.read(reinterpret_cast<char*>(tensor.raw().data()),
                static_cast<std::streamsize>(tensor.raw().size()));
    POLYTE_CHECK(file.good(), "the program wrote too little");
  }
};

// How many bytes differ between the two processors.
std::size_t differing_bytes(const NamedProgram& named, Scheduler scheduler,
                            const Emulated& emulated) {
  std::vector<runtime::Tensor> here = filled_tensors(*named.program),
                               there = filled_tensors(*named.program);
  // Without AVX-512, whose exponentials round elsewhere.
  const CompiledOperator op = compile_operator(named.program, codegen::target_for_cpu("x86-64-v3"),
                                               testing::unproved(scheduler));
  OperatorRunner(op, here, 1).run();
  emulated.run(named, scheduler, there);
  std::size_t count = 0;
  for (std::size_t i = 0; i < here.size(); ++i)
    for (std::size_t at = 0; at < here[i].raw().size(); ++at)
      count += here[i].raw()[at] != there[i].raw()[at] ? 1 : 0;
  return count;
}

// What divides or takes exponentials rounds, in an order that the width of the vectors decides.
bool rounds(const std::string& program) {
  for (const char* name : {"softmax", "attention", "layer_norm", "lstm_cell", "cholesky"})
    if (program.find(name) != std::string::npos) return true;
  return false;
}

int run_all() {
  if (kNativeKind != TargetKind::X86)
    return std::puts("skipped: this machine is the target"), kSkipped;
  if (const std::string tool = missing_tool(); !tool.empty())
    return std::printf("skipped: %s is not here (packages qemu-user, clang-19, lld-19)\n",
                       tool.c_str()),
           kSkipped;
  const Folder folder;
  const Emulated emulated(folder);
  int compared = 0, failed = 0;
  std::size_t number = 0;
  for (const NamedProgram& named :
       testing::programs_in({"examples/programs", "examples/schedules"}, {24})) {
    if (rounds(named.program->name) || !test::is_swept(number++, 2)) continue;
    for (const Scheduler scheduler : {Scheduler::Naive, Scheduler::Poly, Scheduler::Template}) {
      const std::size_t count = differing_bytes(named, scheduler, emulated);
      ++compared;
      failed += count > 0 ? 1 : 0;
      if (count > 0)
        std::printf("%s by %s: %zu bytes differ\n", named.program->name.c_str(),
                    to_string(scheduler).c_str(), count);
    }
  }
  std::printf("%d kernels compared, %d differ\n", compared, failed);
  return failed > 0 || compared < (test::takes_all() ? 40 : 30) ? 1 : 0;
}

}  // namespace
}  // namespace polyte::driver

int main() {
  try {
    return polyte::driver::run_all();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
