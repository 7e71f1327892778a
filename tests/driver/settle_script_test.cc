// A line of our own script that is refused is left out and said; a kernel for another processor
// is not run.
#include <doctest/doctest.h>

#include <algorithm>

#include "driver/compile/build_kernel.h"
#include "driver/compile/operator.h"
#include "driver/compile/settle_script.h"
#include "ir/program_text.h"

namespace {

using namespace polyte;

constexpr const char* kGemv = R"(
program gemv(N, K)
  in  a: f64[N, K]
  in  x: f64[K]
  out y: f64[N]

  y[i] = 0
  y[i] += a[i, k] * x[k]
)";

// The cheapest plan has the rows of a tile together, and the proof refuses it at some sizes.
constexpr const char* kTriangle = R"(
program triangle(N)
  in  L: f64[N, N]
  out x: f64[N]
  in  b: f64[N]

  loop i in 0..N
    S0: x[i] = b[i]
    S1: x[i] -= L[i, j] * x[j]    for j in 0..i
    S2: x[i] = x[i] / L[i, i]
)";

std::shared_ptr<const ir::Program> gemv() {
  return std::make_shared<const ir::Program>(
      ir::bind(ir::parse_program(kGemv, "test"), {{"N", 40}, {"K", 64}}));
}

}  // namespace

TEST_CASE(
    "a refused line that the rest does not need is left out, another is a refusal of the script") {
  const auto bound = gemv();
  const Machine machine = codegen::detect_host().machine;
  const auto settle = [&](const std::string& lines,
                          std::vector<schedule::RefusedScript>& left_out) {
    schedule::Script script =
        schedule::parse_script("schedule gemv/test for gemv f64 exact\n" + lines, "test");
    schedule::ReplayOptions options;
    options.proof = schedule::ProofLevel::Final;
    return driver::settle_script(bound, script, machine, options, left_out);
  };
  std::vector<schedule::RefusedScript> left_out;
  CHECK(static_cast<bool>(settle("stage nothing in register\nparallel y:i\n", left_out)));
  REQUIRE(left_out.size() == 1);
  CHECK(left_out[0].what.starts_with("'stage nothing in register' is refused and left out: "));
  CHECK(left_out[0].script.directives.size() == 2);
  left_out.clear();
  CHECK_FALSE(static_cast<bool>(settle("split nothing by 4\n", left_out)));
  CHECK(left_out.empty());
}

TEST_CASE("a kernel that was compiled for another processor is refused before it runs") {
  const auto bound = gemv();
  driver::KernelOptions options;
  options.scheduler = driver::Scheduler::Naive;
  driver::CompiledOperator op = driver::compile_operator(bound, codegen::detect_host(), options);
  std::vector<runtime::Tensor> tensors = driver::make_tensors(*bound);
  CHECK_NOTHROW(driver::OperatorRunner(op, tensors, 1).run());
  op.cpu = "another";
  op.features.emplace_back("+wings");
  try {
    driver::OperatorRunner(op, tensors, 1).run();
    FAIL("it ran");
  } catch (const UserError& e) {
    CHECK(e.status() == ExitStatus::Artifact);
    CHECK(std::string(e.what()).find(
              "features that this machine lacks: wings (built for another)") != std::string::npos);
  }
}

TEST_CASE("a plan that is proved as a whole is the one that is proved while it is chosen") {
  const Machine machine = codegen::detect_host().machine;
  for (const std::int64_t n : {40, 120, 400, 2000}) {
    CAPTURE(n);
    const auto bound = std::make_shared<const ir::Program>(
        ir::bind(ir::parse_program(kTriangle, "test"), {{"N", n}}));
    driver::KernelOptions options;
    options.scheduler = driver::Scheduler::Poly;
    const driver::BuiltKernel kernel = driver::build_kernel(bound, machine, options);
    const auto proved = driver::write_script(*bound, driver::Scheduler::Poly, machine);
    REQUIRE(static_cast<bool>(proved));
    CHECK_FALSE(kernel.declined);
    CHECK(schedule::print(kernel.script) == schedule::print(*proved));
    const auto asked = std::ranges::count(kernel.times, "schedule", &StageTime::stage);
    CHECK(asked <= 2);
  }
}
