// The table of rows and arms in Markdown, CSV and LaTeX.
#include "driver/lab/escape.h"
#include "driver/lab/report.h"
#include "driver/lab/text_table.h"

namespace polyte::lab {
namespace {

std::string number(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string latex_interval(const Interval& interval) {
  char text[96];
  std::snprintf(text, sizeof text, "%.3f & [%.3f, %.3f]", interval.estimate, interval.low, interval.high);
  return text;
}

}  // namespace

std::string report_markdown(const Results& results) {
  std::string text =
      "# " + escaped_markdown(results.plan.name) + "\n\n" + escaped_markdown(machine_line(results)) + "; " +
      escaped_markdown(origin_line(results)) + "; " + escaped_markdown(counts_line(results)) +
      ".\nA ratio is a time over the baseline's, round by round: below 1 is faster. Brackets hold 95 % "
      "intervals.\n\n| Row | Arm | Time | FMA peak | Ratio | Verdict |\n| --- | --- | ---: | ---: | ---: | --- |\n";
  for (const RowResult& row : results.rows)
    for (const ArmResult& arm : row.arms) {
      const bool timed = arm.is_timed();
      text += "| " + escaped_markdown(row.name) + " | " + escaped_markdown(arm.name) + " | " +
              (timed ? time_text(arm.time.estimate) : "") + " | " + (timed ? share_text(row, arm) : "") + " | " +
              (arm.ratio ? ratio_text(arm.ratio->estimate) + " " + escaped_markdown(interval_text(*arm.ratio)) : "") +
              " | " + escaped_markdown(outcome_text(arm)) + " |\n";
    }
  text += "\n| Row | Fastest | A/A |\n| --- | --- | ---: |\n";
  for (const RowResult& row : results.rows)
    text += "| " + escaped_markdown(row.name) + " | " + escaped_markdown(fastest_text(row)) + " | " +
            (row.noise ? escaped_markdown(interval_text(*row.noise)) : "") + " |\n";
  for (const RowResult& row : results.rows)
    for (const std::string& warning : row.warnings)
      text += "\n- " + escaped_markdown(row.name) + ": " + escaped_markdown(warning);
  return text + "\n";
}

std::string report_csv(const Results& results) {
  std::string text =
      "row,arm,status,verdict,time_ns,time_low_ns,time_high_ns,ratio,ratio_low,ratio_high,chance,processes,samples,"
      "flops,bytes,peak_flops_a_second,reason\r\n";
  for (const RowResult& row : results.rows)
    for (const ArmResult& arm : row.arms) {
      text += csv_field(row.name) + "," + csv_field(arm.name) + "," + csv_field(arm.status) + "," +
              csv_field(to_string(arm.outcome));
      const bool timed = arm.is_timed();
      for (const double value : {arm.time.estimate, arm.time.low, arm.time.high})
        text += "," + (timed ? number(value) : "");
      const Interval ratio = arm.ratio.value_or(Interval{});
      for (const double value : {ratio.estimate, ratio.low, ratio.high, arm.chance})
        text += "," + (arm.ratio ? number(value) : "");
      text += "," + std::to_string(row.processes) + "," + std::to_string(count_samples(arm.samples));
      for (const double value : {row.flops, row.bytes, row.peak}) text += "," + number(value);
      text += "," + csv_field(arm.identical_to.empty() ? arm.reason : "the loops of " + arm.identical_to) + "\r\n";
    }
  return text;
}

std::string report_latex(const Results& results) {
  std::string text = "% " + escaped_latex(results.plan.name) + "\n% " + escaped_latex(machine_line(results)) + "; " +
                     escaped_latex(origin_line(results)) + "\n% ratios to " + escaped_latex(results.plan.baseline) +
                     ", below 1 is faster, with 95 % intervals\n\\begin{tabular}{llrrll}\n\\hline\n"
                     "row & arm & time & ratio & interval & \\\\\n\\hline\n";
  for (const RowResult& row : results.rows) {
    for (const ArmResult& arm : row.arms)
      text += (&arm == &row.arms.front() ? escaped_latex(row.name) : "") + " & " + escaped_latex(arm.name) + " & " +
              (arm.is_timed() ? escaped_latex(time_text(arm.time.estimate)) : "--") + " & " +
              (arm.ratio ? latex_interval(*arm.ratio) : "& ") + " & " + escaped_latex(outcome_text(arm)) + " \\\\\n";
    text += "\\hline\n";
  }
  return text + "\\end{tabular}\n";
}

}  // namespace polyte::lab
