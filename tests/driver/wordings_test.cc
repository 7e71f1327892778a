// The same computation in other words, or with a loop that a scheduler might walk the wrong way: both schedulers write
// the fast form, of which nothing falls back to memory or to single elements.
#include <doctest/doctest.h>

#include "driver/compile/build_kernel.h"
#include "driver/compile/describe_target.h"
#include "ir/program_text.h"
#include "schedule/script/script.h"

namespace {

using namespace polyte;

constexpr driver::Arm kArms[] = {driver::Arm::Poly, driver::Arm::Template};

struct Written {
  std::string script, notes;
  bool has(const char* words) const { return script.find(words) != std::string::npos; }
};

Written written_for(const char* text, driver::Arm arm, const Machine& machine) {
  driver::KernelOptions options;
  options.arm = arm;
  const driver::BuiltKernel kernel =
      driver::build_kernel(std::make_shared<const ir::Program>(ir::parse_program(text, "test")), machine, options);
  Written result{schedule::print(kernel.script), {}};
  for (const std::string& note : kernel.notes) result.notes += note + "\n";
  return result;
}

Written written(const char* text, driver::Arm arm, const char* cpu = "x86-64-v3") {
  return written_for(text, arm, codegen::target_for_cpu(cpu).machine);
}

}  // namespace

// Behind C lie no neighbours but its own; those of the pool's lines are apart in the tensor, and side by side in the
// copy alone.
TEST_CASE("wordings: sums stay in registers behind a dimension of one element, and of lines shorter than a vector") {
  constexpr const char* kTexts[] = {R"(
program gemm()
  in  A: f32[96, 96, 1]
  in  B: f32[96, 96, 1]
  out C: f32[96, 96, 1]
  C[m, n, u] = sum[k] A[m, k, u] * B[k, n, u]
)",
                                    R"(
program pool()
  in  x: f32[16, 8, 8]
  out y: f32[16, 4, 4]
  y[c, h, q] = max[r in 0..2, s in 0..2] x[c, 2*h + r, 2*q + s]
)"};
  for (const driver::Arm arm : kArms)
    for (const char* text : kTexts) {
      const Written sums = written(text, arm);
      CAPTURE(sums.script);
      CHECK(sums.has("in register"));
      CHECK(sums.notes.find("not kept in registers") == std::string::npos);
    }
}

TEST_CASE("wordings: what a chain of definitions alone reads stays in registers") {
  const char* text = R"(
program chain()
  in  x: f32[512, 512]
  out y: f32[512, 512]
  a[i, j] = x[i, j] * 2
  b[i, j] = max(a[i, j] + 1, 0)
  y[i, j] = b[i, j] * b[i, j] - a[i, j]
)";
  for (const driver::Arm arm : kArms) {
    const Written chain = written(text, arm);
    CAPTURE(chain.script);
    CHECK(chain.has("{ <j.i> > a; <j.i> > b; <j.i> > y }"));
    CHECK(chain.has("stage a at a:j.o in register"));
    CHECK(chain.has("stage b at "));
    const Written on_gpu = written_for(text, arm, driver::target_named("cuda:h100").machine);
    CAPTURE(on_gpu.script);
    CHECK(on_gpu.has("stage a at a:j"));
    CHECK(on_gpu.has("stage b at "));
    CHECK(on_gpu.script.find("to block") == on_gpu.script.rfind("to block"));  // one launch
  }
}

TEST_CASE("wordings: a definition whose rows share a read runs along the rows") {
  const char* text = R"(
program add()
  in  x: f32[1000, 1000]
  in  b: f32[1000]
  out y: f32[1000, 1000]
  y[i, j] = x[i, j] + b[j]
)";
  for (const driver::Arm arm : kArms)
    for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
      const Written rows = written(text, arm, cpu);
      CAPTURE(rows.script);
      CHECK((rows.has("nest i.o > j.o >") || rows.has("nest i > j.o >")));
    }
}

TEST_CASE("wordings: windows that move by two are read in vectors, whatever their length") {
  for (const driver::Arm arm : kArms)
    for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
      const Written pool = written(R"(
program pool()
  in  x: f32[8, 113, 113]
  out y: f32[8, 56, 56]
  y[c, h, q] = max[r in 0..3, s in 0..3] x[c, 2*h + r, 2*q + s]
)",
                                   arm, cpu);
      CAPTURE(pool.script);
      CHECK(pool.has("<q.i> > y.update"));
    }
}

// Tiles that counted from 0 would begin with one of no whole width, and every tile would ask where it begins.
TEST_CASE("wordings: tiles count from where the loop begins") {
  const char* gemm = R"(
program gemm()
  in  A: f32[97, 97]
  in  B: f32[97, 97]
  out C: f32[97, 97]
  C[m, n] = sum[k in 1..97] A[m, k] * B[k, n]    for m in 1..97, n in 1..97
)";
  for (const driver::Arm arm : kArms) {
    const Written sums = written(gemm, arm);
    CAPTURE(sums.script);
    CHECK(sums.has("from 1"));
    CHECK(sums.has("in register"));
    CHECK(sums.notes.empty());
  }
}

// Loops of regions that order nothing are planned as iterators; what several statements had in one is told apart.
TEST_CASE("wordings: a product in ordered loops has its tile of registers") {
  constexpr const char* kTexts[] = {R"(
program gemm()
  in  A: f32[96, 96]
  in  B: f32[96, 96]
  out C: f32[96, 96]
  loop m in 0..96
    C[m, n] = sum[k] A[m, k] * B[k, n]
)",
                                    R"(
program gemm()
  in  A: f32[96, 96]
  in  B: f32[96, 96]
  out C: f32[96, 96]
  C[m, n] = 0
  loop k in 0..96
    C[m, n] += A[m, k] * B[k, n]
)",
                                    R"(
program gemm()
  in  A: f32[96, 96]
  in  B: f32[96, 96]
  out C: f32[96, 96]
  loop m in 0..96
    loop n in 0..96
      C[m, n] = 0
      loop k in 0..96
        C[m, n] += A[m, k] * B[k, n]
)"};
  for (const driver::Arm arm : kArms)
    for (const char* text : kTexts) {
      const Written sums = written(text, arm);
      CAPTURE(sums.script);
      CHECK(sums.has("in register"));
      CHECK(sums.notes.empty());
    }
}

// Else vectors that go past the caches and others that do not would meet in the lines where rows end.
TEST_CASE("wordings: large results are streamed in rows of whole vectors") {
  const auto twice = [](const char* columns) {
    const std::string size = std::string("f32[8000, ") + columns + "]\n";
    return "program twice()\n  in  x: " + size + "  out y: " + size + "  y[i, j] = x[i, j] * 2\n";
  };
  for (const driver::Arm arm : kArms) {
    CHECK(written(twice("3000").c_str(), arm).has("stream y"));
    CHECK_FALSE(written(twice("3004").c_str(), arm).has("stream y"));
  }
}
