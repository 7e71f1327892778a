#include "driver/judge/fuzz/fuzz.h"

#include <filesystem>
#include <fstream>
#include <regex>

#include "driver/compile/build_kernel.h"
#include "driver/compile/parallel_jobs.h"
#include "driver/judge/certificate_text.h"
#include "driver/judge/fuzz/fuzz_complete.h"
#include "driver/judge/fuzz/fuzz_graph.h"
#include "driver/judge/fuzz/fuzz_import.h"
#include "driver/judge/fuzz/shrink.h"
#include "ir/program_text.h"

namespace polyte::fuzz {
namespace {

struct RunResult {
  std::uint64_t run = 0;
  Verdict verdict;
  ScriptStatistics statistics;
  Coverage coverage;
  std::size_t directives = 0;
  bool native = false;
  std::optional<FuzzFailure> failure;
};

// Which of our schedulers writes the script of a run.
driver::Scheduler scheduler_of(std::uint64_t run) {
  return run % 4 == 3   ? driver::Scheduler::Template
         : run % 4 == 2 ? driver::Scheduler::Isl
                        : driver::Scheduler::Poly;
}

// What a compiler takes open sizes for: more than a tile, and no multiple of one. The drawn ones
// where these may not be.
RandomProgram at_typical(const RandomProgram& program) {
  RandomProgram typical = program;
  for (auto& [param, size] : typical.sizes)
    if (param != "T") size = 67;
  return allows(ir::parse_program(program.text, "random.program"), typical.sizes) ? typical
                                                                                  : program;
}

// The GPU with one multiprocessor and its share of memory: what is drawn is small, and one that had
// to fill 132 of them would get no tile that is worth sharing.
void leave_one_multiprocessor(Gpu& gpu) {
  gpu.memory_gb_a_second /= gpu.multiprocessors;
  gpu.multiprocessors = 1;
}

// As a kernel is compiled: what the cheapest plan comes to, or where that is refused what is proved
// while it is planned.
Result<schedule::Script> written(const std::shared_ptr<const ir::Program>& program,
                                 driver::Scheduler scheduler, const Machine& machine) {
  Result<schedule::Script> script =
      driver::write_script(*program, scheduler, machine, {.proves = false});
  if (!script || schedule::replay(program, *script, machine, {schedule::ProofLevel::Final, {}}))
    return script;
  return driver::write_script(*program, scheduler, machine);
}

// False where the scheduler declines. A third of the runs have cores to share their loops among,
// most have a small GPU.
// Of open sizes the script is written for typical ones, and then has to hold for all.
bool derive_script(Case& c, std::uint64_t run, const codegen::Target& target) {
  Machine machine = target.machine;
  machine.cores = run % 3 == 0 ? 4 : 1;
  if (machine.gpu && run % 5 != 0) leave_one_multiprocessor(*machine.gpu);
  Result<schedule::Script> script = written(
      bound_program(c.open ? at_typical(c.program) : c.program), scheduler_of(run), machine);
  if (!script) return false;
  c.script = *std::move(script);
  if (c.open) c.script.digest = ir::digest(ir::parse_program(c.program.text, "random.program"));
  return true;
}

// A derived script has to be accepted, but for all sizes where it was made for one. One that may
// reorder sums of floats is not compared: other bits are right too.
Verdict judged(const Case& c, const codegen::Target& target, const FuzzOptions& options) {
  if (options.kind == FuzzKind::Schedule) return judge(c, target);
  if (c.script.name.empty()) return {.outcome = Outcome::Skipped, .detail = "declined"};
  if (c.script.contract != schedule::Contract::Exact && !c.program.exact_sums)
    return {.outcome = Outcome::Skipped, .detail = "sums of floats may be reordered"};
  Verdict verdict = judge(c, target);
  const bool is_refused =
      verdict.outcome != Outcome::Accepted && verdict.outcome != Outcome::Skipped;
  if (c.open && is_refused && verdict.outcome != Outcome::Failed)
    return {.outcome = Outcome::Skipped, .detail = "does not hold for all sizes"};
  if (is_refused && verdict.outcome != Outcome::Failed)
    verdict = {.outcome = Outcome::Failed, .failure = "refused", .detail = verdict.detail};
  return verdict;
}

// An invalid Program is shown as it was written.
std::string shown(const RandomProgram& program) {
  try {
    return ir::print(*bound_program(program));
  } catch (const std::exception&) {
    return program.text;
  }
}

// Shrinking must not run into another fault: only a candidate that fails in the same way counts.
FuzzFailure describe(const Case& found, std::uint64_t run, const codegen::Target& target,
                     const FuzzOptions& options) {
  const std::string kind = judged(found, target, options).failure;
  ShrinkOptions how{.still_fails = [&](const Case& candidate) {
    const Verdict verdict = judged(candidate, target, options);
    return verdict.outcome == Outcome::Failed && verdict.failure == kind;
  }};
  if (options.kind == FuzzKind::Poly)
    how.derive = [&](Case& candidate) { return derive_script(candidate, run, target); };
  const Case small = options.shrink ? shrink(found, how) : found;
  return {run, kind, judged(small, target, options).detail, shown(small.program),
          print(small.script)};
}

// For a judge outside of this program.
void write_certificate(const Case& c, std::uint64_t run, const codegen::Target& target,
                       const std::string& folder) {
  const auto program =
      c.open ? std::make_shared<const ir::Program>(ir::parse_program(c.program.text, "random"))
             : bound_program(c.program);
  const auto state =
      schedule::replay(program, c.script, target.machine, {schedule::ProofLevel::Off, {}});
  POLYTE_CHECK(bool(state), "an accepted script is refused without a proof");
  const std::filesystem::path path =
      std::filesystem::path(folder) / (std::to_string(run) + ".json");
  if (!(std::ofstream(path) << driver::certificate_text(*state)))
    throw UserError(ExitStatus::InvalidInput, path.string() + ": cannot be written");
}

void run_script(std::uint64_t run, const codegen::Target& target, const FuzzOptions& options,
                RunResult& result) {
  const Case c = random_case(options, run, target, result.statistics);
  result.verdict = judged(c, target, options);
  add(result.coverage, c, result.verdict);
  result.directives = c.script.directives.size();
  result.native = c.native;
  if (result.verdict.outcome == Outcome::Accepted && !options.certificates.empty())
    write_certificate(c, run, target, options.certificates);
  if (result.verdict.outcome == Outcome::Failed) result.failure = describe(c, run, target, options);
}

constexpr int kMostNodes = 14;

// The smallest number of nodes that still shows a fault is the shrunk case.
// A graph is a function of its seed and the number of nodes.
void run_graph(std::uint64_t run, const codegen::Target& target, const FuzzOptions& options,
               RunResult& result) {
  Random random(options.seed, run);
  result.native = random.chance(options.native_percent);
  const std::uint64_t seed = random.next();
  std::optional<GraphFault> fault = check_random_graph(seed, kMostNodes, result.native, target);
  result.verdict = {.outcome = fault ? Outcome::Failed : Outcome::Accepted};
  for (int nodes = 1; fault && options.shrink && nodes < kMostNodes; ++nodes) {
    const auto smaller = check_random_graph(seed, nodes, result.native, target);
    if (!smaller || smaller->kind != fault->kind) continue;
    fault = smaller;
    break;
  }
  if (fault) result.failure = FuzzFailure{run, fault->kind, fault->detail, fault->graph, ""};
}

void run_import(std::uint64_t run, const FuzzOptions& options, RunResult& result) {
  Random random(options.seed, run);
  const std::string bytes = damaged(random_model(random), random);
  const ImportResult imported = import_bytes(bytes);
  result.verdict.outcome = imported.fault      ? Outcome::Failed
                           : imported.imported ? Outcome::Accepted
                                               : Outcome::Malformed;
  if (imported.fault)
    result.failure = FuzzFailure{run, "import", *imported.fault,
                                 "a model of " + std::to_string(bytes.size()) + " bytes", ""};
}

void run_complete(std::uint64_t run, const codegen::Target& target, const FuzzOptions& options,
                  RunResult& result) {
  const CompletionRun completion =
      run_completion(options.seed, run, options.native_percent, target);
  const Case& asked = completion.asked.drawn;
  result.verdict = completion.verdict;
  result.native = asked.native;
  result.directives = completion.completed.directives.size();
  if (result.verdict.outcome == Outcome::Failed)
    result.failure =
        FuzzFailure{run, result.verdict.failure, result.verdict.detail, shown(asked.program),
                    schedule::print(asked.script) + "\n" + schedule::print(completion.completed)};
}

RunResult run_one(std::uint64_t run, const codegen::Target& target, const FuzzOptions& options) {
  RunResult result;
  result.run = run;
  if (options.on_start) options.on_start(run);
  try {
    if (options.kind == FuzzKind::Graph)
      run_graph(run, target, options, result);
    else if (options.kind == FuzzKind::Complete)
      run_complete(run, target, options, result);
    else if (options.kind == FuzzKind::Import)
      run_import(run, options, result);
    else
      run_script(run, target, options, result);
  } catch (const std::exception& e) {
    result.verdict = {.outcome = Outcome::Failed, .failure = "generator", .detail = e.what()};
    result.failure = FuzzFailure{run, "generator", e.what(), "", ""};
  }
  return result;
}

// So that refusals can be counted by reason: names and numbers of a drawn case go.
//   "stage acc0 at U1:i: accesses of 'acc0' are not affine" -> "accesses of '_' are not affine"
std::string reason_pattern(const std::string& detail) {
  static const std::regex kName("'[^']*'|\\b[A-Za-z]*[0-9][A-Za-z0-9_.]*");
  const std::size_t headline = detail.find(": ");
  return std::regex_replace(headline == std::string::npos ? detail : detail.substr(headline + 2),
                            kName, "_");
}

void add(FuzzReport& report, const RunResult& result) {
  const Verdict& verdict = result.verdict;
  report.runs += 1;
  report.accepted += verdict.outcome == Outcome::Accepted;
  report.malformed += verdict.outcome == Outcome::Malformed;
  report.undecided += verdict.outcome == Outcome::Undecided;
  report.skipped += verdict.outcome == Outcome::Skipped;
  report.illegal += verdict.outcome == Outcome::Illegal;
  report.illegal_executed += verdict.outcome == Outcome::Illegal && verdict.executed;
  report.illegal_justified += verdict.outcome == Outcome::Illegal && verdict.justified;
  report.refused_bound += static_cast<std::uint64_t>(verdict.refused_bound);
  if (verdict.outcome == Outcome::Undecided)
    report.undecided_because
        .try_emplace(reason_pattern(verdict.detail), FuzzUndecided{0, result.run})
        .first->second.runs += 1;
  if (verdict.executed && verdict.affine && !verdict.justified)
    report.doubted.push_back({result.run, verdict.outcome == Outcome::Illegal, verdict.detail});
  if (verdict.outcome == Outcome::Accepted)
    report.native += result.native, report.directives += result.directives;
  for (const auto& [name, count] : result.statistics.proposed)
    report.statistics.proposed[name] += count;
  for (const auto& [name, count] : result.statistics.applied)
    report.statistics.applied[name] += count;
  append(report.coverage, result.coverage);
  if (result.failure) report.failures.push_back(*result.failure);
}

}  // namespace

Case random_case(const FuzzOptions& options, std::uint64_t run, const codegen::Target& target,
                 ScriptStatistics& statistics) {
  if (options.kind == FuzzKind::Complete)
    return completion_case(options.seed, run, options.native_percent, target).drawn;
  Random random(options.seed, run);
  Case c;
  c.native = random.chance(options.native_percent);
  c.data_seed = random.next();
  c.open = options.open || random.chance(options.kind == FuzzKind::Poly ? 15 : 5);
  c.includes = random.chance(20), c.has_hole = random.chance(20), c.renames = random.chance(40);
  c.program = random_program(random);
  if (options.kind == FuzzKind::Poly) {
    derive_script(c, run, target);
    return c;
  }
  const auto program =
      c.open
          ? std::make_shared<const ir::Program>(ir::parse_program(c.program.text, "random.program"))
          : bound_program(c.program);
  c.script = random_script(program, target.machine, c.program.exact_sums, random, statistics);
  return c;
}

void append(FuzzReport& report, const FuzzReport& more) {
  for (const auto count :
       {&FuzzReport::runs, &FuzzReport::accepted, &FuzzReport::malformed, &FuzzReport::undecided,
        &FuzzReport::skipped, &FuzzReport::native, &FuzzReport::illegal,
        &FuzzReport::illegal_executed, &FuzzReport::illegal_justified, &FuzzReport::refused_bound,
        &FuzzReport::directives})
    report.*count += more.*count;
  for (const auto& [name, count] : more.statistics.proposed)
    report.statistics.proposed[name] += count;
  for (const auto& [name, count] : more.statistics.applied)
    report.statistics.applied[name] += count;
  append(report.coverage, more.coverage);
  for (const auto& [reason, undecided] : more.undecided_because)
    report.undecided_because.try_emplace(reason, FuzzUndecided{0, undecided.first})
        .first->second.runs += undecided.runs;
  report.doubted.insert(report.doubted.end(), more.doubted.begin(), more.doubted.end());
  report.failures.insert(report.failures.end(), more.failures.begin(), more.failures.end());
}

// Runs end in any order; adding them up by number makes the report the same for any jobs.
FuzzReport fuzz(const FuzzOptions& options, const codegen::Target& target) {
  const std::uint64_t first = options.only.value_or(options.first),
                      count = options.only ? 1 : options.runs;
  std::vector<RunResult> results(count);
  driver::run_jobs(options.jobs, count,
                   [&](std::size_t i) { results[i] = run_one(first + i, target, options); });
  FuzzReport report;
  for (const RunResult& result : results) add(report, result);
  return report;
}

}  // namespace polyte::fuzz
