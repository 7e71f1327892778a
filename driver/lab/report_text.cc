#include <set>

#include "driver/lab/ablation.h"
#include "driver/lab/arm_facts.h"
#include "driver/lab/report.h"
#include "driver/lab/text_table.h"
#include "support/error.h"
#include "support/join_words.h"
#include "support/nearest_word.h"

namespace polyte::lab {
namespace {

// Of a JSON that may come from another version or machine: whatever is missing is "unknown",
// not an error.
std::string member(const nlohmann::ordered_json& json, const char* outer, const char* inner) {
  const auto found = json.find(outer);
  if (found == json.end() || !found->is_object() || !found->contains(inner)) return "unknown";
  const auto& value = (*found)[inner];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string counted(std::size_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

// What else is known of the arms: the model's time, what compiling and running take, what
// was decided.
// An arm without any of the three has no line, nor has one whose scheduler declined: they are
// of the reference order then. Without a line there is no table. Decisions follow below, for they
// are longer than a cell.
std::string facts_text(const RowResult& row) {
  std::vector<Cells> cells;
  std::string decisions;
  for (const ArmResult& arm : row.arms) {
    if (arm.status == "declined") continue;
    const double compile = compile_ms(arm);
    std::string predicted = arm.predicted && arm.predicted->nanoseconds > 0
                                ? time_text(arm.predicted->nanoseconds)
                                : "";
    if (!predicted.empty() && !arm.predicted->bound.empty())
      predicted += ", " + arm.predicted->bound;
    const std::string memory = memory_text(arm), counted = counted_text(arm);
    if (compile > 0 || !predicted.empty() || !memory.empty())
      cells.push_back({arm.name, predicted.empty() ? "-" : predicted,
                       compile > 0 ? time_text(compile * 1e6) : "-",
                       memory.empty() ? "-" : memory});
    decisions += decisions_text(arm);
    if (!counted.empty()) decisions += wrapped(arm.name + ", counted: " + counted, "");
  }
  return cells.empty()
             ? decisions
             : text_table({"", "the model's time", "compile", "memory"}, cells) + decisions;
}

// One row: a table with a line per arm, then what holds for the row as a whole.
std::string row_text(const Results& results, const RowResult& row) {
  std::vector<Cells> cells;
  for (const ArmResult& arm : row.arms) {
    const bool timed = arm.is_timed();
    cells.push_back(
        {arm.name, timed ? time_text(arm.time.estimate) : "-", timed ? share_text(row, arm) : "",
         arm.ratio ? ratio_text(arm.ratio->estimate) + " " + interval_text(*arm.ratio) : "-",
         outcome_text(arm)});
  }
  std::string text = row.name + "\n";
  text += text_table({"", "time", "peak", "to " + results.plan.baseline + ", 95 %", ""}, cells);
  text += wrapped("fastest: " + fastest_text(row), "");
  if (row.noise)
    text += "A/A: " + ratio_text(row.noise->estimate) + " " + interval_text(*row.noise) + ", " +
            std::to_string(row.processes) + (row.processes == 1 ? " process, " : " processes, ") +
            counted(row.rounds, "round") + (row.why.empty() ? "" : ": " + row.why) + "\n";
  if (!row.reference.empty()) text += wrapped("outputs are held to " + row.reference, "");
  if (const std::string least = least_text(row); !least.empty())
    text += wrapped("the GPU's rates leave any schedule " + least, "");
  text += facts_text(row);
  for (const std::string& warning : row.warnings) text += wrapped("warning: " + warning, "");
  return text;
}

// The means are over the rows in which an arm and the baseline were timed; the baseline has no
// ratio to itself.
std::string summary_text(const Results& results) {
  std::vector<Cells> cells;
  for (const ArmSummary& arm : results.arms) {
    const bool is_baseline = arm.name == results.plan.baseline;
    cells.push_back({arm.name,
                     is_baseline || arm.rows == 0
                         ? "-"
                         : ratio_text(arm.mean.estimate) + " " + interval_text(arm.mean),
                     std::to_string(arm.faster), std::to_string(arm.slower),
                     std::to_string(arm.not_told), std::to_string(arm.identical),
                     std::to_string(arm.not_timed)});
  }
  return text_table(
      {"", "geometric mean, 95 %", "faster", "slower", "not told", "same loops", "not timed"},
      cells);
}

}  // namespace

const std::vector<std::string>& report_formats() {
  static const std::vector<std::string> kFormats{"text", "markdown",  "csv", "latex",
                                                 "json", "benchmark", "html"};
  return kFormats;
}

std::string report(const Results& results, const std::string& format) {
  // Names may hold any bytes: what is no UTF-8 is replaced.
  const auto json_text = [](const nlohmann::ordered_json& json) {
    return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  };
  if (format == "text") return report_text(results);
  if (format == "markdown") return report_markdown(results);
  if (format == "csv") return report_csv(results);
  if (format == "latex") return report_latex(results);
  if (format == "json") return json_text(report_json(results));
  if (format == "benchmark") return json_text(report_benchmark(results));
  if (format == "html") return report_html(results);
  throw UserError(ExitStatus::Usage, "--format " + format + ": expected one of " +
                                         join_words(report_formats()) +
                                         did_you_mean(format, report_formats()));
}

// Several machines where results were merged; each once, in the order of the contexts.
std::string machine_line(const Results& results) {
  if (results.contexts.empty()) return "nothing is measured";
  std::set<std::string> machines;
  std::string text;
  for (const nlohmann::ordered_json& context : results.contexts)
    if (machines.insert(machine_of(context)).second)
      text += (text.empty() ? "" : "; ") + machine_words(context);
  return text;
}

std::string origin_line(const Results& results) {
  if (results.contexts.empty()) return "";
  const nlohmann::ordered_json& context = results.contexts[0];
  const std::string date = context.value("date", "");
  return "polyte " + member(context, "polyte", "version") + " (" +
         member(context, "polyte", "digest").substr(0, 8) + "), " + date;
}

std::string counts_line(const Results& results) {
  return counted(results.rows.size(), "row") + ", " + counted(results.arms.size(), "arm") +
         ", baseline " + results.plan.baseline;
}

std::string peak_words(const Results& results) {
  return results.plan.is_on_gpu() ? "the operations a second that the GPU's rates allow"
                                  : "the FMA peak measured in the same processes";
}

std::string least_text(const RowResult& row) {
  return row.least_ns > 0 ? "at least " + time_text(row.least_ns) + ", by " + row.least_bound : "";
}

// The share of the peak: (flops / seconds) / peak, where the peak is that of the row's threads
// together. 1e-9: estimates are nanoseconds.
double peak_share(const RowResult& row, const ArmResult& arm) {
  if (row.flops <= 0 || row.peak <= 0 || arm.time.estimate <= 0) return 0;
  return row.flops / (arm.time.estimate * 1e-9) / row.peak;
}

std::string share_text(const RowResult& row, const ArmResult& arm) {
  const double share = peak_share(row, arm);
  if (share <= 0) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", share);
  return text;
}

// An arm that was not timed says why, in place of a verdict.
std::string outcome_text(const ArmResult& arm) {
  if (arm.outcome == Outcome::Identical) return "the loops of " + arm.identical_to;
  if (arm.is_timed())
    return to_string(arm.outcome) +
           (arm.identical_to.empty() ? "" : ", the loops of " + arm.identical_to);
  return arm.status + (arm.reason.empty() ? "" : ": " + arm.reason);
}

// Three decimals below 10 resolve the width at which a comparison stops (2 %).
std::string interval_text(const Interval& interval) {
  char text[64];
  std::snprintf(text, sizeof text, interval.high >= 10 ? "[%.1f, %.1f]" : "[%.3f, %.3f]",
                interval.low, interval.high);
  return text;
}

std::string fastest_text(const RowResult& row) {
  return row.fastest.empty() ? "undecided: " + row.not_told : row.fastest;
}

std::string taken_apart_text(const TakenApart& difference) {
  std::string text = wrapped(difference.title, "");
  if (!difference.path.rows.empty()) text += "\n" + path_text(difference.path);
  if (!difference.lines.rows.empty()) text += "\n" + ablation_text(difference.lines);
  for (const std::string& reason : difference.why_not)
    text += wrapped("not taken apart: " + reason, "");
  return text;
}

std::string report_text(const Results& results) {
  std::string text = results.plan.name + "\n" + wrapped(machine_line(results), "") +
                     wrapped(origin_line(results), "") + counts_line(results) + "\n";
  text += wrapped(
      "a ratio is a time over the baseline's, round by round: below 1 is faster; brackets hold 95 "
      "% intervals; " +
          std::string(results.plan.is_on_gpu() ? "times are the GPU's own, by its events; " : "") +
          "peak is the share of " + peak_words(results),
      "");
  for (const RowResult& row : results.rows) text += "\n" + row_text(results, row);
  if (results.rows.size() > 1) text += "\nall rows\n" + summary_text(results);
  for (const TakenApart& each : results.differences) text += "\n" + taken_apart_text(each);
  text +=
      (results.agreement.points > 0 ? "\n" : "") + wrapped(agreement_text(results.agreement), "");
  for (const std::string& warning : results.warnings) text += wrapped("warning: " + warning, "");
  return text;
}

}  // namespace polyte::lab
