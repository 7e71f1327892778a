// The kernels of the benchmark suites by both schedulers, at their own sizes: on all threads, taken
// by the assembler for every architecture without a spill, with just the barriers that they need,
// and with the traffic that is predicted.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <array>
#include <map>
#include <regex>
#include <sstream>

#include "codegen/nvptx/assembler.h"
#include "driver/compile/execution_check.h"
#include "ir/program_text.h"
#include "support/checked.h"
#include "tests/golden/programs.h"
#include "tests/gpu/emulate.h"
#include "tests/sweep.h"

using namespace polyte;
using namespace polyte::gpu::testing;
using driver::BuiltKernel;
using driver::Scheduler;

namespace {

// Bytes of buffers that are filled for a kernel; larger ones are emulated at other extents.
constexpr std::int64_t kEmulatedBytes = std::int64_t{16} << 20;

// Extents of large Programs, and what takes their place: several blocks of the script's tiles, and
// several turns of its loops.
const std::map<std::string, std::map<std::string, std::string>> kSmaller = {
    {"gemm_f64", {{"1024", "256"}}},
    {"gpu_add", {{"67108864", "8192"}}},
    {"gpu_transpose", {{"8192", "256"}}},
    {"gpu_softmax", {{"8192", "16"}}},
    {"gpu_layer_norm", {{"8192", "16"}}},
    {"gpu_column_sums", {{"16384", "512"}, {"4096", "256"}}},
    {"gpu_gemm_f32", {{"4096", "256"}}},
    {"gpu_gemm_bf16", {{"8192", "512"}}},
    {"gpu_attention", {{"32", "1"}, {"1024", "256"}}},
};

struct SuiteKernel {
  std::string name;
  BuiltKernel built;
};

constexpr std::array kMachines = {"a100", "l4", "sm_90", "h100"};

// Every other one where time counts (tests/sweep.h), on the next machine those between.
const std::vector<SuiteKernel>& kernels(std::size_t machine) {
  static std::map<std::size_t, std::vector<SuiteKernel>> known;
  std::vector<SuiteKernel>& all = known[machine];
  if (!all.empty()) return all;
  std::size_t number = machine;
  for (const driver::testing::NamedProgram& named :
       driver::testing::programs_in({"bench/suites"}, {})) {
    if (!test::is_swept(number++, 4)) continue;
    for (const Scheduler scheduler : {Scheduler::Poly, Scheduler::Template})
      all.push_back(
          {named.name + " by " + std::string(driver::to_string(scheduler)),
           driver::build_kernel(named.program, gpu::testing::gpu(kMachines.at(machine)).machine,
                                driver::testing::unproved(scheduler))});
  }
  return all;
}

// Of all assemblers that have ended.
double assembler_seconds() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void check_assembled(const std::string& ptx, const Machine& machine) {
  const double before = assembler_seconds();
  const codegen::DeviceBinary binary = codegen::assemble_ptx(ptx, machine);
  CHECK(assembler_seconds() - before < 1);  // of a core; at most 0.4 where it was written
  CHECK(joined(binary.messages) == "");
  for (const codegen::DeviceBinary::Kernel& each : binary.kernels) {
    CAPTURE(each.name);
    CHECK(each.spill_store_bytes + each.spill_load_bytes == 0);
    // Two blocks of 256 a multiprocessor.
    if (each.name.starts_with("gpu_gemm_f32")) CHECK(each.registers <= 128);
  }
}

std::int64_t bytes_of(const ir::Program& program) {
  std::int64_t sum = 0;
  for (const ir::Buffer* buffer : program.interface())
    sum += checked_product(ir::constant_shape(*buffer)) * size_in_bytes(buffer->dtype);
  return sum;
}

std::string with_other_numbers(const std::string& text,
                               const std::map<std::string, std::string>& others) {
  static const std::regex number("\\b[0-9]+\\b");
  std::string result;
  std::size_t done = 0;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), number);
       at != std::sregex_iterator(); ++at) {
    const auto first = static_cast<std::size_t>(at->position());
    const auto other = others.find(at->str());
    result += text.substr(done, first - done) + (other == others.end() ? at->str() : other->second);
    done = first + static_cast<std::size_t>(at->length());
  }
  return result + text.substr(done);
}

template <class Node>
int count_of(const ir::LoopProgram& loops) {
  int count = 0;
  ir::for_each_stmt(
      loops.body, [&](const ir::Stmt& s) { count += std::holds_alternative<Node>(s->op) ? 1 : 0; });
  return count;
}

// The same script on the same Program at other extents: as many barriers and waits at the
// same places.
BuiltKernel smaller(const BuiltKernel& large) {
  const std::string text =
      with_other_numbers(ir::print(*large.program), kSmaller.at(large.program->name));
  schedule::Script script = large.script;
  script.digest.clear();
  driver::KernelOptions options = driver::testing::unproved(Scheduler::Script);
  options.script = &script;
  BuiltKernel small =
      driver::build_kernel(std::make_shared<const ir::Program>(ir::parse_program(text, "smaller")),
                           gpu::testing::gpu("h100").machine, options);
  CHECK(bytes_of(*small.program) <= kEmulatedBytes);
  CHECK(count_of<ir::Barrier>(small.kernel.program) == count_of<ir::Barrier>(large.kernel.program));
  CHECK(count_of<ir::CopyGroup>(small.kernel.program) ==
        count_of<ir::CopyGroup>(large.kernel.program));
  return small;
}

