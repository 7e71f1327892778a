// Every Program of the suites and examples as an object for AArch64.
#include <doctest/doctest.h>
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <regex>

#include "codegen/cpu/link.h"
#include "driver/compile/describe_target.h"
#include "driver/compile/operator.h"
#include "driver/package/assemble.h"
#include "runtime/artifact.h"
#include "runtime/session.h"
#include "support/error.h"
#include "tests/golden/programs.h"

namespace polyte::driver {
namespace {

using testing::NamedProgram;

const std::vector<std::string> kFolders = {"bench/suites", "examples/programs",
                                           "examples/schedules"};

codegen::Target neoverse() {
  codegen::Target target = target_named("aarch64:neoverse-n1");
  target.machine.cores = 2;
  return target;
}

int elf_machine(const std::string& bytes) {
  Elf64_Ehdr header{};
  REQUIRE(bytes.size() >= sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.e_machine;
}

// An instruction over the lanes of a vector register, "fmla v0.4s, v1.4s, v2.s[0]", or one that
// moves a whole one.
bool has_neon(const std::string& assembly) {
  static const std::regex kLanes(R"(\tv[0-9]+\.(16b|8b|8h|4h|4s|2s|2d)|\t[ls][dt][a-z]+\tq[0-9]+)");
  return std::regex_search(assembly, kLanes);
}

bool has_lanes(const ir::LoopProgram& program) {
  bool found = false;
  ir::for_each_stmt(program.body, [&](const ir::Stmt& s) {
    const auto* store = std::get_if<ir::Store>(&s->op);
    found = found || (store != nullptr && store->lanes.count > 1);
  });
  return found;
}

// Compiles the kernel and looks at what came out.
void check_object(const BuiltKernel& kernel, const codegen::Target& target) {
  const codegen::ObjectCode object = codegen::compile({&kernel.kernel, 1}, target);
  CHECK(elf_machine(object.bytes) == EM_AARCH64);
  CHECK(elf_machine(codegen::link({&object.bytes, 1})) == EM_AARCH64);
}

}  // namespace

TEST_CASE("every Program compiles to an object, with NEON in it where its loops have lanes") {
  const codegen::Target target = neoverse();
  int count = 0, vectors = 0;
  for (const NamedProgram& named : testing::programs_in(kFolders, {67}))
    for (const Scheduler scheduler : {Scheduler::Poly, Scheduler::Template}) {
      CAPTURE(named.program->name);
      CAPTURE(to_string(scheduler));
      const BuiltKernel kernel =
          build_kernel(named.program, target.machine, testing::unproved(scheduler));
      check_object(kernel, target);
      ++count;
      if (!has_lanes(kernel.kernel.program)) continue;
      CHECK(has_neon(codegen::emit_asm({&kernel.kernel, 1}, target)));
      ++vectors;
    }
  CHECK(count > 80);
  CHECK(vectors > 80);
  MESSAGE(count << " kernels, " << vectors << " of them with vectors");
}

TEST_CASE("schedules of people compile as well, or the instruction is named that is missing") {
  const codegen::Target target = neoverse();
  const std::vector<NamedProgram> programs = testing::programs_in(kFolders, {64});
  int compiled = 0, refused = 0;
  for (const auto& file : testing::files_in("examples/schedules", ".sched")) {
    const schedule::Script script = schedule::parse_script(testing::read_file(file), file.string());
    for (const NamedProgram& named : programs) {
      if (named.program->name != script.program) continue;
      CAPTURE(file.string());
      KernelOptions options = testing::unproved(Scheduler::Script);
      options.script = &script;
      options.script_origin = file.filename().string();
      try {
        check_object(build_kernel(named.program, target.machine, options), target);
        ++compiled;
      } catch (const UserError& error) {
        CHECK_MESSAGE(std::string(error.what()).find("neoverse-n1") != std::string::npos,
                      error.what());
        ++refused;
      }
    }
  }
  CHECK(compiled > 20);
  CHECK(refused >= 1);
}

TEST_CASE("an artifact says what it is for, and only such a processor runs it") {
  const codegen::Target target = neoverse();
  const auto program = testing::programs_in({"examples/programs"}, {24}).front().program;
  CompiledOperator op = compile_operator(program, target, testing::unproved(Scheduler::Poly));
  CHECK(op.arch == "aarch64");
  CHECK(op.cpu == "neoverse-n1");
  CHECK(std::ranges::find(op.features, "+neon") != op.features.end());
  CHECK(std::ranges::find(op.features, "+fuse-aes") == op.features.end());
  if (kNativeKind == TargetKind::AArch64) return;
  std::vector<runtime::Tensor> tensors = make_tensors(*program);
  CHECK_THROWS_WITH_AS(OperatorRunner(op, tensors, 1),
                       doctest::Contains("is built for aarch64, this processor is x86_64"),
                       UserError);
}

TEST_CASE("targets are named by kind") {
  CHECK(target_named("cpu:native").kind == kNativeKind);
  CHECK(target_named("native").machine.cpu == target_named("cpu:native").machine.cpu);
  CHECK(target_named("x86_64:znver4").kind == TargetKind::X86);
  CHECK(target_named("aarch64:generic").machine.vector_bits == 128);
  if (kNativeKind == TargetKind::X86)
    CHECK_THROWS_WITH_AS(target_named("aarch64:native"),
                         "--target aarch64:native: this processor is x86_64, expected a name",
                         UserError);
}

}  // namespace polyte::driver
