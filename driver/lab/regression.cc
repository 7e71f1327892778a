#include "driver/lab/regression.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "driver/lab/rank_test.h"

namespace polyte::lab {
namespace {

// Rows and arms are found by name: the two runs may be of different plans.
const Measured* find(const std::vector<Measured>& list, const Measured& like) {
  const auto found = std::ranges::find_if(
      list, [&](const Measured& one) { return one.row == like.row && one.arm == like.arm; });
  return found == list.end() ? nullptr : &*found;
}

// For tables and for `min_time`; verdicts use the ratio's interval and the tests.
double time_of(const Samples& samples) { return median(process_medians(samples)); }

// What two timings of one kernel differ by on these machines: 95 of 100 A/A ratios of both
// runs are within it.
double noise_of(const std::vector<Measured>& before, const std::vector<Measured>& now) {
  std::vector<double> all;
  for (const auto* list : {&before, &now})
    for (const Measured& one : *list) all.push_back(one.noise);
  return quantile(all, 0.95);
}

ComparedRow unpaired(const Measured& one, Change change) {
  ComparedRow row;
  row.row = one.row;
  row.arm = one.arm;
  row.change = change;
  (change == Change::OnlyOld ? row.old_time : row.new_time) = time_of(one.samples);
  return row;
}

bool are_timed(const Measured& before, const Measured& now) {
  return count_samples(before.samples) > 0 && count_samples(now.samples) > 0;
}

// Fewer rows say nothing of what they share.
constexpr std::size_t kRowsThatShare = 8;
constexpr double kLeastCommonChange = 0.02;  // beyond what the machine's peak explains

struct Center {
  double mean = 0, deviation = 0;
};

// Of the rows that have not changed, if they are most: from the shortest interval that holds half
// of all, outwards as long as more are within three standard deviations. `values`: sorted.
Center center_of(const std::vector<double>& values) {
  const std::size_t half = values.size() / 2 + 1;
  std::size_t first = 0;
  for (std::size_t i = 0; i + half <= values.size(); ++i)
    if (values[i + half - 1] - values[i] < values[first + half - 1] - values[first]) first = i;
  std::size_t end = first + half;
  while (true) {
    Center center;
    const auto count = static_cast<double>(end - first);
    for (std::size_t i = first; i < end; ++i) center.mean += values[i] / count;
    for (std::size_t i = first; i < end; ++i)
      center.deviation += std::pow(values[i] - center.mean, 2) / (count - 1);
    center.deviation = std::sqrt(center.deviation);
    const std::size_t before = end - first;
    const double reach = 3 * center.deviation;
    while (first > 0 && center.mean - values[first - 1] <= reach) --first;
    while (end < values.size() && values[end] - center.mean <= reach) ++end;
    if (end - first == before) return center;
  }
}

CommonChange common_change(const std::vector<std::pair<const Measured*, const Measured*>>& pairs,
                           double min_effect) {
  CommonChange common;
  std::vector<double> shifts, machine;
  for (const auto& [before, now] : pairs) {
    // Files are untrusted: a time of 0 has no logarithm.
    const double ratio = time_of(now->samples) / time_of(before->samples);
    if (ratio > 0 && std::isfinite(ratio)) shifts.push_back(std::log(ratio));
    if (before->peak > 0 && now->peak > 0) machine.push_back(std::log(before->peak / now->peak));
  }
  common.machine = std::exp(median(machine));
  if (shifts.size() < kRowsThatShare) return common;
  std::ranges::sort(shifts);
  const Center center = center_of(shifts);
  common.shift = std::exp(center.mean);
  common.spread = center.deviation;
  const double least = 1 + std::max(min_effect, kLeastCommonChange);
  const double beyond = common.shift / common.machine;
  if (std::min(common.shift, beyond) > least) common.change = Change::Slower;
  if (std::max(common.shift, beyond) < 1 / least) common.change = Change::Faster;
  return common;
}

// All but the verdict, which needs every row.
ComparedRow measured_row(const Measured& before, const Measured& now,
                         const RegressionOptions& options, double noise,
                         const CommonChange& common) {
  ComparedRow row;
  row.row = now.row;
  row.arm = now.arm;
  if (!are_timed(before, now)) {
    // What is absent is a matter of the machine, what is not run of the run.
    const bool is_lost =
        count_samples(before.samples) > 0 && now.status != "absent" && now.status != "not run";
    row.change = is_lost ? Change::Lost : Change::NotTimed;
    row.remark = "old: " + before.status + ", new: " + now.status;
    return row;
  }
  row.old_time = time_of(before.samples);
  row.new_time = time_of(now.samples);
  if (std::max(row.old_time, row.new_time) < options.min_time) {
    row.change = Change::LeftOut;
    return row;
  }
  row.ratio = unpaired_ratio(now.samples, before.samples, options.bootstrap);
  const std::vector<double> was = process_medians(before.samples);
  std::vector<double> is = process_medians(now.samples);
  for (double& time : is) time /= common.shift;
  row.chance_slower = mann_whitney(is, was).greater;
  row.chance_faster = mann_whitney(was, is).greater;
  row.floor = std::max({options.min_effect, noise, kStandsOut * common.spread});
  // Of few rows it is not known what they share: the machine's own change comes on top.
  if (common.spread == 0) row.floor += std::abs(std::log(common.machine));
  if (!before.loops.empty() && !now.loops.empty() && before.loops != now.loops)
    row.remark = "the loops changed";
  return row;
}

// The two directions are tested as two families, each corrected for all rows that were compared.
// Three conditions, so that neither a difference that is real but tiny nor a large one of few
// noisy processes is reported; 1 / (1 + floor) is as far from 1 as 1 + floor in logarithms.
void judge(std::vector<ComparedRow>& rows, double shift) {
  std::vector<ComparedRow*> tested;
  std::vector<double> slower, faster;
  for (ComparedRow& row : rows) {
    if (row.change != Change::Same) continue;
    tested.push_back(&row);
    slower.push_back(row.chance_slower);
    faster.push_back(row.chance_faster);
  }
  slower = holm(slower);
  faster = holm(faster);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    ComparedRow& row = *tested[i];
    row.chance_slower = slower[i];
    row.chance_faster = faster[i];
    const double beyond = row.ratio.estimate / shift;
    if (slower[i] < kSignificant && row.ratio.low > shift && beyond > 1 + row.floor)
      row.change = Change::Slower;
    if (faster[i] < kSignificant && row.ratio.high < shift && beyond < 1 / (1 + row.floor))
      row.change = Change::Faster;
  }
}

// Timed in both runs, and not too quick.
bool is_paired(const ComparedRow& row) {
  return row.change == Change::Slower || row.change == Change::Faster || row.change == Change::Same;
}

// What the numbers of processes do not allow to find. Even the least chance that the test can give
// (new and old medians do not overlap at all) is multiplied by the number of comparisons in
// Holm's correction; where that is above the level, no change of any size would be reported.
void warn(const std::vector<Measured>& before, const std::vector<Measured>& now,
          Comparison& comparison) {
  std::size_t least_old = 1000, least_new = 1000, tested = 0;
  for (const ComparedRow& row : comparison.rows) {
    if (!is_paired(row)) continue;
    ++tested;
    const Measured like{row.row, row.arm, {}, 0, "", "", 0};
    least_old = std::min(least_old, process_medians(find(before, like)->samples).size());
    least_new = std::min(least_new, process_medians(find(now, like)->samples).size());
  }
  if (tested == 0)
    return comparison.warnings.push_back(
        "nothing to compare: no arm of a row was timed in both runs");
  const double least = least_chance(least_old, least_new) * static_cast<double>(tested);
  if (least < kSignificant) return;
  std::size_t needed = 2;
  while (least_chance(needed, needed) * static_cast<double>(tested) >= kSignificant) ++needed;
  comparison.warnings.push_back(
      std::to_string(least_old) + " and " + std::to_string(least_new) +
      " processes are too few to tell anything of " + std::to_string(tested) +
      " comparisons: give stop.processes at least " + std::to_string(needed) + " in both runs");
}

}  // namespace

