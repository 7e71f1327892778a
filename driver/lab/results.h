// What may be said of a run: every figure with its interval, every comparison with its test, and no
// winner where they say nothing. Reports (report.h) print this and compute nothing.
//
// A ratio is a time over the baseline's time, round by round: below 1 is faster. An arm is called
// faster or slower only where (1) the 95 % interval of the ratio leaves out 1, (2) the signed-rank
// test over the rounds, corrected by Holm's method for all comparisons of the experiment, gives
// less than 5 %, (3) the ratio lies outside of the interval of the same row's A/A ratio, that of
// the baseline to itself, and (4) the arm's loops are not the baseline's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/lab/agreement.h"
#include "driver/lab/record.h"

namespace polyte::lab {

enum class Outcome {
  Baseline,
  Faster,
  Slower,
  NotDistinguishable,
  Identical,
  NoBaseline,
  NotTimed
};
std::string to_string(Outcome outcome);  // "not distinguishable"

struct ArmResult {
  std::string name, status, reason;  // of its record
  std::string identical_to;          // an arm before it whose loops are the same
  Samples samples;                   // nanoseconds per execution
  Interval time;                     // nanoseconds; of status ok
  std::optional<Interval> ratio;     // to the baseline, if that was timed
  double chance = 1;                 // corrected, that so much is noise
  Outcome outcome = Outcome::NotTimed;
  nlohmann::ordered_json facts;  // the record of its first process
  // By the analytic model; of another compiler's loops nothing is.
  std::optional<Predicted> predicted;
  nlohmann::ordered_json counted;  // by the processor, an execution: null where it does not
  bool is_timed() const { return count_samples(samples) > 0; }
};

struct RowResult {
  std::size_t row = 0;  // of the plan
  std::string name, dtype, reference, why;
  std::string machine;            // in words: whose samples these are, all of them
  std::vector<ArmResult> arms;    // as the plan's
  std::optional<Interval> noise;  // the A/A ratio
  std::string fastest;            // empty: none can be told, `not_told` says why
  std::string not_told;
  double flops = 0, bytes = 0;  // of an execution; bytes of the interface, each element once
  // Of the row's threads together, a second, measured; of a GPU the peak is what its rates allow.
  // 0: not known.
  double peak = 0, bandwidth = 0;
  double usual_peak = 0;    // of a thread, the median of the processes: how quick the machine was
  double least_ns = 0;      // of a GPU: what its rates leave to any schedule; 0: not known
  std::string least_bound;  // by what
  std::size_t processes = 0, rounds = 0;
  std::vector<std::string> warnings;

  const ArmResult* find(const std::string& arm) const;
  // The least of both ceilings at this row's operations per byte, per second; 0: unknown.
  double ceiling() const;
};

// An arm over all rows where it and the baseline were timed.
struct ArmSummary {
  std::string name;
  std::size_t rows = 0, faster = 0, slower = 0, not_told = 0, identical = 0, not_timed = 0;
  Interval mean;  // geometric, of the ratios
};

struct TakenApart;

struct Results {
  Plan plan;
  std::vector<nlohmann::ordered_json> contexts;
  std::vector<RowResult> rows;
  std::vector<ArmSummary> arms;
  Agreement agreement;  // of predicted and measured times; arms with the same loops once
  std::vector<std::string> warnings;
  std::vector<TakenApart> differences;  // the largest ones, of a result folder that has them
};

// One of the largest differences (differences.h): the steps from the slower script to the faster
// one, and the faster one without each of its lines. What could not be had has no rows, and
// `why_not` says why.
struct TakenApart {
  std::string title;
  Results path, lines;
  std::vector<std::string> why_not;
};

Results evaluate(Plan plan, const Records& records);
// evaluate() of a result folder, and its differences.
Results read_results(const std::string& folder);

// How far the baseline is from itself, as a factor of at least 1: the A/A ratio's interval,
// farthest end. Whether a ratio is farther from 1 than that, either way.
double noise_factor(const RowResult& row);
bool passes_noise(const Interval& ratio, const RowResult& row);

// A fact of an arm's record as text, several lines joined; empty where it is not there, or
// is something else.
std::string fact(const ArmResult& arm, const char* key);

nlohmann::ordered_json to_json(const Interval& interval);

}  // namespace polyte::lab
