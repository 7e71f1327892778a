// What the schedulers write for a GPU: proved, right on the emulator in a random order of the
// threads, on all of its threads, with just the barriers that are needed, and taken by the
// assembler without a spill.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "codegen/nvptx/assembler.h"
#include "driver/compile/execution_check.h"
#include "ir/program_text.h"
#include "tests/golden/programs.h"
#include "tests/gpu/check_kernel.h"
#include "tests/gpu/emulate.h"
#include "tests/sweep.h"

using namespace polyte;
using namespace polyte::gpu::testing;
using driver::BuiltKernel;
using driver::Scheduler;
using driver::testing::NamedProgram;

namespace {

constexpr Scheduler kArms[] = {Scheduler::Isl, Scheduler::Poly, Scheduler::Template};

std::vector<NamedProgram> programs() {
  return driver::testing::programs_in({"tests/gpu/programs"}, {});
}
std::vector<NamedProgram> examples() {
  return driver::testing::programs_in({"examples/programs"}, {20});
}

BuiltKernel built(const NamedProgram& named, Scheduler scheduler) {
  driver::KernelOptions options;
  options.scheduler = scheduler;
  return driver::build_kernel(named.program, gpu::testing::gpu("h100").machine, options);
}

// Built once: several tests look at each.
const BuiltKernel& built_unproved(const NamedProgram& named, Scheduler scheduler,
                                  const std::string& machine = "h100") {
  static std::map<std::tuple<std::string, Scheduler, std::string>, BuiltKernel> known;
  const std::tuple key{named.name, scheduler, machine};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  return known
      .emplace(key, driver::build_kernel(named.program, gpu::testing::gpu(machine).machine,
                                         driver::testing::unproved(scheduler)))
      .first->second;
}

void check_programs(const std::vector<NamedProgram>& all, std::size_t one_in) {
  for (std::size_t number = 0; const NamedProgram& named : all) {
    if (!test::is_swept(number++, one_in)) continue;
    CAPTURE(named.name);
    const Expected expected = expected_of(named.program);
    for (const Scheduler scheduler : kArms) {
      CAPTURE(driver::to_string(scheduler));
      const BuiltKernel kernel = built(named, scheduler);
      CAPTURE(schedule::print(kernel.script));
      if (scheduler == Scheduler::Poly) CHECK_FALSE(kernel.declined);
      check_run(kernel, expected);
    }
  }
}

bool has_note(const BuiltKernel& kernel, std::string_view words) {
  return std::ranges::any_of(
      kernel.notes, [&](const std::string& note) { return note.find(words) != note.npos; });
}

bool has_on_one_thread(const BuiltKernel& kernel) {
  return !on_one_thread(kernel).empty() || has_note(kernel, "on one thread");
}

// What the Program multiplies has 8 or 16 bits a number.
bool is_for_tensor_cores(const ir::Program& program) {
  return std::ranges::any_of(program.interface(), [](const ir::Buffer* buffer) {
    return buffer->role == ir::Role::In && size_in_bytes(buffer->dtype) <= 2;
  });
}

bool is_attention16(const ir::Program& program) {
  return std::ranges::any_of(program.buffers, [](const ir::Buffer& b) {
    return b.name == "v" && (b.dtype == DType::F16 || b.dtype == DType::BF16);
  });
}

bool has_tensor_cores(const BuiltKernel& kernel) {
  return schedule::print(kernel.script).find("\ntensorize ") != std::string::npos;
}

}  // namespace

TEST_CASE("GPU schedulers: the reference's values on the emulator") {
  check_programs(programs(), 2);
  check_programs(examples(), 3);
}

TEST_CASE("GPU schedulers: attention of 16-bit numbers is one launch by tensor cores, by both") {
  int found = 0;
  for (const NamedProgram& named : driver::testing::programs_in({"tests/gpu/programs"}, {})) {
    if (!is_attention16(*named.program)) continue;
    ++found;
    CAPTURE(named.name);
    for (const Scheduler scheduler : {Scheduler::Poly, Scheduler::Template}) {
      CAPTURE(driver::to_string(scheduler));
      const BuiltKernel& kernel = built_unproved(named, scheduler);
      const std::string script = schedule::print(kernel.script);
      CAPTURE(script);
      if (scheduler == Scheduler::Poly) CHECK(has_note(kernel, "in one pass over the keys"));
      CHECK(count_of(script, "rewrite online") == 1);
      CHECK(count_of(script, "tensorize") == 2);
      CHECK(count_of(ir::print(kernel.kernel.program),
                     scheduler == Scheduler::Poly ? "block i.o" : "block tiles") == 1);
    }
  }
  CHECK(found == 3);
}

