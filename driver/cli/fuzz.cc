// polyte fuzz: the built-in property fuzzers. A failure prints the line that replays it and
// the shrunk case.
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "driver/cli/cli.h"
#include "driver/cli/fuzz_report.h"
#include "driver/compile/parallel_jobs.h"
#include "driver/judge/fuzz/fuzz.h"
#include "ir/program_text.h"

namespace polyte::cli {
namespace {

struct FuzzVerbOptions {
  fuzz::FuzzOptions fuzz;
  std::string target = "x86-64-v3";
  std::string log;
  std::int64_t only = -1;
  bool no_shrink = false, json = false, show = false, covers = false;
};

// ---- a crash: which run it was

// Only calls that are safe in a handler of signals, hence a line that is ready before each run; of
// each thread its own, since a crash is handled in the thread that caused it.
thread_local char crash_line[160] = "";

void on_crash(int) {
  const char* text = "polyte fuzz crashed; replay it with:\n";
  (void)!write(STDERR_FILENO, text, std::strlen(text));
  (void)!write(STDERR_FILENO, crash_line, std::strlen(crash_line));
  _exit(static_cast<int>(ExitStatus::Internal));
}

void watch_crashes(const std::string& kind, FuzzVerbOptions& options) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, on_crash);
  options.fuzz.on_start = [kind, seed = options.fuzz.seed,
                           open = options.fuzz.open](std::uint64_t run) {
    std::snprintf(crash_line, sizeof crash_line, "polyte fuzz %s --seed %llu --only %llu%s\n",
                  kind.c_str(), static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(run), open ? " --open" : "");
  };
}

// ---- the report

void print_failures(const FuzzIdentity& identity, const fuzz::FuzzReport& report) {
  for (const fuzz::FuzzFailure& failure : report.failures) {
    std::cerr << replay_line(identity, failure.run) << "\n"
              << failure.kind << ": " << failure.detail << "\n\n"
              << failure.program << "\n"
              << failure.script << "\n";
  }
}

void print_summary(const fuzz::FuzzReport& report) {
  std::cout << report.runs << " runs: " << report.accepted << " accepted (" << report.directives
            << " directives, " << report.native << " compiled natively), " << report.illegal
            << " illegal (" << report.illegal_justified << " of " << report.illegal_executed
            << " executed show it), " << report.malformed << " malformed, " << report.undecided
            << " undecided, " << report.doubted.size() << " refused without a visible fault, "
            << report.refused_bound << " sizes refused when bound, " << report.skipped
            << " skipped, " << report.failures.size() << " failures\n";
  if (!report.coverage.features.empty()) std::cout << "\n" << to_table(report.coverage);
}

// Whether the runs drew everything, where that was asked for.
bool covers_all(const FuzzVerbOptions& options, const fuzz::FuzzReport& report) {
  if (!options.covers) return true;
  std::vector<std::string> empty =
      fuzz::empty_rows(report.coverage, options.target.starts_with("cuda:"));
  const std::size_t pairs = report.coverage.pairs.size(), half = fuzz::possible_pairs() / 2;
  if (pairs < half)
    empty.push_back(std::to_string(pairs) + " pairs of directives, expected " +
                    std::to_string(half));
  for (const std::string& row : empty) std::cerr << row << "\n";
  return empty.empty();
}

void print_cases(const fuzz::FuzzOptions& options, const codegen::Target& target) {
  const std::uint64_t first = options.only.value_or(options.first),
                      count = options.only ? 1 : options.runs;
  for (std::uint64_t run = first; run < first + count; ++run) {
    fuzz::ScriptStatistics unused;
    const fuzz::Case c = fuzz::random_case(options, run, target, unused);
    std::cout << ir::print(*fuzz::bound_program(c.program)) << "\n"
              << schedule::print(c.script) << "\n";
  }
}

// In parts of kLogged runs, the report written to the log after each; what the log has already is
// not run again.
constexpr std::uint64_t kLogged = 500;

