// The largest differences of an experiment, taken apart (`explain = 2` of its file): for each
// the way from the slower script to the faster one, and the faster one without each of its lines.
// Measured after all rows, each in a result folder of its own, FOLDER/differences/1/path and
// FOLDER/differences/1/lines, which reports and bundles of FOLDER have.
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

// After a run: measures what `plan.explain` asks for, each part by `run` in a folder of its own,
// which says whether it was interrupted; then the rest is left, and so does this. `say`: a line of
// progress, or a warning where a script has too many lines to be taken apart.
bool take_apart(const Plan& plan, const std::string& folder, const Records& records,
                const Sources& sources, const std::function<void(const std::string&)>& say,
                const std::function<bool(const Plan& part, const std::string& folder)>& run);

// Those that are measured, of a result folder.
std::vector<TakenApart> read_differences(const std::string& folder, const Results& results);

// "differences/1/path", of the result folder; `number` counts from 0.
std::string path_folder(std::size_t number);
std::string lines_folder(std::size_t number);

}  // namespace polyte::lab
