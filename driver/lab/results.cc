#include "driver/lab/results.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>

#include "driver/lab/differences.h"
#include "driver/lab/rank_test.h"
#include "driver/lab/text_table.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBusy = 0.5;  // load average beside our own process

// Always the same draws for a plan: a report is the same whenever it is made.
BootstrapOptions options_of(const Plan& plan) { return {1000, plan.seed}; }

std::string text(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// What the processor counted in the first process that has it.
Json counted_of(const RowRecord& row, const std::string& arm) {
  for (const auto& [number, process] : row.processes)
    if (const auto found = process.end.find("counters");
        found != process.end.end() && found->contains(arm))
      return (*found)[arm];
  return {};
}

// The record of an arm that counts: of the first process, or of the first where it is not well. So
// an arm that fails in any process is not timed, and no sample of it is used.
ArmResult arm_result(const Plan& plan, const std::string& name, const RowRecord& row) {
  ArmResult result;
  result.name = name;
  result.status = "not run";
  for (const auto& [number, process] : row.processes) {
    const ArmRecord* record = process.arm(name);
    if (!record || (result.status != "not run" && record->is_ok())) continue;
    result.status = record->status;
    result.reason = record->reason;
    if (result.facts.is_null()) result.facts = record->facts;
    result.identical_to = text(record->facts, "identical_to");
  }
  if (const auto crash = row.crashed.find(name); crash != row.crashed.end()) {
    result.status = "crashed";
    result.reason = crash->second;
  }
  result.predicted = predicted_of(result.facts);
  if (result.status != "ok") return result;
  result.counted = counted_of(row, name);
  result.samples = row.samples(name);
  result.time = median_interval(result.samples, options_of(plan));
  return result;
}

// Logarithms of the ratios of all rounds. The test takes rounds as independent, although those of
// one process resemble each other: alone it would find too much, which is why the interval, whose
// bootstrap draws whole processes, has to leave out 1 as well (passes_noise).
std::vector<double> paired_logs(const Samples& a, const Samples& b) {
  std::vector<double> logs;
  for (std::size_t p = 0; p < std::min(a.size(), b.size()); ++p)
    for (std::size_t i = 0; i < std::min(a[p].size(), b[p].size()); ++i)
      if (a[p][i] > 0 && b[p][i] > 0) logs.push_back(std::log(a[p][i] / b[p][i]));
  return logs;
}

// Facts that every process states alike.
void take_ends(const RowRecord& record, RowResult& row) {
  double load = 0;
  std::vector<double> peaks;
  for (const auto& [number_of, process] : record.processes) {
    if (const double peak = number_at(process.end, "peak_flops_a_thread"); peak > 0)
      peaks.push_back(peak);
    row.flops = number_at(process.end, "flops");
    row.bytes = number_at(process.end, "bytes");
    row.dtype = text(process.end, "dtype");
    if (row.reference.empty()) row.reference = text(process.end, "reference");
    row.peak = std::max({row.peak, number_at(process.end, "peak_flops_a_thread"),
                         number_at(process.end, "peak_flops")});
    if (const auto least = process.end.find("at_least");
        least != process.end.end() && least->is_object()) {
      row.least_ns = number_at(*least, "nanoseconds");
      row.least_bound = text(*least, "bound");
    }
    load = std::max(load, number_at(process.end, "load_before"));
    row.rounds += process.rounds.size();
  }
  row.processes = record.processes.size();
  row.usual_peak = median(peaks);
  char words[96];
  std::snprintf(words, sizeof words, "the machine was busy: load average %.1f when a process began",
                load);
  if (load > 1 + kBusy) row.warnings.emplace_back(words);
}

void add_warnings(const Plan& plan, RowResult& row) {
  if (row.processes == 1)
    row.warnings.emplace_back("one process only: the intervals do not know how processes differ");
  if (row.noise && row.noise->excludes(1))
    row.warnings.push_back(
        "the baseline differs from itself: A/A ratio " + percent_text(row.noise->low - 1) + " to " +
        percent_text(row.noise->high - 1) + ", so smaller differences mean nothing");
  if (row.noise && row.noise->relative_width() > std::max(0.05, 2 * plan.stop.width))
    row.warnings.push_back("noisy: the A/A interval is " +
                           percent_text(row.noise->relative_width()) + " wide");
  for (const ArmResult& arm : row.arms)
    if (const std::string left_out = fact(arm, "left_out"); !left_out.empty())
      row.warnings.push_back(
          arm.name + " is right but for what is rounding alone and was not compared: " + left_out);
  if (row.why.empty()) row.warnings.emplace_back("not finished: polyte lab run goes on");
}

// The processes of one machine: of the one that has most, the first of several. A ratio is never
// of two.
RowRecord of_one_machine(const RowRecord& record, const std::vector<Json>& contexts,
                         RowResult& row) {
  std::map<std::string, std::size_t> counts;
  const auto name = [&](const ProcessRecord& process) {
    return process.context < contexts.size() ? machine_of(contexts[process.context]) : "";
  };
  for (const auto& [number, process] : record.processes) ++counts[name(process)];
  const ProcessRecord* kept = nullptr;
  for (const auto& [number, process] : record.processes)
    if (!kept || counts[name(process)] > counts[name(*kept)]) kept = &process;
  if (!kept) return record;
  if (kept->context < contexts.size()) row.machine = machine_words(contexts[kept->context]);
  if (counts.size() < 2) return record;
  RowRecord one = record;
  std::erase_if(one.processes,
                [&](const auto& entry) { return name(entry.second) != name(*kept); });
  row.warnings.push_back("samples of " + std::to_string(counts.size()) + " machines: those of " +
                         row.machine + " stand here, the others are left out");
  return one;
}

Json ceilings_of(const RowRecord& record, const std::vector<Json>& contexts) {
  if (record.processes.empty()) return Json::object();
  const std::size_t context = record.processes.begin()->second.context;
  return context < contexts.size() && contexts[context].contains("ceilings")
             ? contexts[context]["ceilings"]
             : Json::object();
}

RowResult row_result(const Plan& plan, std::size_t number_of_row, const RowRecord& all,
                     const std::vector<Json>& contexts) {
  RowResult row;
  const RowRecord record = of_one_machine(all, contexts, row);
  const Json ceilings = ceilings_of(record, contexts);
  row.row = number_of_row;
  row.name = plan.rows[number_of_row].name;
  row.why = record.why;
  take_ends(record, row);
  const int threads = plan.rows[number_of_row].threads;
  row.peak *= threads;
  if (const auto found = ceilings.find("bytes_a_second_by_threads"); found != ceilings.end())
    row.bandwidth = number_at(*found, std::to_string(threads).c_str());
  for (const PlannedArm& arm : plan.arms)
    row.arms.push_back(arm_result(plan, arm.spec.name, record));
  const ArmResult* baseline = row.find(plan.baseline);
  if (!baseline || !baseline->is_timed()) return row;
  const Samples again = record.samples(kAgain);
  if (count_samples(again) > 0)
    row.noise = paired_ratio(again, baseline->samples, options_of(plan));
  for (ArmResult& arm : row.arms)
    if (arm.is_timed() && &arm != baseline)
      arm.ratio = paired_ratio(arm.samples, baseline->samples, options_of(plan));
  return row;
}

// The loops of an arm, by the first that has them.
const std::string& loops_of(const ArmResult& arm) {
  return arm.identical_to.empty() ? arm.name : arm.identical_to;
}

// The least median of a row beside another arm.
struct Rival {
  RowResult* row;
  const ArmResult *best, *other;
  bool is_told = false;
};

// Who may be fastest, where two arms or more were timed; else the row says why nobody is.
std::vector<Rival> rivals_of(RowResult& row) {
  std::vector<const ArmResult*> timed;
  for (const ArmResult& arm : row.arms)
    if (arm.is_timed()) timed.push_back(&arm);
  if (timed.size() < 2)
    row.not_told = timed.empty() ? "no arm was timed" : "one arm only was timed";
  if (timed.size() < 2) return {};
  const ArmResult* best =
      *std::ranges::min_element(timed, {}, [](const ArmResult* arm) { return arm->time.estimate; });
  std::vector<Rival> rivals;
  for (const ArmResult* other : timed)
    if (other != best) rivals.push_back({&row, best, other});
  return rivals;
}

// Who is fastest, where that can be told: the least median has to be told apart from every other
// arm, from the baseline by its verdict, from the rest directly by tests of the same kind, which
// are a family of their own.
void find_fastest(Results& results) {
  std::vector<Rival> rivals;
  for (RowResult& row : results.rows) std::ranges::copy(rivals_of(row), std::back_inserter(rivals));
  std::vector<double> chances;
  std::vector<Rival*> tested;
  for (Rival& rival : rivals) {
    const ArmResult &best = *rival.best, &other = *rival.other;
    if (best.outcome != Outcome::Baseline && other.outcome != Outcome::Baseline) {
      const Interval ratio = paired_ratio(best.samples, other.samples, options_of(results.plan));
      if (ratio.high >= 1 || !passes_noise(ratio, *rival.row)) continue;
      tested.push_back(&rival);
      chances.push_back(signed_rank(paired_logs(best.samples, other.samples)).two_sided);
    } else {
      rival.is_told = best.outcome == Outcome::Faster || other.outcome == Outcome::Slower;
    }
  }
  const std::vector<double> corrected = holm(chances);
  for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->is_told = corrected[i] < kSignificant;
  for (const Rival& rival : rivals) {
    if (!rival.row->not_told.empty()) continue;
    const bool same = loops_of(*rival.best) == loops_of(*rival.other);
    if (same || !rival.is_told)
      rival.row->not_told = rival.best->name + " and " + rival.other->name +
                            (same ? " have the same loops" : " are not distinguishable");
  }
  for (const Rival& rival : rivals)
    if (rival.row->not_told.empty()) rival.row->fastest = rival.best->name;
}

// One family of tests over the whole experiment, so that rows without any difference do not give
// "faster" by their number alone. The outcome is only known after all chances are.
void judge(Results& results) {
  std::vector<double> chances;
  std::vector<ArmResult*> compared;
  for (RowResult& row : results.rows) {
    const ArmResult* baseline = row.find(results.plan.baseline);
    for (ArmResult& arm : row.arms) {
      if (arm.is_timed()) arm.outcome = &arm == baseline ? Outcome::Baseline : Outcome::NoBaseline;
      if (!arm.ratio) continue;
      compared.push_back(&arm);
      chances.push_back(signed_rank(paired_logs(arm.samples, baseline->samples)).two_sided);
    }
  }
  const std::vector<double> corrected = holm(chances);
  for (std::size_t i = 0; i < compared.size(); ++i) compared[i]->chance = corrected[i];
  for (RowResult& row : results.rows) {
    const ArmResult* baseline = row.find(results.plan.baseline);
    for (ArmResult& arm : row.arms) {
      if (!arm.ratio) continue;
      const bool told = arm.chance < kSignificant && passes_noise(*arm.ratio, row);
      arm.outcome = loops_of(arm) == loops_of(*baseline) ? Outcome::Identical
                    : !told                              ? Outcome::NotDistinguishable
                    : arm.ratio->estimate < 1            ? Outcome::Faster
                                                         : Outcome::Slower;
    }
  }
  find_fastest(results);
}

Agreement agreement_of(const Results& results) {
  std::vector<PredictedPoint> points;
  for (const RowResult& row : results.rows)
    for (const ArmResult& arm : row.arms)
      // Arms with the same loops would count one prediction several times.
      if (arm.is_timed() && arm.identical_to.empty() && arm.predicted &&
          arm.predicted->nanoseconds > 0)
        points.push_back({row.row, arm.predicted->nanoseconds, arm.time.estimate});
  return agreement_of(points);
}

// A ratio only where both the arm and the baseline were timed; the mean is over those rows.
ArmSummary summary_of(const Results& results, const std::string& name) {
  ArmSummary summary;
  summary.name = name;
  std::vector<Interval> ratios;
  for (const RowResult& row : results.rows) {
    const ArmResult* arm = row.find(name);
    if (!arm || !arm->is_timed()) {
      ++summary.not_timed;
      continue;
    }
    summary.faster += arm->outcome == Outcome::Faster ? 1 : 0;
    summary.slower += arm->outcome == Outcome::Slower ? 1 : 0;
    summary.not_told += arm->outcome == Outcome::NotDistinguishable ? 1 : 0;
    summary.identical += arm->outcome == Outcome::Identical ? 1 : 0;
    if (arm->ratio) ratios.push_back(*arm->ratio);
  }
  summary.rows = ratios.size();
  summary.mean = geometric_mean(ratios);
  return summary;
}

}  // namespace

