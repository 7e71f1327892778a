// Two runs side by side, for a terminal, for programs, and for a continuous build.
#include "driver/lab/escape.h"
#include "driver/lab/regression.h"
#include "driver/lab/report.h"
#include "driver/lab/text_table.h"

namespace polyte::lab {
namespace {

std::string count_text(const Comparison& comparison) {
  std::string text;
  for (const Change change : {Change::Slower, Change::Lost, Change::Faster, Change::Same,
                              Change::NotTimed, Change::OnlyOld, Change::OnlyNew, Change::LeftOut})
    if (const std::size_t count = comparison.count(change); count > 0)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + to_string(change);
  return text.empty() ? "no row and arm is left" : text;
}

std::string rows_text(std::size_t count, const std::string& what) {
  return std::to_string(count) + (count == 1 ? " row is " : " rows are ") + what;
}

std::string verdict_of(const Comparison& comparison) {
  const std::size_t slower = comparison.count(Change::Slower),
                    lost = comparison.count(Change::Lost);
  std::string text = "regression: ";
  if (slower > 0) text += rows_text(slower, "slower");
  if (lost > 0) text += (slower > 0 ? ", " : "") + rows_text(lost, "no longer timed");
  if (comparison.common.change == Change::Slower)
    text += std::string(slower + lost > 0 ? ", " : "") + "all rows together are slower";
  if (comparison.is_regression()) return text;
  if (comparison.is_empty()) return "nothing is compared";
  return comparison.warnings.empty() ? "no regression" : "no regression is found";
}

}  // namespace

//                  old      new    new over old, 95 %  verdict
//   gemm m=64 n=64 k=64
//     poly     5.81 us  5.79 us  1.00x [0.993, 1.004]  not distinguishable
//     mine     6.02 us  6.90 us  1.15x [1.130, 1.168]  slower (the loops changed)
std::string comparison_text(const Comparison& comparison) {
  std::vector<Cells> rows;
  std::string heading;
  for (const ComparedRow& row : comparison.rows) {
    if (row.change == Change::LeftOut) continue;
    if (row.row != heading) rows.push_back({heading = row.row});
    const bool both = row.old_time > 0 && row.new_time > 0;
    rows.push_back({"  " + row.arm, row.old_time > 0 ? time_text(row.old_time) : "-",
                    row.new_time > 0 ? time_text(row.new_time) : "-",
                    both ? ratio_text(row.ratio.estimate) + " " + interval_text(row.ratio) : "-",
                    to_string(row.change) + (row.remark.empty() ? "" : " (" + row.remark + ")")});
  }
  std::string text = text_table({"", "old", "new", "new over old, 95 %", "verdict"}, rows);
  text += "\n" + verdict_of(comparison) + " (" + count_text(comparison) + ")\n";
  if (comparison.pairs > 0)
    text += "geometric mean: " + ratio_text(comparison.mean.estimate) + " " +
            interval_text(comparison.mean) + "\n";
  if (const CommonChange& common = comparison.common; common.spread > 0)
    text +=
        wrapped("what all rows share: " + ratio_text(common.shift) + ", " +
                    to_string(common.change) + "; the machine's own peak takes " +
                    ratio_text(common.machine) + " of the time that it took; rows stand out by " +
                    percent_text(kStandsOut * common.spread),
                "");
  for (const std::string& warning : comparison.warnings) text += wrapped("warning: " + warning, "");
  return text;
}

nlohmann::ordered_json to_json(const Comparison& comparison) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ComparedRow& row : comparison.rows)
    rows.push_back({{"row", row.row},
                    {"arm", row.arm},
                    {"verdict", to_string(row.change)},
                    {"old_ns", row.old_time},
                    {"new_ns", row.new_time},
                    {"ratio", to_json(row.ratio)},
                    {"chance_slower", row.chance_slower},
                    {"chance_faster", row.chance_faster},
                    {"floor", row.floor},
                    {"remark", row.remark}});
  return {{"format", "polyte-lab-comparison/1"},
          {"regression", comparison.is_regression()},
          {"geometric_mean", to_json(comparison.mean)},
          {"common",
           {{"verdict", to_string(comparison.common.change)},
            {"shift", comparison.common.shift},
            {"machine", comparison.common.machine},
            {"spread", comparison.common.spread}}},
          {"warnings", comparison.warnings},
          {"rows", rows}};
}

// A slower or lost row is a failure, so that a continuous build reports it; what could not be
// compared is skipped, and neither fails nor passes.
std::string comparison_junit(const Comparison& comparison) {
  const std::size_t all = comparison.common.change == Change::Slower ? 1 : 0;
  const std::size_t failures =
      comparison.count(Change::Slower) + comparison.count(Change::Lost) + all;
  const std::size_t passed = comparison.count(Change::Faster) + comparison.count(Change::Same);
  const std::size_t empty = comparison.is_empty() ? 1 : 0;
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"polyte lab compare\" tests=\"" +
      std::to_string(comparison.rows.size() + empty + all) + "\" failures=\"" +
      std::to_string(failures) + "\" errors=\"" + std::to_string(empty) + "\" skipped=\"" +
      std::to_string(comparison.rows.size() + all - failures - passed) + "\">\n";
  if (all > 0)
    text +=
        "  <testcase classname=\"polyte lab compare\" name=\"what all rows share\">\n"
        "    <failure message=\"slower: " +
        escaped_xml(ratio_text(comparison.common.shift)) + " the old time\"/>\n  </testcase>\n";
  if (comparison.is_empty())
    text +=
        "  <testcase classname=\"polyte lab compare\" name=\"all rows\">\n"
        "    <error message=\"nothing is compared\"/>\n  </testcase>\n";
  for (const ComparedRow& row : comparison.rows) {
    text += "  <testcase classname=\"" + escaped_xml(row.arm) + "\" name=\"" +
            escaped_xml(row.row) + "\" time=\"" + std::to_string(row.new_time * 1e-9) + "\"";
    const std::string words =
        ratio_text(row.ratio.estimate) + " the old time, 95 % interval " + interval_text(row.ratio);
    if (row.change == Change::Slower || row.change == Change::Lost)
      text += ">\n    <failure message=\"" + escaped_xml(to_string(row.change) + ": ") +
              escaped_xml(row.change == Change::Lost ? row.remark : words) +
              "\"/>\n  </testcase>\n";
    else if (row.change == Change::Faster || row.change == Change::Same)
      text += "/>\n";
    else
      text += ">\n    <skipped message=\"" + escaped_xml(to_string(row.change) + " " + row.remark) +
              "\"/>\n  </testcase>\n";
  }
  return text + "</testsuite>\n";
}

}  // namespace polyte::lab