// Runs are numbered and independent, so that the log need only say how many are done.
fuzz::FuzzReport fuzz_logged(const FuzzIdentity& identity, const FuzzVerbOptions& options) {
  const codegen::Target target = target_from(options.target);
  if (options.log.empty()) return fuzz::fuzz(options.fuzz, target);
  fuzz::FuzzReport report;
  if (std::filesystem::exists(options.log))
    report = read_report(read_text_file(options.log), identity, options.log);
  while (report.runs < options.fuzz.runs) {
    fuzz::FuzzOptions part = options.fuzz;
    part.first = options.fuzz.first + report.runs;
    part.runs = std::min(kLogged, options.fuzz.runs - report.runs);
    fuzz::append(report, fuzz::fuzz(part, target));
    write_file(options.log, to_json(identity, report).dump(2) + "\n");
  }
  return report;
}

int run_fuzzer(const std::string& kind, FuzzVerbOptions& options) {
  if (options.only >= 0) options.fuzz.only = static_cast<std::uint64_t>(options.only);
  options.fuzz.shrink = !options.no_shrink;
  if (!options.fuzz.certificates.empty())
    std::filesystem::create_directories(options.fuzz.certificates);
  watch_crashes(kind, options);
  if (options.show) print_cases(options.fuzz, target_from(options.target));
  const FuzzIdentity identity{kind, options.fuzz.seed, options.target, options.fuzz.native_percent,
                              options.fuzz.open};
  const fuzz::FuzzReport report = fuzz_logged(identity, options);
  print_failures(identity, report);
  if (options.json) {
    std::cout << to_json(identity, report).dump(2) << "\n";
  } else {
    print_summary(report);
  }
  const bool covers = covers_all(options, report);
  return report.failures.empty() && covers ? 0 : static_cast<int>(ExitStatus::Refused);
}

void add_fuzz_options(const Verb& verb, FuzzVerbOptions& options) {
  options.fuzz.jobs = driver::default_jobs();
  verb.option("--runs", options.fuzz.runs, "how many").within(0, 1'000'000'000).shows_default();
  verb.option("--first", options.fuzz.first, "number of the first run").shows_default();
  verb.option("--seed", options.fuzz.seed, "of all random choices").shows_default();
  verb.option("--jobs", options.fuzz.jobs, "threads; the result does not depend on it")
      .within(1, 256);
  verb.option("--only", options.only, "this run alone");
  verb.option("--log", options.log,
              "a report that grows with the runs, and that a later call continues");
  verb.flag("--json", options.json, "the report as JSON");
  verb.option("--native", options.fuzz.native_percent,
              "percent of the runs that are compiled natively")
      .within(0, 100)
      .shows_default();
  verb.option("--target", options.target, kTargetHelp).shows_default();
  verb.flag("--open", options.fuzz.open,
            "all runs with open sizes: proved once, executed at twelve");
  verb.option("--certificates", options.fuzz.certificates,
              "a folder for the certificate of each accepted script");
  verb.flag("--show", options.show, "print each Program and Script");
  verb.flag("--no-shrink", options.no_shrink, "report failures as they were found");
}

void add_fuzzer(const Verb& fuzz, const std::string& name, const std::string& what,
                fuzz::FuzzKind kind) {
  const Verb verb = fuzz.verb(name, what);
  auto options = std::make_shared<FuzzVerbOptions>();
  options->fuzz.kind = kind;
  add_fuzz_options(verb, *options);
  if (kind == fuzz::FuzzKind::Schedule)
    verb.flag("--covers", options->covers,
              "fail where the table of what was drawn has an empty row");
  verb.example("polyte fuzz " + name + " --runs 500 --seed 1 --jobs 2 --json");
  verb.calls([name, options] { return run_fuzzer(name, *options); });
}

}  // namespace

void add_fuzz(const Verb& app) {
  const Verb verb =
      app.verb("fuzz", "property fuzzers: random cases, checked along every execution path");
  verb.needs_verb();
  verb.example("polyte fuzz schedule --runs 500 --seed 1");
  add_fuzzer(verb, "schedule", "random Programs under random Scripts", fuzz::FuzzKind::Schedule);
  add_fuzzer(verb, "poly", "random Programs under the Scripts of our schedulers",
             fuzz::FuzzKind::Poly);
  add_fuzzer(verb, "complete", "random scripts with holes on twenty Programs",
             fuzz::FuzzKind::Complete);
  add_fuzzer(verb, "graph", "random graphs through passes, fusion and kernels",
             fuzz::FuzzKind::Graph);
  add_fuzzer(verb, "import", "damaged ONNX models into the importer", fuzz::FuzzKind::Import);
}

}  // namespace polyte::cli
