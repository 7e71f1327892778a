#include "codegen/target.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "codegen/codegen.h"
#include "codegen/link.h"
#include "ir/loop_program.h"
#include "support/error.h"

using namespace polyte;
using namespace polyte::codegen;

TEST_CASE("the host has a name and signed features") {
  const Target host = detect_host();
  CHECK_FALSE(host.machine.cpu.empty());
  CHECK(host.machine.has("sse2"));
  for (const std::string& f : host.machine.features) CHECK((f.front() == '+' || f.front() == '-'));
  CHECK(std::is_sorted(host.machine.features.begin(), host.machine.features.end()));
}

TEST_CASE("a named cpu brings its instruction set, the rest is marked as assumed") {
  const Machine v4 = target_for_cpu("x86-64-v4").machine;
  CHECK(v4.vector_bits == 512);
  CHECK(v4.vector_registers == 32);
  CHECK(v4.has_fma);
  const Machine v2 = target_for_cpu("x86-64-v2").machine;
  CHECK(v2.vector_bits == 128);
  CHECK_FALSE(v2.has_fma);
  CHECK(std::count(v2.assumed.begin(), v2.assumed.end(), "l2") == 1);
}

TEST_CASE("an unknown cpu is refused with near names") {
  CHECK_THROWS_WITH_AS(target_for_cpu("skylak"), "unknown cpu 'skylak'; near names: skylake, knl, skx", UserError);
  CHECK_THROWS_WITH_AS(target_for_cpu("i486"), "cpu 'i486' has no 64-bit mode", UserError);
}

TEST_CASE("corrupt objects and undefined symbols are errors, not the end of the process") {
  const std::string garbage =
      "\x7f"
      "ELF this is not an object";
  CHECK_THROWS_AS(link({&garbage, 1}), InternalError);
  CHECK_THROWS_AS(link({&garbage, 1}), InternalError);
}

TEST_CASE("symbolic sizes and too much stack are refused") {
  Kernel symbolic{ir::parse_loop_program("loops k(N)\n  out y: f32[N]\n\n  for i in 0..N\n    y[i] = f32(0)\n", "t"),
                  {}};
  CHECK_THROWS_WITH_AS(compile({&symbolic, 1}, detect_host()),
                       "kernel 'k': parameter 'N' has no value, expected sizes bound to numbers", UserError);
  Kernel big{
      ir::parse_loop_program("loops k\n  out y: f32[1]\n\n  alloc t: f32[5000] in stack\n    y[0] = f32(0)\n", "t"),
      {}};
  CHECK_THROWS_WITH_AS(compile({&big, 1}, detect_host()),
                       "kernel 'k': stack buffers take 20032 bytes, expected at most 16384", UserError);
}
