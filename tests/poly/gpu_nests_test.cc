// What poly makes of nests for a GPU: sums in parts where their points are few, squares where reads
// and writes lie along different loops, vectors where everything lies along one.
#include "support/gpu_machines.h"
#include "tests/poly/poly_testing.h"

namespace polyte::poly {

using schedule::has;

namespace {

std::string gpu_script(const char* text, const PolyOptions& options = {}) {
  const auto program = schedule::bound_program(text, {});
  const Machine machine = *gpu_machine("h100");
  const auto script = auto_schedule(*program, machine, options);
  REQUIRE_MESSAGE(static_cast<bool>(script), (script ? std::string() : script.error().reason));
  return schedule::checked_text(program, *script, machine);
}

constexpr const char* kFewPoints = R"(
program few()
  in  x: f32[7, 640]
  in  w: f32[640, 30]
  out y: f32[7, 30]
  acc[m, n] = sum[k] x[m, k] * w[k, n]
  y[m, n]   = max(acc[m, n], 0)
)";

}  // namespace

TEST_CASE(
    "GPU: a sum of few points is made in parts, an axis of blocks, and added up behind them") {
  const std::string script = gpu_script(kFewPoints);
  CHECK(has(script, "reassoc k"));
  CHECK(has(script, "split_reduction acc: k by "));
  CHECK(has(script, "nest block k.o > "));
}

TEST_CASE("GPU: the order of the terms is kept where that is asked for") {
  CHECK_FALSE(has(gpu_script(kFewPoints, {.keep_order = true}), "split_reduction"));
}

TEST_CASE("GPU: columns are added by a thread each, neighbours side by side") {
  const std::string script = gpu_script(R"(
program columns()
  in  x: f32[512, 40]
  out y: f32[40]
  y[j] = sum[i] x[i, j]
)");
  CHECK(has(script, "split_reduction y: i by "));
  CHECK(has(script, "nest block i.o > block j.o > thread j.i > { y_p.init; i.i > y_p.update }"));
}

TEST_CASE("GPU: what is read across comes through squares in shared memory") {
  const std::string script = gpu_script(R"(
program across()
  in  x: f32[64, 96]
  in  z: f32[96, 64]
  out y: f32[96, 64]
  y[i, j] = x[j, i] + z[i, j]
)");
  CHECK(has(script, "stage x at y:j.o in shared"));
  CHECK(has(script, "swizzle x by 1"));
  CHECK_FALSE(has(script, "stage z"));
}

TEST_CASE("GPU: a thread has 16 bytes where there are enough of them, in whole rows") {
  const auto script = [](const char* columns) {
    return gpu_script(("program p()\n  in x: f32[264, " + std::string(columns) +
                       "]\n  out y: f32[264, " + columns + "]\n  y[i, j] = x[i, j] * 2\n")
                          .c_str());
  };
  CHECK(has(script("512"), "split y: j by 4"));
  CHECK(has(script("512"), "<j.i> > y"));
  CHECK_FALSE(has(script("511"), "<"));
  CHECK_FALSE(has(script("64"), "<"));
}

}  // namespace polyte::poly