std::string to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::Baseline:
      return "baseline";
    case Outcome::Faster:
      return "faster";
    case Outcome::Slower:
      return "slower";
    case Outcome::NotDistinguishable:
      return "not distinguishable";
    case Outcome::Identical:
      return "same loops";
    case Outcome::NoBaseline:
      return "the baseline is not timed";
    case Outcome::NotTimed:
      return "not timed";
  }
  return "";
}

const ArmResult* RowResult::find(const std::string& arm) const {
  const auto found = std::ranges::find(arms, arm, &ArmResult::name);
  return found == arms.end() ? nullptr : &*found;
}

// S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model",
// CACM 52, 2009.
double RowResult::ceiling() const {
  if (flops <= 0 || bytes <= 0 || peak <= 0 || bandwidth <= 0) return 0;
  return std::min(peak, bandwidth * flops / bytes);
}

// An A/A interval of [0.97, 1.02] gives 1 / 0.97: a ratio within 3 % of 1 says nothing.
double noise_factor(const RowResult& row) {
  if (!row.noise || row.noise->low <= 0) return 1;
  return std::max({1.0, row.noise->high, 1 / row.noise->low});
}

bool passes_noise(const Interval& ratio, const RowResult& row) {
  const double factor = noise_factor(row);
  return ratio.excludes(1) && (ratio.estimate > factor || ratio.estimate < 1 / factor);
}

