// The report as one page: sorted by who reads it, pictures beside the figures, each arm's nest
// beside the others'.
#include <cstdio>

#include "driver/lab/arm_facts.h"
#include "driver/lab/escape.h"
#include "driver/lab/html_charts.h"
#include "driver/lab/html_page.h"
#include "driver/lab/nest_diff.h"
#include "driver/lab/report.h"
#include "driver/lab/text_table.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

std::string tag(const char* name, const std::string& text) {
  return std::string("<") + name + ">" + escaped_xml(text) + "</" + name + ">\n";
}

// %.9g: enough digits to sort by, without the noise of 17.
std::string number_text(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

// A cell whose order is by `value`; without one it stays below.
std::string figure(const std::string& text, double value, bool known) {
  return "<td class=\"number\" data-value=\"" + (known ? number_text(value) : "") + "\">" +
         escaped_xml(text) + "</td>";
}

const char* outcome_class(const ArmResult& arm) {
  return arm.outcome == Outcome::Faster ? "faster" : arm.outcome == Outcome::Slower ? "slower" : "";
}

// One row of the table. An arm that was not timed has empty cells, and its reason in the last
// one.
std::string arm_cells(const RowResult& row, const ArmResult& arm) {
  const bool timed = arm.is_timed();
  std::string text =
      "<tr><td>" + escaped_xml(row.name) + "</td><td>" + escaped_xml(arm.name) + "</td>";
  text += figure(timed ? time_text(arm.time.estimate) : "", arm.time.estimate, timed);
  const double share = timed ? peak_share(row, arm) : 0;
  text += figure(timed ? share_text(row, arm) : "", share, share > 0);
  text += figure(arm.ratio ? ratio_text(arm.ratio->estimate) : "",
                 arm.ratio ? arm.ratio->estimate : 0, arm.ratio.has_value());
  text +=
      "<td class=\"number\">" + escaped_xml(arm.ratio ? interval_text(*arm.ratio) : "") + "</td>";
  const double predicted = arm.predicted ? arm.predicted->nanoseconds : 0;
  text += figure(predicted > 0 ? time_text(predicted) : "", predicted, predicted > 0);
  return text + "<td class=\"" + outcome_class(arm) + "\">" + escaped_xml(outcome_text(arm)) +
         "</td></tr>\n";
}

std::string main_table(const Results& results) {
  std::string text =
      "<p class=\"soft\">Every row and arm. A ratio is a time over the baseline's, round "
      "by round: below 1 is faster. Brackets hold 95 % intervals. A head of a column sorts.</p>\n"
      "<div class=\"wide\"><table class=\"sortable\"><thead><tr><th>Row</th><th>Arm</th><th "
      "class=\"number\">Time</th><th class=\"number\">" +
      std::string(results.plan.is_on_gpu() ? "Peak" : "FMA peak") +
      "</th><th class=\"number\">Ratio</th><th class=\"number\">95 "
      "%</th><th class=\"number\">Model's time</th><th>Verdict</th></tr></thead>\n<tbody>\n";
  for (const RowResult& row : results.rows)
    for (const ArmResult& arm : row.arms) text += arm_cells(row, arm);
  return text + "</tbody></table></div>\n";
}

std::string summary_table(const Results& results) {
  std::string text =
      "<p class=\"soft\">Geometric "
      "means of the ratios over all rows in which an arm and the baseline were timed</p>\n"
      "<div class=\"wide\"><table class=\"sortable\"><thead><tr><th>Arm</th><th "
      "class=\"number\">Mean</th><th class=\"number\">95 %</th><th class=\"number\">Rows</th><th "
      "class=\"number\">Faster</th><th class=\"number\">Slower</th><th "
      "class=\"number\">Not distinguishable</th><th class=\"number\">Same loops</th><th "
      "class=\"number\">Not timed</th></tr></thead>\n<tbody>\n";
  for (const ArmSummary& arm : results.arms) {
    const bool has = arm.rows > 0;
    const std::string otherwise = arm.name == results.plan.baseline ? "baseline" : "not timed";
    text += "<tr><td>" + escaped_xml(arm.name) + "</td>" +
            figure(has ? ratio_text(arm.mean.estimate) : "", arm.mean.estimate, has) +
            "<td class=\"number\">" + escaped_xml(has ? interval_text(arm.mean) : otherwise) +
            "</td>";
    for (const std::size_t count :
         {arm.rows, arm.faster, arm.slower, arm.not_told, arm.identical, arm.not_timed})
      text += figure(std::to_string(count), static_cast<double>(count), true);
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

// The arm's nest with what the baseline's does not have marked; of the baseline itself nothing is.
std::string marked_nest(const std::string& nest, const std::string& baseline) {
  const std::vector<std::string> parts = nest_parts(nest);
  const std::vector<bool> common = common_parts(parts, nest_parts(baseline));
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += common[i] ? escaped_xml(parts[i]) : "<mark>" + escaped_xml(parts[i]) + "</mark>";
  return text;
}

// The baseline's nest is what the others are compared with; where it has none (a peer), nothing
// is marked.
std::string arm_section(const ArmResult& arm, const ArmResult* baseline) {
  std::string text = "<section><h4>" + escaped_xml(arm.name) + "</h4><p class=\"" +
                     std::string(outcome_class(arm)) + "\">" + escaped_xml(outcome_text(arm)) +
                     "</p>";
  if (const std::string nest = fact(arm, "nest"); !nest.empty()) {
    const std::string other = baseline ? fact(*baseline, "nest") : nest;
    text += "<pre>" + marked_nest(nest, other.empty() ? nest : other) + "</pre>";
  }
  text += "<dl>";
  // Facts that an arm does not have are left out, so peers and scripts share one list.
  const auto add = [&](const char* title, const std::string& words) {
    if (!words.empty())
      text += std::string("<dt>") + title + "</dt><dd><code>" + escaped_xml(words) + "</code></dd>";
  };
  add("launches", fact(arm, "launches"));
  add("storage", fact(arm, "storage"));
  add("float order", fact(arm, "order"));
  add("proof", fact(arm, "proof"));
  add("outputs", fact(arm, "outputs"));
  add("interpreter", fact(arm, "interpreter"));
  add("compiled by", fact(arm, "command"));
  add("compile cost", compile_text(arm));
  add("memory", memory_text(arm));
  add("predicted by the model", predicted_text(arm));
  add("counted by the processor", counted_text(arm));
  text += "</dl>";
  if (const std::string script = fact(arm, "script"); !script.empty())
    text += "<details><summary>script</summary><pre>" + escaped_xml(script) + "</pre></details>";
  return text + "</section>\n";
}

// What is decided for the row, then a picture, then each arm beside the others.
std::string row_section(const Results& results, const RowResult& row) {
  std::string text = tag("h3", row.name);
  text += "<p>Fastest: " + escaped_xml(fastest_text(row)) + ".";
  if (row.noise)
    text += " A/A " + ratio_text(row.noise->estimate) + " " +
            escaped_xml(interval_text(*row.noise)) + ".";
  text += " <span class=\"soft\">" + std::to_string(row.processes) + " processes, " +
          std::to_string(row.rounds) + " rounds" +
          (row.why.empty() ? "" : ": " + escaped_xml(row.why)) +
          (row.reference.empty() ? "" : "; outputs are held to " + escaped_xml(row.reference)) +
          "</span></p>\n";
  if (const std::string least = least_text(row); !least.empty())
    text += "<p>The GPU's rates leave any schedule " + escaped_xml(least) + ".</p>\n";
  for (const std::string& warning : row.warnings)
    text += "<p class=\"warning\">" + escaped_xml(warning) + "</p>\n";
  if (const std::string bars = bars_svg(results, row); !bars.empty())
    text += "<figure>" + bars + "</figure>\n";
  text += "<div class=\"nests\">\n";
  const ArmResult* baseline = row.find(results.plan.baseline);
  for (const ArmResult& arm : row.arms) text += arm_section(arm, baseline);
  return text + "</div>\n";
}

// Each picture appears only where it has something to show: a roofline needs operations and
// bytes, the model's plot predicted times, scaling two rows that differ in one size.
std::string pictures(const Results& results) {
  std::string text;
  if (const std::string roof = roofline_svg(results); !roof.empty())
    text += "<h2>Roofline</h2>\n<p class=\"soft\">Ceilings: " + escaped_xml(peak_words(results)) +
            "; a measured copy larger than the last "
            "cache. Bytes are those of the interface, each element once, so work that stays within "
            "the caches may stand above the slope. A mark says its row and arm.</p>\n<figure>" +
            roof + "</figure>\n";
  if (const std::string model = predicted_svg(results); !model.empty())
    text +=
        "<h2>Predicted and measured</h2>\n<p class=\"soft\">Times of the "
        "analytic model, told before anything was run, beside measured ones; on the line they are "
        "equal. A model that chooses among schedules has to rank the arms of a row. Of this run, " +
        escaped_xml(agreement_text(results.agreement)) + ".</p>\n<figure>" + model + "</figure>\n";
  if (const std::vector<std::string> scaling = scaling_svgs(results); !scaling.empty()) {
    text += "<h2>Scaling</h2>\n<div class=\"nests\">\n";
    for (const std::string& picture : scaling) text += "<section>" + picture + "</section>\n";
    text += "</div>\n";
  }
  return text;
}

// The experiment's own text and all that is known of the machine: enough to run it again.
std::string origin(const Results& results) {
  std::string text =
      "<h2>How it was measured</h2>\n<details open><summary>experiment</summary><pre>" +
      escaped_xml(results.plan.experiment) + "</pre></details>\n";
  for (const Json& context : results.contexts) {
    const std::string words = context.dump(1, ' ', false, Json::error_handler_t::replace);
    text += "<details><summary>machine and versions</summary><pre>" + escaped_xml(words) +
            "</pre></details>\n";
  }
  return text;
}

}  // namespace

// The policy forbids the page to load anything from anywhere. It cannot tell the page's own script
// from one within a name, so that every text of a stranger has to be escaped.
std::string report_html(const Results& results) {
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>" +
      escaped_xml(results.plan.name) + "</title>\n<style>" + kReportStyle +
      "</style>\n</head>\n<body>\n";
  text += tag("h1", results.plan.name);
  text += "<p class=\"soft\">" + escaped_xml(machine_line(results)) + "; " +
          escaped_xml(origin_line(results)) + "; " + escaped_xml(counts_line(results)) + "</p>\n";
  for (const std::string& warning : results.warnings)
    text += "<p class=\"warning\">" + escaped_xml(warning) + "</p>\n";
  if (results.rows.size() > 1) text += "<h2>All rows</h2>\n" + summary_table(results);
  text += "<h2>Rows and arms</h2>\n" + main_table(results) + pictures(results);
  text +=
      "<h2>Row by row</h2>\n"
      "<p class=\"soft\">Marked parts of a nest are not in the baseline's.</p>\n";
  for (const RowResult& row : results.rows) text += row_section(results, row);
  if (!results.differences.empty()) text += "<h2>The largest differences, taken apart</h2>\n";
  for (const TakenApart& each : results.differences)
    text += tag("h3", each.title) + tag("pre", taken_apart_text(each));
  text += origin(results);
  return text + "<script>" + kReportScript + "</script>\n</body>\n</html>\n";
}

}  // namespace polyte::lab
