// Targets, objects and libraries: what a processor's name stands for, how kernels are linked
// together, and the words of refusals.
#include "codegen/target.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "codegen/codegen.h"
#include "codegen/cpu/link.h"
#include "ir/loop_program.h"
#include "support/error.h"
#include "tests/codegen/native.h"

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
  CHECK_THROWS_WITH_AS(target_for_cpu("skylak"), "unknown cpu 'skylak'; near names: skylake",
                       UserError);
  CHECK_THROWS_WITH_AS(target_for_cpu("znver9"),
                       "unknown cpu 'znver9'; near names: znver5, znver4, znver3", UserError);
  CHECK_THROWS_WITH_AS(target_for_cpu("zen9"), "unknown cpu 'zen9'; did you mean 'znver5'?",
                       UserError);
  CHECK_THROWS_WITH_AS(target_for_cpu("zen3"), "unknown cpu 'zen3'; did you mean 'znver3'?",
                       UserError);
  CHECK_THROWS_WITH_AS(target_for_cpu("i486"), "cpu 'i486' has no 64-bit mode", UserError);
}

TEST_CASE("corrupt objects and undefined symbols are errors, not the end of the process") {
  const std::string garbage =
      "\x7f"
      "ELF this is not an object";
  CHECK_THROWS_AS(link({&garbage, 1}), InternalError);
  CHECK_THROWS_AS(link({&garbage, 1}), InternalError);
}

TEST_CASE("what LLVM calls fatal comes back as an error with the kernel's name") {
  const Kernel kernel{ir::parse_loop_program("loops k\n  out y: f32[1]\n\n  y[0] = f32(0)\n", "t"),
                      {}};
  Target target = target_for_cpu("x86-64");
  target.machine.features = {"-64bit"};
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH_AS(
        compile({&kernel, 1}, target),
        "kernel 'k': LLVM gave up: 64-bit code requested on a subtarget that doesn't support it!",
        InternalError);
  }
  CHECK_FALSE(compile({&kernel, 1}, detect_host()).bytes.empty());
}

TEST_CASE("kernels compile and link on several threads at once") {
  const Target host = detect_host();
  std::vector<std::string> libraries(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < libraries.size(); ++t) {
    threads.emplace_back([&, t] {
      const std::string name = "k" + std::to_string(t);
      const Kernel kernel{
          ir::parse_loop_program(
              "loops " + name +
                  "\n  out y: f32[64]\n\n  for i in 0..4\n    y[16*i; 16 by 1] = x16(f32(" +
                  std::to_string(t) + "))\n",
              "t"),
          {}};
      const ObjectCode object = compile({&kernel, 1}, host);
      libraries[t] = link({&object.bytes, 1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < libraries.size(); ++t) {
    std::vector<float> y(64, -1.0F);
    const void* buffers[] = {y.data()};
    const testing::Library library(libraries[t]);
    library.kernel("k" + std::to_string(t))(buffers, nullptr, nullptr);
    CHECK(y == std::vector<float>(64, static_cast<float>(t)));
  }
}

TEST_CASE("several kernels and objects become one library") {
  const auto kernel = [](const std::string& name, const std::string& value) {
    return Kernel{ir::parse_loop_program(
                      "loops " + name + "\n  out y: f32[1]\n\n  y[0] = f32(" + value + ")\n", "t"),
                  {}};
  };
  const Kernel pair[] = {kernel("one", "1"), kernel("two", "2")};
  const Kernel third[] = {kernel("three", "3")};
  const Target host = detect_host();
  const std::string objects[] = {compile(pair, host).bytes, compile(third, host).bytes};
  const testing::Library library(link(objects));
  float y = 0;
  const void* buffers[] = {&y};
  library.kernel("two")(buffers, nullptr, nullptr);
  CHECK(y == 2);
  library.kernel("three")(buffers, nullptr, nullptr);
  CHECK(y == 3);
  const Kernel twice[] = {kernel("one", "1"), kernel("one", "2")};
  CHECK_THROWS_AS(compile(twice, host), InternalError);
}

TEST_CASE("a result that may be an operand is in its alias scope, all others have their own") {
  Kernel kernel{ir::parse_loop_program("loops k\n  in x: f32[8]\n  in b: f32[8]\n  out y: f32[8]\n"
                                       "\n  for i in 0..8\n    y[i] = (x[i] + b[i])\n",
                                       "t"),
                {}};
  const auto scopes = [&] {
    const std::string text = emit_llvm_ir({&kernel, 1}, detect_host());
    std::size_t count = 0;
    for (const char* name : {"!\"x\"", "!\"b\"", "!\"y\""})
      count += text.find(name) != std::string::npos;
    return count;
  };
  CHECK(scopes() == 3);
  kernel.in_place = {{2, 0}};
  CHECK(scopes() == 2);
}

TEST_CASE("too much stack is refused") {
  Kernel big{
      ir::parse_loop_program(
          "loops k\n  out y: f32[1]\n\n  alloc t: f32[5000] in stack\n    y[0] = f32(0)\n", "t"),
      {}};
  CHECK_THROWS_WITH_AS(compile({&big, 1}, detect_host()),
                       "kernel 'k': stack buffers take 20032 bytes, expected at most 16384",
                       UserError);
}
