// Operands that are computed as they are read: both schedulers compute them before where that
// pays, and what they write is proved, and executed.
#include <doctest/doctest.h>

#include "driver/compile/describe_target.h"
#include "driver/compile/execution_check.h"
#include "driver/judge/fuzz/judge.h"
#include "driver/judge/fuzz/random_styles.h"
#include "ir/program_text.h"
#include "poly/auto_schedule.h"
#include "schedule/script/replay.h"
#include "schedule/templates/templates.h"

namespace polyte::fuzz::scaled_test {

TEST_CASE("operands that are computed before are those of the Program, by both schedulers") {
  const Machine machine = codegen::target_for_cpu("x86-64-v3").machine;
  int kept = 0, both = 0;
  for (std::uint64_t run = 0; run < 16; ++run) {
    Random random(7, run);
    const std::string text = scaled(random).text;
    CAPTURE(text);
    const auto program = std::make_shared<const ir::Program>(ir::parse_program(text, "scaled"));
    for (const auto& script : {poly::auto_schedule(*program, machine, {.keep_order = true}),
                               schedule::make_template(*program, machine, {.keep_order = true})}) {
      REQUIRE(static_cast<bool>(script));
      const std::string lines = schedule::print(*script);
      CAPTURE(lines);
      kept += lines.find("precompute") != std::string::npos ? 1 : 0;
      both += lines.find("_value_2[") != std::string::npos ? 1 : 0;
      const auto state =
          schedule::replay(program, *script, machine, {schedule::ProofLevel::Full, {}});
      REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
      const ir::Environment inputs = driver::adverse_environment(*program, run, true);
      CHECK(driver::faults_by_execution(*state, machine, inputs).empty());
    }
  }
  CHECK(kept >= 8);  // or nothing was tried
  CHECK(both >= 1);
}

TEST_CASE("what native code rounds otherwise than the interpreter is no fault") {
  const codegen::Target target = codegen::target_for_cpu("x86-64-v3");
  int natively = 0;
  for (std::uint64_t run = 0; run < 40 && natively < 4; ++run) {
    Random random(777, run);
    Case c{.program = scaled(random), .script = {}, .native = true};
    if (c.program.text.find("exp(") == std::string::npos) continue;
    ++natively;
    CAPTURE(c.program.text);
    CHECK(c.program.has_functions);
    c.script = schedule::parse_script("schedule s/1 for f\n", "s.sched");
    const Verdict verdict = judge(c, target);
    CHECK_MESSAGE(verdict.outcome == Outcome::Accepted, verdict.detail);
  }
  CHECK(natively == 4);
}

}  // namespace polyte::fuzz::scaled_test