std::string to_string(Change change) {
  switch (change) {
    case Change::Slower:
      return "slower";
    case Change::Lost:
      return "no longer timed";
    case Change::Faster:
      return "faster";
    case Change::Same:
      return "not distinguishable";
    case Change::OnlyOld:
      return "only in the old run";
    case Change::OnlyNew:
      return "only in the new run";
    case Change::LeftOut:
      return "left out";
    case Change::NotTimed:
      return "not timed";
  }
  return "";
}

std::size_t Comparison::count(Change change) const {
  return static_cast<std::size_t>(std::ranges::count(rows, change, &ComparedRow::change));
}

std::vector<Measured> measured_of(const Results& results) {
  std::vector<Measured> list;
  for (const RowResult& row : results.rows)
    for (const ArmResult& arm : row.arms) {
      std::string loops;
      if (arm.facts.is_object()) loops = arm.facts.value("loops_digest", "");
      list.push_back({row.name, arm.name, arm.samples,
                      row.noise ? std::abs(row.noise->estimate - 1) : 0, arm.status, loops,
                      row.usual_peak});
    }
  return list;
}

// Verdicts come last, since the correction is for the number of rows; the mean is of those alone
// that were timed in both runs.
Comparison compare(const std::vector<Measured>& before, const std::vector<Measured>& now,
                   const RegressionOptions& options) {
  Comparison comparison;
  const double noise = noise_of(before, now);
  const auto wanted = [&](const Measured& one) {
    return options.filter.empty() ||
           (one.row + " / " + one.arm).find(options.filter) != std::string::npos;
  };
  std::vector<std::pair<const Measured*, const Measured*>> timed;
  for (const Measured& one : now)
    if (const Measured* was = find(before, one); wanted(one) && was && are_timed(*was, one))
      timed.emplace_back(was, &one);
  comparison.common = common_change(timed, options.min_effect);
  for (const Measured& one : now) {
    if (!wanted(one)) continue;
    const Measured* was = find(before, one);
    comparison.rows.push_back(was ? measured_row(*was, one, options, noise, comparison.common)
                                  : unpaired(one, Change::OnlyNew));
  }
  for (const Measured& one : before)
    if (wanted(one) && !find(now, one)) comparison.rows.push_back(unpaired(one, Change::OnlyOld));
  judge(comparison.rows, comparison.common.shift);
  std::vector<Interval> ratios;
  for (const ComparedRow& row : comparison.rows)
    if (is_paired(row)) ratios.push_back(row.ratio);
  comparison.pairs = ratios.size();
  comparison.mean = geometric_mean(ratios);
  warn(before, now, comparison);
  return comparison;
}

}  // namespace polyte::lab
