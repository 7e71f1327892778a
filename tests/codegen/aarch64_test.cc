// AArch64 as a target on any machine: what its objects, its assembly and its refusals are. Whether
// the code computes what it should is tests/aarch64's question.
#include <doctest/doctest.h>
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "codegen/codegen.h"
#include "codegen/cpu/link.h"
#include "ir/intrinsics.h"
#include "support/error.h"
#include "support/processors.h"

using namespace polyte;
using namespace polyte::codegen;

namespace {

Target arm() { return target_for_cpu("neoverse-n1", TargetKind::AArch64); }

Kernel kernel_of(const std::string& text) { return {ir::parse_loop_program(text, "test"), {}}; }

std::string asm_of(const std::string& text) {
  const Kernel kernel = kernel_of(text);
  return emit_asm({&kernel, 1}, arm());
}

int elf_machine(const std::string& bytes) {
  Elf64_Ehdr header{};
  REQUIRE(bytes.size() >= sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.e_machine;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// y = op(a, b), four lanes.
std::string lanes_of(const std::string& type, const std::string& value) {
  return "loops k\n  in a: " + type + "[4]\n  in b: " + type + "[4]\n  out y: " + type +
         "[4]\n\n  y[0; 4 by 1] = " + value + "\n";
}

const char* const kA = "a[0; 4 by 1]";
const char* const kB = "b[0; 4 by 1]";

}  // namespace

TEST_CASE("the table of processors says of x86 what LLVM's features say") {
  for (const std::string& name : known_cpus(TargetKind::X86)) {
    const Processor* const known = find_processor(name);
    if (known == nullptr) continue;
    CAPTURE(name);
    const Machine machine = target_for_cpu(name, TargetKind::X86).machine;
    CHECK(machine.vector_bits == known->vector_bits);
    CHECK(machine.vector_registers == known->vector_registers);
  }
}

TEST_CASE("a processor of another kind is described from here") {
  const Target target = arm();
  CHECK(target.kind == TargetKind::AArch64);
  CHECK(target.machine.has("neon"));
  CHECK(target.machine.has("dotprod"));
  CHECK(target.machine.vector_registers == 32);
  CHECK(std::ranges::find(target.machine.assumed, "l3") != target.machine.assumed.end());
}

TEST_CASE("a name of the other kind says how it is spelt") {
  CHECK_THROWS_WITH_AS(
      target_for_cpu("neoverse-n1", TargetKind::X86),
      "unknown cpu 'neoverse-n1'; this is one of another kind: aarch64:neoverse-n1", UserError);
  CHECK_THROWS_WITH_AS(target_for_cpu("znver4", TargetKind::AArch64),
                       "unknown cpu 'znver4'; this is one of another kind: x86_64:znver4",
                       UserError);
  CHECK_THROWS_WITH_AS(target_for_cpu("neoverse-n9", TargetKind::AArch64),
                       doctest::Contains("near names: neoverse-n"), UserError);
}

TEST_CASE("objects and shared objects are of the target's machine, also beside those of another") {
  const Kernel kernel = kernel_of(lanes_of("f32", "(" + std::string(kA) + " + " + kB + ")"));
  for (const auto& [target, machine] :
       {std::pair{arm(), EM_AARCH64}, {target_for_cpu("x86-64", TargetKind::X86), EM_X86_64}}) {
    const ObjectCode object = compile({&kernel, 1}, target);
    CHECK(elf_machine(object.bytes) == machine);
    const std::string library = link({&object.bytes, 1});
    CHECK(elf_machine(library) == machine);
    CHECK(has(library, "k.interface"));
  }
}

TEST_CASE("libm is linked for the target") {
  const Kernel kernel = kernel_of(lanes_of("f64", "pow(" + std::string(kA) + ", " + kB + ")"));
  const ObjectCode object = compile({&kernel, 1}, arm());
  CHECK(has(link({&object.bytes, 1}), "libm.so.6"));
}

TEST_CASE("NEON does in one instruction what the emitter asks") {
  const std::string a = kA, b = kB;
  CHECK(has(asm_of(lanes_of("f32", "fma(" + a + ", " + b + ", " + a + ")")), "fmla\tv"));
  CHECK(has(asm_of(lanes_of("f32", "max(" + a + ", " + b + ")")), "fmax\tv"));
  CHECK(has(asm_of(lanes_of("f32", "min(" + a + ", " + b + ")")), "fmin\tv"));
  CHECK(has(asm_of(lanes_of("f32", "floor(" + a + ")")), "frintm\tv"));
  CHECK(has(asm_of(lanes_of("f16", "(" + a + " + " + b + ")")), "fcvtl\tv"));
}

TEST_CASE("instructions of x86 are refused by name") {
  CHECK(ir::missing_for(*ir::find_intrinsic("vnni_dot_i32x4"), arm().machine) ==
        "avx512vnni and avx512vl or avxvnni");
  CHECK(ir::missing_for(*ir::find_intrinsic("madd_i32x4"), arm().machine) == "sse2");
  CHECK(ir::missing_for(*ir::find_intrinsic("fma_f32x4"), arm().machine).empty());
}

TEST_CASE("stores past the caches need no fence, and a prefetch is one instruction") {
  const std::string text = asm_of(
      "loops k\n  in x: f32[64]\n  out y: f32[64]\n\n  for i in 0..8\n"
      "    prefetch x[8*i] level 2\n    nontemporal y[8*i; 8 by 1] = x[8*i; 8 by 1]\n");
  CHECK(has(text, "prfm"));
  CHECK(has(text, "stnp"));
  CHECK_FALSE(has(text, "dmb"));
}