std::string fact(const ArmResult& arm, const char* key) {
  if (!arm.facts.is_object() || !arm.facts.contains(key)) return "";
  const Json& value = arm.facts[key];
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return "";
  std::string text;
  for (const Json& line : value)
    if (line.is_string()) text += (text.empty() ? "" : "\n") + line.get<std::string>();
  return text;
}

Results evaluate(Plan plan, const Records& records) {
  Results results;
  results.plan = std::move(plan);
  results.contexts = records.contexts;
  for (std::size_t i = 0; i < results.plan.rows.size(); ++i)
    results.rows.push_back(row_result(results.plan, i, records.rows[i], records.contexts));
  judge(results);
  for (RowResult& row : results.rows) add_warnings(results.plan, row);
  for (const PlannedArm& arm : results.plan.arms)
    results.arms.push_back(summary_of(results, arm.spec.name));
  results.agreement = agreement_of(results);
  if (records.dropped > 0)
    results.warnings.push_back(std::to_string(records.dropped) +
                               " unfinished lines of samples were left out");
  return results;
}

Results read_results(const std::string& folder) {
  Plan plan = read_plan(folder);
  const Records records = read_records(folder, plan);
  Results results = evaluate(std::move(plan), records);
  results.differences = read_differences(folder, results);
  if (results.differences.size() < static_cast<std::size_t>(std::max(results.plan.explain, 0)))
    results.warnings.push_back(
        std::to_string(results.differences.size()) + " of " + std::to_string(results.plan.explain) +
        " differences are taken apart: fewer are told between scripts, or were not measured yet");
  return results;
}

Json to_json(const Interval& interval) {
  return {{"estimate", interval.estimate}, {"low", interval.low}, {"high", interval.high}};
}

}  // namespace polyte::lab
