// Results as people and programs read them. All formats say the same; every one is made of Results
// alone, so that equal samples give equal bytes.
#pragma once

#include <string>
#include <vector>

#include "driver/lab/results.h"

namespace polyte::lab {

const std::vector<std::string>& report_formats();  // "text", "markdown", ..
// UserError(Usage) for a format that there is not.
std::string report(const Results& results, const std::string& format);

std::string report_text(const Results& results);  // 80 columns
std::string report_markdown(const Results& results);
std::string report_csv(const Results& results);              // a line per row and arm
std::string report_latex(const Results& results);            // tables and figures, to be \input
nlohmann::ordered_json report_json(const Results& results);  // docs/lab.md has the schema
// Google Benchmark's layout, a repetition per process.
nlohmann::ordered_json report_benchmark(const Results& results);
// One file, nothing of it comes from a network.
std::string report_html(const Results& results);

// ---- what several formats say in the same words

// What the share of a peak is of.
std::string peak_words(const Results& results);
// "at least 12.3 us, by memory"; empty where nothing is known of a row.
std::string least_text(const RowResult& row);
std::string machine_line(const Results& results);  // "AMD EPYC (znver3), 2 processors"
// "polyte 0.1.0 (683118c8), 2026-11-26T14:24:08Z".
std::string origin_line(const Results& results);
std::string counts_line(const Results& results);  // "2 rows, 7 arms, baseline poly; .."
// Of the FMA peak, 0.58; 0 where not known. In words "0.580", or "".
double peak_share(const RowResult& row, const ArmResult& arm);
std::string share_text(const RowResult& row, const ArmResult& arm);
// "not distinguishable", "declined: isl skews ..", "wrong: .."
std::string outcome_text(const ArmResult& arm);
std::string interval_text(const Interval& interval);         // "[0.96, 0.98]"
std::string taken_apart_text(const TakenApart& difference);  // 80 columns
// "poly", "none: a and b are not distinguishable".
std::string fastest_text(const RowResult& row);

}  // namespace polyte::lab
