// The generators: valid, varied, and the same for a seed whatever the number of jobs.
#include <doctest/doctest.h>

#include <set>

#include "driver/compile/describe_target.h"
#include "driver/judge/fuzz/fuzz.h"
#include "driver/judge/fuzz/random_environment.h"
#include "ir/program_text.h"

using namespace polyte;
using namespace polyte::fuzz;

namespace {

codegen::Target test_target() { return codegen::target_for_cpu("x86-64-v3"); }

std::string text_of(const FuzzReport& report) {
  std::string text =
      std::to_string(report.runs) + " " + std::to_string(report.accepted) + " " +
      std::to_string(report.illegal) + " " + std::to_string(report.illegal_justified) + " " +
      std::to_string(report.malformed) + " " + std::to_string(report.directives) + "\n";
  for (const auto& [name, count] : report.statistics.proposed)
    text += name + " " + std::to_string(count) + "\n";
  for (const auto& [name, count] : report.statistics.applied)
    text += name + " " + std::to_string(count) + "\n";
  for (const FuzzFailure& failure : report.failures) text += failure.program + failure.script;
  return text;
}

}  // namespace

TEST_CASE("random Programs are valid and of every style") {
  std::string all;
  for (std::uint64_t run = 0; run < 400; ++run) {
    Random random(3, run);
    const RandomProgram program = random_program(random);
    INFO(program.text);
    const auto bound = bound_program(program);
    CHECK(ir::verify(*bound) == std::vector<std::string>{});
    ir::Environment buffers = random_environment(*bound, run);
    CHECK_NOTHROW(ir::interpret(*bound, buffers, {}));
    const std::string printed = ir::print(*bound);
    CHECK(ir::print(ir::parse_program(printed, "printed")) == printed);
    all += program.text;
  }
  for (const char* style :
       {"sum[",    "product[", "min[",    "max[",   "and[",   "or[", "argmax[", "argmin[", "loop t",
        "step -1", " else ",   "+= ",     "max= ",  "// 2",   "2*",  "% 3",     "index",   " when ",
        " if ",    "in i..",   "..i + 1", "bf16",   "u64",    "f64", "const",   "inout",   "bool",
        " where ", "in -1..",  "exp(",    "loop u", "n // 2", "or= "}) {
    INFO(style);
    CHECK(all.find(style) != std::string::npos);
  }
}

TEST_CASE("random Scripts try every primitive and end at twelve directives") {
  const codegen::Target target = test_target();
  ScriptStatistics statistics;
  for (std::uint64_t run = 0; run < 160; ++run) {
    ScriptStatistics once, again;
    const Case c = random_case({.seed = 5}, run, target, once);
    const Case same = random_case({.seed = 5}, run, target, again);
    const std::string text = schedule::print(c.script);
    CHECK(text == schedule::print(same.script));
    CHECK(c.program.text == same.program.text);
    CHECK(c.script.directives.size() <= 12);
    CHECK(schedule::print(schedule::parse_script(text, "random.sched")) == text);
    for (const auto& [name, count] : once.applied) statistics.applied[name] += count;
    for (const auto& [name, count] : once.proposed) statistics.proposed[name] += count;
  }
  for (const char* primitive : {"split",
                                "tile",
                                "reorder",
                                "order",
                                "fuse",
                                "merge",
                                "distribute",
                                "unroll",
                                "vectorize",
                                "parallel",
                                "compute_inline",
                                "compute_at",
                                "reverse_compute_at",
                                "place",
                                "nest",
                                "stage",
                                "cache_read",
                                "cache_write",
                                "pack",
                                "tensorize",
                                "transaction",
                                "rewrite rfactor"}) {
    INFO(std::string(primitive));
    CHECK(statistics.proposed[primitive] > 0);
    CHECK(statistics.applied[primitive] > 0);
  }
}

TEST_CASE("the report does not depend on the number of jobs, and a run repeats alone") {
  const codegen::Target target = test_target();
  FuzzOptions options{.seed = 9, .runs = 24, .jobs = 1};
  const FuzzReport report = fuzz::fuzz(options, target);
  options.jobs = 3;
  CHECK(text_of(fuzz::fuzz(options, target)) == text_of(report));
  FuzzReport sum;
  for (std::uint64_t run = 0; run < 24; ++run) {
    options.only = run;
    const FuzzReport one = fuzz::fuzz(options, target);
    CHECK(one.runs == 1);
    sum.accepted += one.accepted, sum.illegal += one.illegal, sum.malformed += one.malformed;
  }
  CHECK(sum.accepted == report.accepted);
  CHECK(sum.illegal == report.illegal);
  CHECK(sum.malformed == report.malformed);
}

// That a test's runs draw everything: --covers, in this folder's CMakeLists.txt.
TEST_CASE("rows of the coverage table that nothing was drawn for are named, each target's own") {
  Coverage none;
  const std::size_t of_gpu = 8, of_cpu = 1, all = feature_names().size() + directive_names().size();
  CHECK(empty_rows(none, false).size() == all - of_gpu);
  CHECK(empty_rows(none, true).size() == all - of_cpu);
}
