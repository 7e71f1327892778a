// The table of rows and arms in Markdown and CSV.
#include <set>

#include "driver/lab/arm_facts.h"
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

// What is not known is empty.
std::string csv_facts(const ArmResult& arm, bool on_gpu) {
  const Predicted model = arm.predicted.value_or(Predicted{});
  std::string text;
  for (const double value : {model.nanoseconds, model.flops})
    text += "," + (arm.predicted && value > 0 ? number(value) : "");
  for (const double value : {model.beyond_l1, model.beyond_l2, model.beyond_l3})
    text += "," + (arm.predicted && !on_gpu ? number(value) : "");
  text += "," + csv_field(model.bound);
  for (const double value : {compile_ms(arm), memory_bytes(arm)})
    text += "," + (value > 0 ? number(value) : "");
  for (const char* key : {"storage", "order", "proof"}) text += "," + csv_field(fact(arm, key));
  return text;
}

// Of all rows, in order: a column each.
std::set<std::string> names_of_sizes(const Results& results) {
  std::set<std::string> names;
  for (const RowResult& row : results.rows)
    for (const auto& [name, size] : results.plan.rows[row.row].sizes) names.insert(name);
  return names;
}

// What a row is of: columns that tables are grouped by.
std::string csv_row(const Results& results, const RowResult& row,
                    const std::set<std::string>& sizes) {
  const Row& planned = results.plan.rows[row.row];
  std::string text = "," + csv_field(results.plan.programs[planned.program].name) + "," +
                     csv_field(row.dtype) + "," + std::to_string(planned.threads) + "," +
                     csv_field(planned.fill) + "," + csv_field(to_string(planned.caches));
  for (const std::string& name : sizes) {
    const auto found = planned.sizes.find(name);
    text += "," + (found == planned.sizes.end() ? "" : std::to_string(found->second));
  }
  return text;
}

}  // namespace

std::string report_markdown(const Results& results) {
  std::string text = "# " + escaped_markdown(results.plan.name) + "\n\n" +
                     escaped_markdown(machine_line(results)) + "; " +
                     escaped_markdown(origin_line(results)) + "; " +
                     escaped_markdown(counts_line(results)) +
                     ".\nA ratio is a time over the baseline's, round by round: "
                     "below 1 is faster. Brackets hold 95 % intervals. Peak is the share of " +
                     peak_words(results) +
                     ".\n\n| Row | Arm | Time | Peak | Ratio | Verdict |\n"
                     "| --- | --- | ---: | ---: | ---: | --- |\n";
  for (const RowResult& row : results.rows)
    for (const ArmResult& arm : row.arms) {
      const bool timed = arm.is_timed();
      text += "| " + escaped_markdown(row.name) + " | " + escaped_markdown(arm.name) + " | " +
              (timed ? time_text(arm.time.estimate) : "") + " | " +
              (timed ? share_text(row, arm) : "") + " | " +
              (arm.ratio ? ratio_text(arm.ratio->estimate) + " " +
                               escaped_markdown(interval_text(*arm.ratio))
                         : "") +
              " | " + escaped_markdown(outcome_text(arm)) + " |\n";
    }
  text += "\n| Row | Fastest | A/A |\n| --- | --- | ---: |\n";
  for (const RowResult& row : results.rows)
    text += "| " + escaped_markdown(row.name) + " | " + escaped_markdown(fastest_text(row)) +
            " | " + (row.noise ? escaped_markdown(interval_text(*row.noise)) : "") + " |\n";
  for (const RowResult& row : results.rows)
    for (const std::string& warning : row.warnings)
      text += "\n- " + escaped_markdown(row.name) + ": " + escaped_markdown(warning);
  for (const TakenApart& each : results.differences)
    text += "\n\n```text\n" + taken_apart_text(each) + "```";
  return text + "\n";
}

// RFC 4180: fields by commas, lines end in CR LF. Numbers have no unit; names of columns say it.
std::string report_csv(const Results& results) {
  std::string text =
      "row,arm,status,verdict,time_ns,time_low_ns,time_high_ns,ratio,ratio_low,ratio_high,chance,"
      "processes,samples,"
      "flops,bytes,peak_flops_a_second,reason,predicted_ns,predicted_flops,predicted_beyond_l1_"
      "bytes,"
      "predicted_beyond_l2_bytes,predicted_beyond_l3_bytes,predicted_bound,compile_ms,memory_bytes,"
      "storage,order,"
      "proof,machine,program,dtype,threads,fill,caches";
  const std::set<std::string> sizes = names_of_sizes(results);
  for (const std::string& name : sizes) text += "," + csv_field("size_" + name);
  text += "\r\n";
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
      text +=
          "," + std::to_string(row.processes) + "," + std::to_string(count_samples(arm.samples));
      for (const double value : {row.flops, row.bytes, row.peak}) text += "," + number(value);
      text += "," +
              csv_field(arm.identical_to.empty() ? arm.reason : "the loops of " + arm.identical_to);
      text += csv_facts(arm, results.plan.is_on_gpu()) + "," + csv_field(row.machine) +
              csv_row(results, row, sizes) + "\r\n";
    }
  return text;
}

}  // namespace polyte::lab
