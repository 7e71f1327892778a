// The largest differences of an experiment, taken apart (`explain = 2` of its file): for each the way from the slower
// script to the faster one, and the faster one without each of its lines. Measured after all rows, each in a result
// folder of its own, FOLDER/differences/1/path and FOLDER/differences/1/lines, which reports and bundles of FOLDER
// have.
#pragma once

#include "driver/lab/plan.h"
#include "driver/lab/results.h"

namespace polyte::lab {

// Between the baseline and an arm that is told from it, both of which have scripts.
struct Difference {
  std::size_t row = 0;  // of the plan
  std::string slower, faster;
  double factor = 1;  // of their times
};
// Of different rows, the largest first; at most `count`.
std::vector<Difference> largest_differences(const Results& results, std::size_t count);
std::string difference_text(const Results& results, const Difference& difference);

// What is to be measured for one of them; UserError where a script has too many lines to be taken apart.
Plan path_of(const Results& results, const Difference& difference, const Sources& sources);
Plan lines_of(const Results& results, const Difference& difference, const Sources& sources);

// Those that are measured, of a result folder.
std::vector<TakenApart> read_differences(const std::string& folder, const Results& results);

// "differences/1/path", of the result folder; `number` counts from 0.
std::string path_folder(std::size_t number);
std::string lines_folder(std::size_t number);

}  // namespace polyte::lab
