// polyte lab report, status, compare: what may be said of the results of a run, or of two.
#include <iostream>

#include "driver/cli/cli.h"
#include "driver/cli/lab_verbs.h"
#include "driver/cli/output_files.h"
#include "driver/lab/regression.h"
#include "driver/lab/report.h"
#include "driver/lab/runner.h"
#include "driver/lab/text_table.h"

namespace polyte::cli {
namespace {

// ---- report

struct ReportVerb {
  std::string folder, format = "text", output;
};

int run_lab_report(const ReportVerb& verb) {
  if (!verb.output.empty())
    check_output_file("-o " + verb.output, verb.output, {verb.folder + "/plan.json"});
  const std::string text = lab::report(lab::read_results(verb.folder), verb.format);
  if (verb.output.empty())
    std::cout << text;
  else
    write_file(verb.output, text);
  return 0;
}

// ---- status

//   row               processes  rounds
//   gemm m=64 n=64            5      52  narrow enough
//   gemm m=128 n=64           3      30  not finished
int run_lab_status(const std::string& folder) {
  const lab::Plan plan = lab::read_plan(folder);
  const lab::Records records = lab::read_records(folder, plan);
  std::vector<lab::Cells> rows;
  std::size_t done = 0;
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const lab::RowRecord& record = records.rows[i];
    std::size_t rounds = 0;
    for (const auto& [number, process] : record.processes) rounds += process.rounds.size();
    done += record.why.empty() ? 0 : 1;
    rows.push_back({plan.rows[i].name, std::to_string(record.processes.size()),
                    std::to_string(rounds),
                    !record.why.empty()        ? record.why
                    : record.processes.empty() ? "not begun"
                                               : "not finished"});
  }
  std::cout << lab::text_table({"row", "processes", "rounds", ""}, rows);
  std::cout << done << " of " << plan.rows.size() << " rows are done";
  if (records.dropped > 0) std::cout << ", " << records.dropped << " line of samples was cut off";
  std::cout << (done < plan.rows.size() ? "; polyte lab run " + folder + " goes on\n" : "\n");
  return 0;
}

// ---- compare

struct CompareVerb {
  std::vector<std::string> folders;
  std::string baseline, junit, min_time;
  bool json = false;
  lab::RegressionOptions options;
};

// "10us", "1.5 ms".
double nanoseconds_of(const std::string& text) {
  if (text.empty()) return 0;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  std::string unit(end);
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size()
                                                                 : unit.find_first_not_of(' '));
  for (const auto& [name, scale] : {std::pair{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}})
    if (unit == name && end != text.c_str() && value >= 0) return value * scale;
  throw UserError(ExitStatus::Usage,
                  "--min-time " + text + ": expected a time, 10us (ns, us, ms or s)");
}

// The exit status is for a continuous build: 1 only where a row is slower beyond doubt.
int run_lab_compare(CompareVerb verb) {
  if (!verb.baseline.empty()) verb.folders.insert(verb.folders.begin(), verb.baseline);
  if (verb.folders.size() != 2)
    throw UserError(
        ExitStatus::Usage,
        "lab compare: expected two result folders, OLD and NEW (or NEW with --baseline), got " +
            std::to_string(verb.folders.size()));
  if (!verb.junit.empty()) check_output_file("--junit " + verb.junit, verb.junit, {});
  verb.options.min_time = nanoseconds_of(verb.min_time);
  if (!(verb.options.min_effect >= 0 && verb.options.min_effect <= 10))
    throw UserError(ExitStatus::Usage, "--min-effect: expected a share from 0 to 10, 0.02 for 2 %");
  const lab::Comparison comparison =
      lab::compare(lab::measured_of(lab::read_results(verb.folders[0])),
                   lab::measured_of(lab::read_results(verb.folders[1])), verb.options);
  if (!verb.junit.empty()) write_file(verb.junit, lab::comparison_junit(comparison));
  if (verb.json)
    std::cout << lab::to_json(comparison)
                     .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << "\n";
  else
    std::cout << lab::comparison_text(comparison);
  if (comparison.is_empty())
    throw UserError(ExitStatus::InvalidInput,
                    "lab compare: no arm of a row is timed in both " + verb.folders[0] + " and " +
                        verb.folders[1] +
                        (verb.options.filter.empty() ? "" : ", of those with --filter's text") +
                        "; polyte lab status says what a run has");
  return comparison.is_regression() ? static_cast<int>(ExitStatus::Refused) : 0;
}

}  // namespace

int lab_with(const std::string& name, const std::function<int()>& f) try {
  return f();
} catch (const nlohmann::json::exception& e) {
  throw UserError(ExitStatus::InvalidInput,
                  name + ": not what polyte lab run writes: " + lab::words_of(e));
}

void add_lab_report(const Verb& lab) {
  const Verb verb = lab.verb("report", "what may be said of a run");
  auto options = std::make_shared<ReportVerb>();
  verb.option("folder", options->folder, "the result folder").required();
  verb.option("--format", options->format,
              "text, markdown, csv, latex, json, benchmark (Google's layout) or html")
      .one_of(lab::report_formats())
      .shows_default();
  verb.option("-o,--output", options->output, "a file in place of stdout");
  verb.example("polyte lab report results --format html -o results.html");
  verb.calls(
      [options] { return lab_with(options->folder, [&] { return run_lab_report(*options); }); });
}

void add_lab_status(const Verb& lab) {
  const Verb verb = lab.verb("status", "how far a run is");
  auto folder = std::make_shared<std::string>();
  verb.option("folder", *folder, "the result folder").required();
  verb.example("polyte lab status results");
  verb.calls([folder] { return lab_with(*folder, [&] { return run_lab_status(*folder); }); });
}

void add_lab_compare(const Verb& lab) {
  const Verb verb = lab.verb(
      "compare", "two runs of the same rows: exit 1 where the second is slower, or fails, in any");
  auto options = std::make_shared<CompareVerb>();
  verb.option("folders", options->folders, "the old and the new result folder");
  verb.option("--baseline", options->baseline,
              "the old result folder, where only the new one is given");
  verb.option("--filter", options->options.filter, "rows and arms whose 'row / arm' contains this");
  verb.option("--min-time", options->min_time, "leave out what is quicker, 10us");
  verb.option("--min-effect", options->options.min_effect,
              "what is no regression however sure it is, as a share")
      .shows_default();
  verb.option("--junit", options->junit, "a file for a continuous build: slower rows are failures");
  verb.flag("--json", options->json, "as JSON");
  verb.example("polyte lab compare before after --junit lab.xml");
  verb.calls(
      [options] { return lab_with("lab compare", [&] { return run_lab_compare(*options); }); });
}

}  // namespace polyte::cli