// Of each launch the first block, or the last one.
enum class Which { First, Last };
ir::LoopProgram of_one_block(ir::LoopProgram loops, Which which) {
  const std::function<ir::Stmt(const ir::Stmt&)> one = [&](const ir::Stmt& s) -> ir::Stmt {
    ir::Stmt inside = ir::rewrite_children(s, one);
    const auto* blocks = std::get_if<ir::For>(&inside->op);
    if (!blocks || blocks->kind != ir::LoopKind::Block ||
        blocks->lower.size() + blocks->upper.size() > 2)
      return inside;
    ir::For own = *blocks;
    if (which == Which::First)
      own.upper = {own.lower[0] + ir::Affine(1)};
    else
      own.lower = {own.upper[0] - ir::Affine(1)};
    return ir::make_for(std::move(own));
  };
  loops.body = one(loops.body);
  return loops;
}

// The lines of one text that the other does not have.
std::string beyond(const std::string& text, const std::string& other) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    if (("\n" + other).find("\n" + line + "\n") == std::string::npos) result += line + "\n";
  return result;
}

// What a thread begins a sum with in shared memory and then reads itself may come to it without,
// LLVM sees to that: the write goes with its read, and neither had cost more than it must.
std::string without_own(const std::string& lines) {
  static const std::regex own(
      "(.*)\\.update reads (.*, shared: .*, cost ([0-9]+), ideal ([0-9]+))\n");
  std::string left = lines;
  for (auto at = std::sregex_iterator(lines.begin(), lines.end(), own);
       at != std::sregex_iterator(); ++at) {
    const std::string write = (*at)[1].str() + ".init writes " + (*at)[2].str() + "\n";
    if ((*at)[3] != (*at)[4] || left.find(write) == std::string::npos) continue;
    left.erase(left.find(write), write.size());
    left.erase(left.find(at->str()), at->str().size());
  }
  return left;
}

// Bank conflicts and sectors of a block, and no more of them than bytes ask for in a product
// of matrices.
void check_traffic(const SuiteKernel& kernel, const BuiltKernel& emulated,
                   const ir::Environment& inputs) {
  for (const Which which : {Which::First, Which::Last}) {
    const Traffic traffic =
        traffic_of(of_one_block(emulated.kernel.program, which), inputs, Memory::Written);
    CHECK(beyond(traffic.counted, traffic.predicted) == "");
    CHECK(without_own(beyond(traffic.predicted, traffic.counted)) == "");
    if (!kernel.built.program->name.starts_with("gpu_gemm")) continue;
    CHECK(traffic.shared.cost == traffic.shared.ideal);
    CHECK(traffic.global.cost == traffic.global.ideal);
  }
}

}  // namespace

TEST_CASE("suites on a GPU: nothing on one thread, code for every architecture without a spill") {
  if (!codegen::has_assembler()) MESSAGE("no ptxas here: the code is not assembled");
  std::size_t newer_count = 0;
  for (std::size_t number = 0; number < kMachines.size(); ++number) {
    const std::string name = kMachines.at(number);
    const codegen::Target target = gpu::testing::gpu(name);
    for (const SuiteKernel& kernel : kernels(number)) {
      CAPTURE(name);
      CAPTURE(kernel.name);
      CHECK(joined(kernel.built.notes).find("on one thread") == std::string::npos);
      const std::string ptx = codegen::compile({&kernel.built.kernel, 1}, target).device;
      if (!codegen::has_assembler()) continue;
      check_assembled(ptx, target.machine);
      if (name != "sm_90") continue;
      for (const int newer : {100, 120}) {  // what is said for sm_90 runs on these as well
        if (!test::is_swept(newer_count++, 2)) continue;
        Machine machine = target.machine;
        machine.gpu->compute_capability = newer;
        check_assembled(ptx, machine);
      }
    }
  }
}

TEST_CASE(
    "suites on a GPU: every barrier and every wait is needed, memory is touched as predicted") {
  int waits = 0;
  for (const SuiteKernel& kernel : kernels(kMachines.size() - 1)) {
    CAPTURE(kernel.name);
    const BuiltKernel emulated =
        bytes_of(*kernel.built.program) > kEmulatedBytes ? smaller(kernel.built) : kernel.built;
    const ir::Environment inputs = driver::small_integer_environment(*emulated.program, 1);
    check_traffic(kernel, emulated, inputs);
    check_barriers(emulated.kernel.program, inputs);
    waits += check_waits(emulated.kernel.program, inputs);
    check_exact_waits(emulated.kernel.program, inputs);
  }
  CHECK(waits > 0);
}
