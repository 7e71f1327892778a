#include "driver/fuzz/fuzz_schedule.h"

#include "driver/fuzz/shrink.h"
#include "driver/parallel_jobs.h"
#include "ir/program_text.h"

namespace polyte::fuzz {
namespace {

struct RunResult {
  Verdict verdict;
  ScriptStatistics statistics;
  std::size_t directives = 0;
  bool native = false;
  std::optional<FuzzFailure> failure;
};

FuzzFailure describe(const Case& found, std::uint64_t run, const codegen::Target& target, const FuzzOptions& options) {
  const std::string kind = judge(found, target).failure;
  const auto still_fails = [&](const Case& candidate) {
    const Verdict verdict = judge(candidate, target);
    return verdict.outcome == Outcome::Failed && verdict.failure == kind;
  };
  const Case small = options.shrink ? shrink(found, still_fails) : found;
  FuzzFailure failure{run, kind, judge(small, target).detail, small.program.text, print(small.script)};
  try {
    failure.program = ir::print(*bound_program(small.program));
  } catch (const std::exception&) {  // an invalid Program is shown as it was written
  }
  return failure;
}

RunResult run_one(std::uint64_t run, const codegen::Target& target, const FuzzOptions& options) {
  RunResult result;
  if (options.on_start) options.on_start(run);
  try {
    const Case c = random_case(options, run, target, result.statistics);
    result.verdict = judge(c, target);
    result.directives = c.script.directives.size();
    result.native = c.native;
    if (result.verdict.outcome == Outcome::Failed) result.failure = describe(c, run, target, options);
  } catch (const std::exception& e) {
    result.verdict = {.outcome = Outcome::Failed, .failure = "generator", .detail = e.what()};
    result.failure = FuzzFailure{run, "generator", e.what(), "", ""};
  }
  return result;
}

void add(FuzzReport& report, const RunResult& result) {
  const Verdict& verdict = result.verdict;
  report.runs += 1;
  report.accepted += verdict.outcome == Outcome::Accepted;
  report.malformed += verdict.outcome == Outcome::Malformed;
  report.undecided += verdict.outcome == Outcome::Undecided;
  report.skipped += verdict.outcome == Outcome::Skipped;
  report.illegal += verdict.outcome == Outcome::Illegal;
  report.illegal_executed += verdict.executed;
  report.illegal_justified += verdict.justified;
  if (verdict.outcome == Outcome::Accepted) report.native += result.native, report.directives += result.directives;
  for (const auto& [name, count] : result.statistics.proposed) report.statistics.proposed[name] += count;
  for (const auto& [name, count] : result.statistics.applied) report.statistics.applied[name] += count;
  if (result.failure) report.failures.push_back(*result.failure);
}

}  // namespace

Case random_case(const FuzzOptions& options, std::uint64_t run, const codegen::Target& target,
                 ScriptStatistics& statistics) {
  Random random(options.seed, run);
  Case c;
  c.native = random.chance(options.native_percent);
  c.data_seed = random.next();
  c.program = random_program(random);
  c.script = random_script(bound_program(c.program), target.machine, c.program.exact_sums, random, statistics);
  return c;
}

FuzzReport fuzz_schedule(const FuzzOptions& options, const codegen::Target& target) {
  const std::uint64_t first = options.only.value_or(0), count = options.only ? 1 : options.runs;
  std::vector<RunResult> results(count);
  driver::run_jobs(options.jobs, count, [&](std::size_t i) { results[i] = run_one(first + i, target, options); });
  FuzzReport report;
  for (const RunResult& result : results) add(report, result);
  return report;
}

}  // namespace polyte::fuzz
