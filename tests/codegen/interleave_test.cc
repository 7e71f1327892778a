// Long chains of operations side by side: that they are, and that an access which another has to
// wait for still comes first.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/codegen/native.h"

using namespace polyte;
using namespace polyte::codegen::testing;

namespace {

// `after(V)` in the text as so many operations on V, one after another.
std::string with_chains(std::string text, int operations = 16) {
  for (auto at = text.find("after("); at != std::string::npos; at = text.find("after(")) {
    const auto end = text.find(')', at);
    std::string value = text.substr(at + 6, end - at - 6);
    for (int i = 0; i < operations; ++i)
      value = "(" + value + (i % 2 == 0 ? " * x16(f32(0.5)))" : " + x16(f32(1)))");
    text.replace(at, end - at + 1, value);
  }
  return text;
}

constexpr const char* kRows = R"(loops rows
  in x: f32[64]
  out y: f32[64]

  for i in 0..2
    y[32*i; 16 by 1] = after(x[32*i; 16 by 1])
    y[32*i + 16; 16 by 1] = after(x[32*i + 16; 16 by 1])
)";

// The loads of x and the stores to y in the order of the code, as l and s.
std::string accesses(const std::string& text, bool in_place = false, const char* cpu = "znver4") {
  codegen::Kernel kernel{ir::parse_loop_program(text, "rows"), {}};
  if (in_place) kernel.in_place = {{1, 0}};
  const std::string code = codegen::emit_llvm_ir({&kernel, 1}, codegen::target_for_cpu(cpu));
  std::string order;
  for (std::size_t at = 0; at < code.size(); at = code.find('\n', at) + 1) {
    const std::string line = code.substr(at, code.find('\n', at) - at);
    if (line.find("= load <16 x ") != std::string::npos) order += 'l';
    if (line.find("  store <16 x ") != std::string::npos) order += 's';
  }
  return order;
}

}  // namespace

TEST_CASE("long chains go side by side, short ones and sums of many loads do not") {
  CHECK(accesses(with_chains(kRows)) == "llss");
  CHECK(accesses(with_chains(kRows, 6)) == "lsls");
  std::string sums = kRows;
  for (const char* row : {"32*i", "32*i + 16"}) {
    std::string sum = "x[" + std::string(row) + "; 16 by 1]";
    for (int tap = 1; tap < 16; ++tap)
      sum = "(" + sum + " + x[" + row + " + " + std::to_string(3 * tap) + "; 16 by 1])";
    sums = replaced(sums, "after(x[" + std::string(row) + "; 16 by 1])", sum);
  }
  const std::string order = accesses(replaced(sums, "x: f32[64]", "x: f32[128]"));
  CHECK(std::ranges::count(order, 'l') > 16);
  CHECK(order.find('s') < order.rfind('l'));
}

TEST_CASE(
    "a result in its operand's memory: what lies elsewhere in it is loaded before the store") {
  CHECK(accesses(with_chains(kRows), true) == "llss");
  const std::string overlap = replaced(kRows, "x[32*i + 16; 16 by 1]", "x[32*i + 15; 16 by 1]");
  CHECK(accesses(with_chains(overlap)) == "llss");
  CHECK(accesses(with_chains(overlap), true) == "lsls");
  const std::string elsewhere = replaced(kRows, "x[32*i + 16; 16 by 1]", "x[16*i + 32; 16 by 1]");
  CHECK(accesses(with_chains(elsewhere), true) == "lsls");
}

TEST_CASE("a result in fewer bits goes side by side, vectors of two registers do not") {
  const std::string text = R"(loops rows
  in x: f32[64]
  out y: f16[64]

  for i in 0..2
    y[32*i; 16 by 1] = cast_f16(after(x[32*i; 16 by 1]))
    y[32*i + 16; 16 by 1] = cast_f16(after(x[32*i + 16; 16 by 1]))
)";
  CHECK(accesses(with_chains(text)) == "llss");
  CHECK(accesses(with_chains(text), false, "haswell") == "lsls");
}

TEST_CASE("a value that a chain uses again and again is one that it holds") {
  std::string again = kRows;
  for (const char* row : {"32*i", "32*i + 16"}) {
    const std::string x = "x[" + std::string(row) + "; 16 by 1]";
    std::string value = x;
    for (int i = 0; i < 8; ++i) value = "((" + value + " + x16(f32(1))) * " + x + ")";
    again = replaced(again, "after(" + x + ")", value);
  }
  CHECK(accesses(again) == "llss");
}

TEST_CASE("what is loaded behind a store is loaded behind it") {
  const ir::Environment inputs = {{"x", filled(DType::F32, {64}, 5)},
                                  {"y", filled(DType::F32, {96}, 6)}};
  check_everywhere(with_chains(kRows), inputs);
  check_everywhere(with_chains(R"(loops masked
  in x: f32[64]
  inout y: f32[96]

  y[44; 16 by 1 if 7] = after(x[1; 16 by 1 if 8])
  y[3; 16 by 1 if 6] = after(y[45; 16 by 1 if 5])
  y[45; 16 by 1 if 6] = after(x[20; 16 by 1 if 6])
)"),
                   inputs);
  check_everywhere(with_chains(R"(loops in_place
  in x: f32[64]
  inout y: f32[96]
  out z: f32[64]
  out s: f32[16]

  for i in 0..2
    alloc t: f32[16] in register
      y[32*i + 8; 16 by 1] = after(y[32*i; 16 by 1])
      y[32*i + 16; 16 by 1] = after(y[32*i + 8; 16 by 1])
      z[32*i; 16 by 1] = after(y[32*i + 16; 16 by 1])
      y[32*i + 24; 16 by 1 if 32*i + 5] = after(x[32*i; 16 by 1])
      z[32*i + 16; 16 by 1] = after(y[32*i + 24; 16 by 1])
      y[32*i + 40; 16 by 1] = after(x[32*i; 16 by 1])
      z[32*i; 16 by 1 if 9] = after(y[32*i + 44; 16 by 1 if 9])
      t[0; 16 by 1] = after(x[32*i + 16; 16 by 1])
      y[32*i + 32; 16 by 1] = (t[0; 16 by 1] + y[32*i + 20; 16 by 1])
      s[0; 16 by 1] = (t[0; 16 by 1] + y[32*i + 33; 16 by 1])
)"),
                   inputs);
}
