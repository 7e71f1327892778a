// Results for a paper: two tables and two figures, to be \input. The figures are PGFPlots'; a
// document that does not load it has the tables alone.
#include <algorithm>

#include "driver/lab/ablation.h"
#include "driver/lab/escape.h"
#include "driver/lab/report.h"
#include "driver/lab/text_table.h"

namespace polyte::lab {
namespace {

std::string tex_number(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

// Two cells.
std::string tex_interval(const Interval& interval) {
  char text[96];
  std::snprintf(text, sizeof text, "%.3f & [%.3f, %.3f]", interval.estimate, interval.low,
                interval.high);
  return text;
}

constexpr std::size_t kMostOfName = 40;  // in a column that is not broken

// For a figure, whose text is not broken.
std::string short_name(const std::string& name) {
  if (name.size() <= kMostOfName) return escaped_latex(name);
  return escaped_latex(name.substr(0, kMostOfName - 1)) + "\\ldots{}";
}

std::string means_table(const Results& results) {
  std::string text =
      "\\begin{tabular}{lrlrrr}\n"
      "\\hline\narm & mean & 95\\,\\% & faster & slower & not timed \\\\\n\\hline\n";
  for (const ArmSummary& arm : results.arms) {
    const bool has = arm.rows > 0;
    text += escaped_latex(arm.name) + " & " + (has ? tex_interval(arm.mean) : "-- & ");
    for (const std::size_t count : {arm.faster, arm.slower, arm.not_timed})
      text += " & " + std::to_string(count);
    text += " \\\\\n";
  }
  return text + "\\hline\n\\end{tabular}\n";
}

// Of many rows, over pages where the document loads longtable. Why an arm is not timed is a
// comment: a sentence does not fit into a cell.
constexpr const char* kLongTable =
    "\\ifdefined\\longtable\\def\\polytetable{longtable}\\else\\def\\polytetable{tabular}\\fi\n";

std::string verdict_cell(const ArmResult& arm) {
  if (arm.is_timed()) return escaped_latex(outcome_text(arm));
  return escaped_latex(arm.status) + " % " +
         escaped_latex(arm.reason.substr(0, arm.reason.find('\n'))) + "\n ";
}

// The name of a row stands above its arms; long names of arms, which are directives, are broken.
std::string arms_table(const Results& results) {
  std::size_t longest = 0;
  for (const ArmSummary& arm : results.arms) longest = std::max(longest, arm.name.size());
  std::string text = std::string("{\\footnotesize\\setlength{\\tabcolsep}{4pt}\n") + kLongTable +
                     "\\begin{\\polytetable}{" +
                     (longest > kMostOfName ? "p{0.3\\linewidth}" : "l") +
                     "rrll}\n\\hline\narm & time & ratio & 95\\,\\% & \\\\\n\\hline\n"
                     "\\ifdefined\\endhead\\endhead\\fi\n";
  for (const RowResult& row : results.rows) {
    text += "\\multicolumn{5}{l}{\\textit{" + escaped_latex(row.name) + "}} \\\\\n";
    for (const ArmResult& arm : row.arms)
      text += escaped_latex(arm.name) + " & " +
              (arm.is_timed() ? escaped_latex(time_text(arm.time.estimate)) : "--") + " & " +
              (arm.ratio ? tex_interval(*arm.ratio) : "& ") + " & " + verdict_cell(arm) + " \\\\\n";
    text += "\\hline\n";
  }
  return text + "\\end{\\polytetable}\n}\n";
}

// From one script to another: what each step is worth.
std::string path_table(const TakenApart& difference) {
  std::string text =
      "% " + escaped_latex(difference.title) +
      "\n{\\footnotesize\\setlength{\\tabcolsep}{4pt}\n\\begin{tabular}{p{0.3\\linewidth}rrll}\n"
      "\\hline\nstep & time & to the step before & 95\\,\\% & \\\\\n\\hline\n";
  for (const PathRatio& step : path_ratios(difference.path))
    text += escaped_latex(step.arm->name) + " & " +
            (step.arm->is_timed() ? escaped_latex(time_text(step.arm->time.estimate)) : "--") +
            " & " + (step.ratio ? tex_interval(*step.ratio) : "& ") + " & " +
            escaped_latex(step.remark) + " \\\\\n";
  return text + "\\hline\n\\end{tabular}\n}\n";
}

// A point with its interval, as error bars of an axis that is logarithmic.
std::string tex_point(double at, const Interval& ratio, bool is_across) {
  const std::string up = tex_number(ratio.high - ratio.estimate),
                    down = tex_number(ratio.estimate - ratio.low);
  return is_across ? "(" + tex_number(ratio.estimate) + "," + tex_number(at) + ") += (" + up +
                         ",0) -= (" + down + ",0)\n"
                   : "(" + tex_number(at) + "," + tex_number(ratio.estimate) + ") += (0," + up +
                         ") -= (0," + down + ")\n";
}

std::string tex_ticks(const char* axis, const std::vector<std::string>& names) {
  std::string text = std::string(axis) + "tick={";
  for (std::size_t i = 0; i < names.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(i + 1);
  text += "},\n  " + std::string(axis) + "ticklabels={";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i > 0 ? "," : "") + ("{" + short_name(names[i]) + "}");
  return text + "}";
}

// Geometric means over all rows, an arm a line.
std::string means_figure(const Results& results) {
  std::vector<std::string> names;
  std::string points;
  for (const ArmSummary& arm : results.arms) {
    if (arm.rows == 0) continue;
    names.push_back(arm.name);
    points += tex_point(static_cast<double>(names.size()), arm.mean, true);
  }
  if (names.empty()) return "";
  return "\\noindent\\begin{tikzpicture}\n"
         "\\begin{axis}[xmode=log, y dir=reverse, width=0.7\\linewidth, height=" +
         tex_number(2.2 + 0.6 * static_cast<double>(names.size())) +
         "cm,\n  ymin=0.5, ymax=" + tex_number(static_cast<double>(names.size()) + 0.5) +
         ", xlabel={time over that of " + escaped_latex(results.plan.baseline) +
         ", geometric mean},\n  " + tex_ticks("y", names) +
         "]\n\\addplot[only marks, error bars/.cd, x dir=both, x explicit] coordinates {\n" +
         points + "};\n\\draw[dashed] (axis cs:1,0.5) -- (axis cs:1," +
         tex_number(static_cast<double>(names.size()) + 0.5) +
         ");\n\\end{axis}\n\\end{tikzpicture}\n";
}

// Ratios of every row, an arm a series.
std::string rows_figure(const Results& results) {
  std::vector<std::string> names;
  for (const RowResult& row : results.rows) names.push_back(row.name);
  std::string series;
  for (std::size_t a = 0; a < results.arms.size(); ++a) {
    std::string points;
    for (std::size_t r = 0; r < results.rows.size(); ++r) {
      const ArmResult& arm = results.rows[r].arms[a];
      if (arm.ratio) points += tex_point(static_cast<double>(r + 1), *arm.ratio, false);
    }
    if (!points.empty())
      series += "\\addplot+[only marks, error bars/.cd, y dir=both, y explicit] coordinates {\n" +
                points + "};\n\\addlegendentry{" + short_name(results.arms[a].name) + "}\n";
  }
  if (series.empty()) return "";
  return "\\noindent\\begin{tikzpicture}\n"
         "\\begin{axis}[ymode=log, width=\\linewidth, height=7cm, ylabel={time over that of " +
         escaped_latex(results.plan.baseline) +
         "},\n  legend style={at={(0.5,1.03)}, anchor=south, font=\\footnotesize}, "
         "legend columns=3,\n  x tick label style={rotate=60, anchor=east, font=\\tiny},\n  " +
         tex_ticks("x", names) + "]\n" + series + "\\draw[dashed] (axis cs:0.5,1) -- (axis cs:" +
         tex_number(static_cast<double>(names.size()) + 0.5) +
         ",1);\n\\end{axis}\n\\end{tikzpicture}\n";
}

}  // namespace

std::string report_latex(const Results& results) {
  std::string text = "% " + escaped_latex(results.plan.name) + "\n% " +
                     escaped_latex(machine_line(results)) + "; " +
                     escaped_latex(origin_line(results)) + "\n% ratios to " +
                     escaped_latex(results.plan.baseline) +
                     ", below 1 is faster, with 95 % intervals; figures need "
                     "\\usepackage{pgfplots}, tables of more "
                     "than a page \\usepackage{longtable}\n";
  if (results.rows.size() > 1) text += means_table(results) + "\n";
  text += arms_table(results);
  for (const TakenApart& each : results.differences)
    if (!each.path.rows.empty()) text += "\n" + path_table(each);
  const std::string figures =
      means_figure(results) + (results.rows.size() > 1 ? "\n" + rows_figure(results) : "");
  return figures.empty() ? text : text + "\n\\ifdefined\\pgfplotsset\n" + figures + "\\fi\n";
}

}  // namespace polyte::lab