TEST_CASE("GPU schedulers: every barrier is needed") {
  for (std::size_t number = 0; const NamedProgram& named : programs()) {
    ++number;
    for (const Scheduler scheduler : {Scheduler::Poly, Scheduler::Template}) {
      // Of each Program one of the two, in turn.
      if (!test::is_swept(number + (scheduler == Scheduler::Poly ? 0 : 1), 2)) continue;
      check_barriers(built_unproved(named, scheduler).kernel.program,
                     driver::small_integer_environment(*named.program, 1));
    }
  }
}

TEST_CASE(
    "GPU schedulers: poly leaves nothing on one thread, the templates what is in a region, both "
    "use tensor cores") {
  int on_tensor_cores = 0;
  for (const NamedProgram& named : programs()) {
    CAPTURE(named.name);
    const bool is_region = named.program->statements.front().region_depth > 0;
    for (const Scheduler scheduler : {Scheduler::Poly, Scheduler::Template}) {
      CAPTURE(driver::to_string(scheduler));
      const BuiltKernel& kernel = built_unproved(named, scheduler);
      CAPTURE(joined(kernel.notes));
      CAPTURE(on_one_thread(kernel));
      if (is_region && scheduler == Scheduler::Template) continue;
      CHECK_FALSE(kernel.declined);
      CHECK_FALSE(has_on_one_thread(kernel));
      if (!is_for_tensor_cores(*named.program)) continue;
      CHECK(has_tensor_cores(kernel));
      // A tile of queries that is cut short is read so by attention (docs/gpu.md).
      if (!is_attention16(*named.program)) CHECK_FALSE(has_note(kernel, "element by element"));
      CHECK_FALSE(has_note(kernel, "not kept in registers"));
      ++on_tensor_cores;
    }
  }
  CHECK(on_tensor_cores >= 20);
}

TEST_CASE("GPU schedulers: a loop of threads of one iteration is one thread") {
  const auto program = std::make_shared<const ir::Program>(ir::parse_program(
      "program p()\n  in  x: f32[1, 100]\n  out y: f32[1, 100]\n\n  y[i, j] = x[i, j] * 2\n", "p"));
  const auto spread = [&](const std::string& threads) {
    const schedule::Script script = schedule::parse_script(
        "schedule s/1 for p  f32  exact\nsplit j by 50\nnest block j.o > " + threads + " > y\n",
        "s");
    driver::KernelOptions options = driver::testing::unproved(Scheduler::Script);
    options.script = &script;
    return on_one_thread(driver::build_kernel(program, gpu::testing::gpu("h100").machine, options));
  };
  CHECK(spread("i > j.i") == "y ");
  CHECK(spread("thread i > j.i") == "y ");
  CHECK(spread("i > thread j.i") == "");
}

// Too large to run: blocks of several warps along both sides of a tile, which few of the small
// ones have.
TEST_CASE("GPU schedulers: layers of networks on tensor cores, proved") {
  for (const NamedProgram& named : driver::testing::programs_in({"tests/gpu/layers"}, {}))
    for (const Scheduler scheduler : {Scheduler::Poly, Scheduler::Template}) {
      CAPTURE(named.name);
      CAPTURE(driver::to_string(scheduler));
      const BuiltKernel kernel = built(named, scheduler);
      CAPTURE(joined(kernel.notes));
      CHECK_FALSE(kernel.declined);
      CHECK_FALSE(has_on_one_thread(kernel));
      CHECK(has_tensor_cores(kernel));
      CHECK_FALSE(has_note(kernel, "not kept in registers"));
    }
}

TEST_CASE(
    "GPU schedulers: code for every architecture without a spill or a word of the assembler") {
  if (!codegen::has_assembler()) {
    MESSAGE("no ptxas here: the code is not assembled");
    return;
  }
  std::size_t number = 0;
  for (const char* name : {"a100", "h100"})
    for (const NamedProgram& named : programs())
      for (const Scheduler scheduler : {Scheduler::Poly, Scheduler::Template}) {
        if (!test::is_swept(number++, 3)) continue;
        CAPTURE(named.name);
        CAPTURE(driver::to_string(scheduler));
        CAPTURE(name);
        const codegen::Target target = gpu::testing::gpu(name);
        const BuiltKernel& kernel = built_unproved(named, scheduler, name);
        const std::string ptx = codegen::compile({&kernel.kernel, 1}, target).device;
        const codegen::DeviceBinary binary = codegen::assemble_ptx(ptx, target.machine);
        CHECK(joined(binary.messages) == "");
        for (const codegen::DeviceBinary::Kernel& each : binary.kernels) {
          CAPTURE(each.name);
          CHECK(each.spill_store_bytes + each.spill_load_bytes == 0);
        }
      }
}
