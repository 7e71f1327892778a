// Runs a plan: one worker process after another, each row's spread over the whole time, until every
// row is done. All that a worker says is appended to samples.jsonl at once; a run that was cut off
// goes on where it was.
#pragma once

#include <functional>
#include <string>

#include "driver/lab/record.h"

namespace polyte::lab {

// Rows of a plan that one of several runs takes, which merge.h joins: every `count`-th, from
// `index` on. A row is never shared, so that its ratios are of one machine.
struct Shard {
  std::size_t index = 0, count = 1;
  bool takes(std::size_t row) const { return row % count == index; }
};
Shard parse_shard(const std::string& text);  // "0/4"; UserError(Usage)

// Writes the folder's plan.json, or checks that it is this plan: UserError(Usage) where
// it is another one.
void keep_plan(const Plan& plan, const std::string& folder);

struct RunOptions {
  std::string folder;
  // The command that is a worker: reads an order (worker.h) from stdin, writes records to stdout.
  std::vector<std::string> worker;
  std::function<void(const std::string&)> say;  // a line of progress
  Shard shard = {};
};

// After keep_plan. UserError(Usage) where the folder's samples are of another build of Polyte, or
// of another machine. Returns what there is in the end. `interrupted` is set by a signal handler.
struct RunResult {
  Records records;
  bool interrupted = false;
};
RunResult run_plan(const Plan& plan, const RunOptions& options);

// Whether enough is measured of a row: all arms' ratios to the baseline are narrow, and least and
// most are kept. Empty, or why it is done.
std::string why_done(const Plan& plan, const RowRecord& row);

}  // namespace polyte::lab
