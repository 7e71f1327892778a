// What was asked of a scheduler and not done is a fact: a field of the kernel, of the manifest and
// of every JSON, and an error under `strict`.
#include <doctest/doctest.h>

#include "driver/cli/scheduling_report.h"
#include "driver/compile/describe_target.h"
#include "driver/compile/operator.h"
#include "driver/package/assemble.h"
#include "driver/package/scheduling.h"
#include "ir/program_text.h"
#include "schedule/script/script.h"

namespace {

using namespace polyte;

// A region whose iterations go on from each other, with two statements that have no other loop: no
// template takes it, on any machine.
constexpr const char* kSweep = R"(
program sweep(T)
  in  x: f32[T]
  out y: f32[T]
  out z: f32[T]
  loop t in 0..T
    R: y[t] = (y[t - 1] else 0) + x[t]
    S: z[t] = y[t] * x[t]
)";
constexpr const char* kAdd = R"(
program add(N)
  in  a: f32[N]
  out y: f32[N]
  S: y[i] = a[i] + 1
)";

std::shared_ptr<const ir::Program> program(const char* text) {
  ir::Program parsed = ir::parse_program(text, "test");
  ir::Values sizes;
  for (const std::string& param : parsed.params) sizes[param] = param == "T" ? 3 : 64;
  return std::make_shared<const ir::Program>(ir::bind(parsed, sizes));
}

driver::KernelOptions asking(driver::Scheduler scheduler, bool strict = false) {
  driver::KernelOptions options;
  options.scheduler = scheduler;
  options.strict = strict;
  return options;
}

driver::BuiltKernel built(const char* text, driver::Scheduler scheduler, bool strict = false) {
  return driver::build_kernel(program(text), codegen::detect_host().machine,
                              asking(scheduler, strict));
}

}  // namespace

TEST_CASE("a scheduler that declines leaves who was asked, who was used, why and where") {
  const driver::BuiltKernel kernel = built(kSweep, driver::Scheduler::Template);
  CHECK((kernel.asked == driver::Scheduler::Template && kernel.used() == driver::Scheduler::Naive));
  REQUIRE(kernel.declined);
  CHECK(kernel.declined->reason == "no template for S in an ordered region");
  CHECK(kernel.declined->where == "template, program 'sweep'");
  const driver::BuiltKernel taken = built(kAdd, driver::Scheduler::Template);
  CHECK((!taken.declined && taken.used() == driver::Scheduler::Template));
}

// A loop of one iteration is a loop, wherever it stands.
TEST_CASE("extents of one: neither scheduler falls back") {
  const ir::Program product =
      ir::parse_index_notation("C[b,m,n] = sum[k] A[b,m,k]*B[b,k,n]", DType::F32);
  for (int which = 0; which < 16; ++which)
    for (const driver::Scheduler scheduler :
         {driver::Scheduler::Poly, driver::Scheduler::Template}) {
      const auto extent = [&](int bit) {
        return (which >> bit & 1) != 0 ? std::int64_t{200} : std::int64_t{1};
      };
      const ir::Values sizes = {
          {"b", extent(0)}, {"m", extent(1)}, {"n", extent(2)}, {"k", extent(3)}};
      CAPTURE(which);
      CAPTURE(driver::to_string(scheduler));
      const auto bound = std::make_shared<const ir::Program>(ir::bind(product, sizes));
      const driver::BuiltKernel kernel =
          driver::build_kernel(bound, driver::target_named("x86-64-v3").machine, asking(scheduler));
      CHECK_FALSE(kernel.declined);
    }
}

TEST_CASE("under strict a fallback is a refusal, with the scheduler's reason") {
  try {
    built(kSweep, driver::Scheduler::Template, true);
    FAIL("the fallback was accepted");
  } catch (const UserError& e) {
    CHECK(e.status() == ExitStatus::Refused);
    CHECK(std::string(e.what()) ==
          "template declined 'sweep': no template for S in an ordered region (template, "
          "program 'sweep'), and --strict is set");
  }
  CHECK_NOTHROW(built(kAdd, driver::Scheduler::Template, true));
  // The reference order is what was asked for.
  CHECK_NOTHROW(built(kSweep, driver::Scheduler::Naive, true));
}

TEST_CASE("the manifest of an artifact has who scheduled each kernel") {
  const codegen::Target target = codegen::detect_host();
  const driver::CompiledOperator op =
      driver::compile_operator(program(kSweep), target, asking(driver::Scheduler::Template));
  const runtime::ArtifactParts parts =
      driver::assemble(op, driver::make_tensors(*op.built.program), target);
  const runtime::ArtifactManifest read =
      runtime::manifest_from_json(runtime::manifest_to_json(parts.manifest), "test");
  REQUIRE(read.steps.size() == 1);
  const runtime::StepScheduling& how = read.steps[0].scheduling;
  CHECK((how.asked == "template" && how.used == "naive" && how.is_declined()));
  CHECK((how.reason == op.built.declined->reason && how.where == op.built.declined->where));
}

TEST_CASE("JSON has the same four fields of every kind of work") {
  const cli::Scheduling declined = cli::scheduling_of(built(kSweep, driver::Scheduler::Template));
  const nlohmann::ordered_json one = cli::scheduling_json(declined, "poly");
  CHECK(one.dump() ==
        R"({"scheduler_asked":"template","scheduler_used":"naive","declined":{"reason":)"
        R"("no template for S in an ordered region","where":"template, program 'sweep'"},)"
        R"("identical_to":"poly"})");
  cli::Scheduling both = cli::scheduling_of(built(kAdd, driver::Scheduler::Template));
  CHECK(cli::scheduling_json(both, "").dump() ==
        R"({"scheduler_asked":"template","scheduler_used":"template",)"
        R"("declined":null,"identical_to":null})");
  CHECK(cli::scheduler_title("template", both) == "template");
  both.push_back(declined[0]);
  const nlohmann::ordered_json mixed = cli::scheduling_json(both, "");
  CHECK(mixed["scheduler_used"] == "template+naive");
  CHECK(mixed["groups_declined"].size() == 1);
  CHECK(mixed["groups_declined"][0]["group"] == "sweep");
  CHECK(cli::scheduler_title("template", both) ==
        "template (1 of 2 kernels declined: reference order)");
  CHECK(cli::scheduler_title("poly", declined) == "poly (declined: reference order)");
}

TEST_CASE("two schedulers with the same loops have one digest, others have others") {
  const driver::BuiltKernel naive = built(kSweep, driver::Scheduler::Naive),
                            fallen = built(kSweep, driver::Scheduler::Template),
                            other = built(kAdd, driver::Scheduler::Naive);
  CHECK(cli::loops_digest({&naive, 1}) == cli::loops_digest({&fallen, 1}));
  CHECK(cli::loops_digest({&naive, 1}) != cli::loops_digest({&other, 1}));
}
