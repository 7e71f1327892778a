// Two runs of the same rows and arms: what has become slower?
//
// The unit is a process: its median time of the row. Rounds within one resemble each other, and
// counting each as a witness would find differences in nothing. A row is a regression where (1)
// the rank test of the new processes' medians against the old ones' (Mann-Whitney, one-sided),
// corrected by Holm's method for all rows, gives less than 5 %; (2) the interval of the ratio
// leaves out 1; (3) the ratio is beyond the noise floor: that of both runs' A/A ratios, and
// --min-effect. With few processes no chance can be that small, and that is said. An arm that was
// timed before and is not any more, though its peer is installed, is a regression, too.
#pragma once

#include <string>
#include <vector>

#include "driver/lab/results.h"

namespace polyte::lab {

// Of eight rows or more, their common shift is taken out first, and a row has to stand out from the
// others: a machine differs between two runs by more than any run shows of itself. On a quiet
// virtual machine all times of equal binaries were up to 0.9 % apart, as was its measured peak,
// and rows spread by 0.5 % about that. The shift has a verdict of its own. Of fewer rows the change
// of the peak is added to the noise floor.

struct RegressionOptions {
  std::string filter;        // rows and arms whose "row / arm" contains it
  double min_time = 0;       // nanoseconds: rows that were quicker are left out
  double min_effect = 0.01;  // of a ratio: less is no regression, whatever the tests say
  BootstrapOptions bootstrap = {};
};

// Lost: timed before, and now refused, wrong, crashed or the like.
enum class Change { Slower, Lost, Faster, Same, OnlyOld, OnlyNew, LeftOut, NotTimed };
std::string to_string(Change change);

// One arm of one row in both runs. A ratio is new over old.
struct ComparedRow {
  std::string row, arm;
  Change change = Change::Same;
  double old_time = 0, new_time = 0;  // nanoseconds
  Interval ratio{1, 1, 1};
  double chance_slower = 1, chance_faster = 1;  // corrected
  double floor = 0;                             // a share: less is noise
  std::string remark;
};

// What all rows share.
struct CommonChange {
  double shift = 1;    // the mean of the ratios of the rows that have not changed otherwise
  double machine = 1;  // the same ratio of the time that the machine's own peak takes
  double spread = 0;   // of rows about the shift: a standard deviation, of logarithms
  Change change = Change::Same;
};

struct Comparison {
  std::vector<ComparedRow> rows;
  CommonChange common;
  std::vector<std::string> warnings;
  std::size_t pairs = 0;   // rows that were timed in both runs
  Interval mean{1, 1, 1};  // geometric, of their ratios
  std::size_t count(Change change) const;
  bool is_regression() const {
    return count(Change::Slower) + count(Change::Lost) > 0 || common.change == Change::Slower;
  }
  // Nothing was timed in both runs, so that the absence of a regression says nothing.
  bool is_empty() const { return pairs == 0 && !is_regression(); }
};

// What one run knows of a row and arm.
struct Measured {
  std::string row, arm;
  Samples samples;   // none: it was not timed, `status` says why
  double noise = 0;  // a share: how far the row's A/A ratio was from 1
  std::string status, loops;
  double peak = 0;  // of the machine, operations per second in the run's processes; 0: unknown
};
std::vector<Measured> measured_of(const Results& results);

inline constexpr double kStandsOut = 4;  // standard deviations of what all rows share

Comparison compare(const std::vector<Measured>& before, const std::vector<Measured>& now,
                   const RegressionOptions& options);

std::string comparison_text(const Comparison& comparison);  // 80 columns
nlohmann::ordered_json to_json(const Comparison& comparison);
// One test case per row and arm; slower and lost ones fail, and so does an empty comparison.
std::string comparison_junit(const Comparison& comparison);

}  // namespace polyte::lab
