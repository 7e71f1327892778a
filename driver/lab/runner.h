// Runs a plan: one worker process after another, each row's spread over the whole time, until every row is done. All
// that a worker says is appended to samples.jsonl at once; a run that was cut off goes on where it was.
#pragma once

#include <functional>
#include <string>

#include "driver/lab/record.h"

namespace polyte::lab {

struct RunOptions {
  std::string folder;
  // The command that is a worker: reads an order (worker.h) from stdin, writes records to stdout.
  std::vector<std::string> worker;
  std::function<void(const std::string&)> say;  // a line of progress
};

// Makes the folder's plan.json, or checks that it is this plan: UserError(Usage) where it is another one, or where its
// samples are of another build of Polyte. Returns what there is in the end. `interrupted` is set by a signal handler.
struct RunResult {
  Records records;
  bool interrupted = false;
};
RunResult run_plan(const Plan& plan, const RunOptions& options);

// Whether enough is measured of a row: all arms' ratios to the baseline are narrow, and least and most are kept.
// Empty, or why it is done.
std::string why_done(const Plan& plan, const RowRecord& row);

}  // namespace polyte::lab
