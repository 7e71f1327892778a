#include "driver/lab/differences.h"

#include <algorithm>
#include <filesystem>

#include "driver/lab/ablation.h"
#include "driver/lab/text_table.h"
#include "ir/program_text.h"
#include "runtime/file.h"
#include "support/error.h"
#include "support/stable_sort.h"

namespace polyte::lab {
namespace {

// Between the baseline and another arm, since results have outcomes of no other pairs.
std::optional<Difference> largest_of(const Results& results, const RowResult& row) {
  const ArmResult* baseline = row.find(results.plan.baseline);
  std::optional<Difference> largest;
  if (!baseline || fact(*baseline, "script").empty()) return largest;
  for (const ArmResult& arm : row.arms) {
    const bool is_told = arm.outcome == Outcome::Faster || arm.outcome == Outcome::Slower;
    if (!is_told || fact(arm, "script").empty()) continue;
    // As a factor of at least 1, whichever of the two is faster.
    const double ratio = arm.ratio->estimate, factor = std::max(ratio, 1 / ratio);
    if (largest && largest->factor >= factor) continue;
    largest = {row.row, baseline->name, arm.name, factor};
    if (ratio > 1) std::swap(largest->slower, largest->faster);
  }
  return largest;
}

schedule::Script script_of(const RowResult& row, const std::string& arm) {
  return schedule::parse_script(fact(*row.find(arm), "script"), arm);
}

// Under the conditions of the row, so that what is taken apart is the difference that was measured.
Subject subject_of(const Results& results, const Row& row) {
  const Plan& plan = results.plan;
  Subject subject;
  subject.source = plan.programs[row.program].name;
  subject.sizes = row.sizes;
  subject.threads = row.threads;
  subject.fill = row.fill;
  subject.caches = row.caches;
  subject.target = plan.target;
  subject.stop = plan.stop;
  subject.tolerance = plan.tolerance;
  subject.seed = plan.seed;
  subject.exact = plan.exact;
  subject.emulate = plan.emulate;
  return subject;
}

// The row's own Program, in place of whatever its name may be elsewhere.
Sources sources_of(const Results& results, const Row& row, const Sources& sources) {
  Sources own = sources;
  own.programs = [&](const std::string& source, const std::string&) {
    return std::vector<ir::Program>{
        ir::parse_program(results.plan.programs[row.program].text, source)};
  };
  return own;
}

Plan path_of(const Results& results, const Difference& difference, const Sources& sources) {
  const Row& row = results.plan.rows[difference.row];
  const RowResult& measured = results.rows[difference.row];
  return path_plan(script_of(measured, difference.slower), difference.slower,
                   script_of(measured, difference.faster), difference.faster,
                   subject_of(results, row), sources_of(results, row, sources));
}

Plan lines_of(const Results& results, const Difference& difference, const Sources& sources) {
  const Row& row = results.plan.rows[difference.row];
  const Ablated what[] = {Ablated::Lines};
  return ablation_plan(script_of(results.rows[difference.row], difference.faster),
                       difference.faster, subject_of(results, row),
                       sources_of(results, row, sources), what);
}

constexpr const char* kReason = "/why_not";  // a file of a part that could not be had
// Longer reasons are cut off when they are read: the file may be a stranger's.
constexpr std::size_t kMostReason = 4096;

void write_reason(const std::string& folder, const std::string& reason) {
  std::filesystem::create_directories(folder);
  runtime::OutputFile file(folder + kReason);
  file.write(runtime::as_bytes(reason));
  file.finish();
}

std::string reason_of(const std::string& folder) {
  runtime::FileContent file(folder + kReason);
  const runtime::Bytes bytes = file.all();
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kMostReason)};
}

std::string folder(std::size_t number) { return "differences/" + std::to_string(number + 1); }

}  // namespace

std::vector<Difference> largest_differences(const Results& results, std::size_t count) {
  std::vector<Difference> found;
  for (const RowResult& row : results.rows)
    if (const auto largest = largest_of(results, row)) found.push_back(*largest);
  sort_stably(found, std::greater(), &Difference::factor);
  if (found.size() > count) found.resize(count);
  return found;
}

std::string difference_text(const Results& results, const Difference& difference) {
  return results.plan.rows[difference.row].name + ": " + difference.slower + " takes " +
         ratio_text(difference.factor) + " the time of " + difference.faster;
}

// A part whose folder has its samples already is not measured again: `run` continues it.
bool take_apart(const Plan& plan, const std::string& folder, const Records& records,
                const Sources& sources, const std::function<void(const std::string&)>& say,
                const std::function<bool(const Plan& part, const std::string& folder)>& run) {
  if (plan.explain == 0) return false;
  // The same evaluation as that of the report, so that the differences are those which it
  // lists.
  const Results results = evaluate(plan, records);
  const std::vector<Difference> differences =
      largest_differences(results, static_cast<std::size_t>(plan.explain));
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const std::string title = difference_text(results, differences[i]);
    say(title + ": taken apart");
    const auto measure = [&](const auto& plan_of, const std::string& part) {
      try {
        return run(plan_of(results, differences[i], sources), folder + "/" + part);
      } catch (const UserError& e) {
        say("warning: " + title + ": " + e.what());
        write_reason(folder + "/" + part, e.what());
        return false;
      }
    };
    if (measure(path_of, path_folder(i)) || measure(lines_of, lines_folder(i))) return true;
  }
  return false;
}

// Parts are found by their numbers; where the first is missing, the run has not come so far.
std::vector<TakenApart> read_differences(const std::string& folder, const Results& results) {
  std::vector<TakenApart> found;
  for (const Difference& each :
       largest_differences(results, static_cast<std::size_t>(results.plan.explain))) {
    TakenApart apart;
    apart.title = difference_text(results, each);
    const auto read = [&](const std::string& part) {
      const std::string whole = folder + "/" + part;
      if (std::filesystem::exists(whole + kReason)) apart.why_not.push_back(reason_of(whole));
      if (!std::filesystem::exists(whole + "/plan.json")) return Results{};
      const Plan plan = read_plan(whole);
      return evaluate(plan, read_records(whole, plan));
    };
    apart.path = read(path_folder(found.size()));
    apart.lines = read(lines_folder(found.size()));
    if (apart.path.rows.empty() && apart.lines.rows.empty() && apart.why_not.empty()) break;
    found.push_back(std::move(apart));
  }
  return found;
}

std::string path_folder(std::size_t number) { return folder(number) + "/path"; }
std::string lines_folder(std::size_t number) { return folder(number) + "/lines"; }

}  // namespace polyte::lab
