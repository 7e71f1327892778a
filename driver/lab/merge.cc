#include "driver/lab/merge.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "driver/lab/record.h"
#include "driver/lab/runner.h"
#include "runtime/file.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

// One machine, and the number of the next process, of each row so far.
struct RowSoFar {
  std::string machine, words;
  int next = 0;
};

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

class Merger {
 public:
  explicit Merger(const Plan& plan) : plan_(plan), rows_(plan.rows.size()) {}

  // Lines are written anew in the order of a reader: a context, then what was measured under it,
  // for a process belongs to the last context before it. `next` moves only after the whole folder,
  // so that numbers of one folder keep their distance.
  void add(const std::string& folder) {
    const Plan own = read_plan(folder);
    if (to_json(own) != to_json(plan_))
      throw UserError(ExitStatus::Usage,
                      folder + ": its plan is another one: only runs of one plan are joined");
    const Records records = read_records(folder, own);
    check_contexts(folder, records);
    check_build(folder, records);
    check_machines(folder, records);
    for (std::size_t c = 0; c < records.contexts.size(); ++c) {
      machines_.insert(machine_of(records.contexts[c]));
      text_ += line_of(records.contexts[c]);
      for (std::size_t row = 0; row < rows_.size(); ++row) add_row(row, records.rows[row], c);
    }
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!records.rows[row].processes.empty())
        rows_[row].next += records.rows[row].processes.rbegin()->first + 1;
      if (!records.rows[row].why.empty())
        text_ += line_of({{"kind", "row"}, {"row", row}, {"why", records.rows[row].why}});
      for (const auto& [arm, reason] : records.rows[row].crashed)
        text_ += line_of({{"kind", "crash"}, {"row", row}, {"arm", arm}, {"reason", reason}});
    }
  }

  void refuse_mixed() const {
    if (!mixed_.empty())
      throw UserError(ExitStatus::Usage, "a ratio is never of two machines:" + mixed_);
  }
  const std::string& text() const { return text_; }
  Merged merged() const {
    Merged result{processes_, 0, machines_.size()};
    for (const RowSoFar& row : rows_) result.rows += row.next > 0 ? 1 : 0;
    return result;
  }

 private:
  const Plan& plan_;
  std::vector<RowSoFar> rows_;
  std::string text_, mixed_;
  Json build_;
  std::set<std::string> machines_;
  std::size_t processes_ = 0;

  // Of samples without one nobody knows the machine.
  static void check_contexts(const std::string& folder, const Records& records) {
    const auto is_measured = [](const RowRecord& row) { return !row.processes.empty(); };
    if (records.contexts.empty() && std::ranges::any_of(records.rows, is_measured))
      throw UserError(ExitStatus::InvalidInput,
                      folder +
                          "/samples.jsonl: samples without a line of kind 'context', which "
                          "says of which machine they are");
  }

  // Another build may compile other loops for the same plan, and its samples are of those.
  void check_build(const std::string& folder, const Records& records) {
    for (const Json& context : records.contexts) {
      if (build_.is_null()) build_ = context.at("polyte");
      if (build_ != context.at("polyte"))
        throw UserError(ExitStatus::Usage,
                        folder + ": its samples are of another build of Polyte than those before");
    }
  }

  void check_machines(const std::string& folder, const Records& records) {
    for (std::size_t row = 0; row < rows_.size(); ++row)
      for (const auto& [number, process] : records.rows[row].processes) {
        const Json& context = records.contexts.at(process.context);
        RowSoFar& so_far = rows_[row];
        if (so_far.machine.empty())
          so_far.machine = machine_of(context), so_far.words = machine_words(context);
        if (so_far.machine == machine_of(context)) continue;
        mixed_ += "\n  row '" + plan_.rows[row].name + "' is of " + so_far.words + " (" +
                  so_far.machine + "), and in " + folder + " of " + machine_words(context) + " (" +
                  machine_of(context) + ")";
        break;
      }
  }

  // Complete processes that began under this context, as lines.
  void add_row(std::size_t row, const RowRecord& record, std::size_t context) {
    for (const auto& [number, process] : record.processes) {
      if (process.context != context) continue;
      const int moved = rows_[row].next + number;
      for (const ArmRecord& arm : process.arms) text_ += line_of(renumbered(arm.facts, moved));
      for (const RoundRecord& round : process.rounds)
        text_ += line_of(round_line(row, process, round, moved));
      text_ += line_of(renumbered(process.end, moved));
      ++processes_;
    }
  }

  static Json renumbered(Json json, int process) {
    json["process"] = process;
    return json;
  }

  static Json round_line(std::size_t row, const ProcessRecord& process, const RoundRecord& round,
                         int number) {
    Json json{{"kind", "round"},      {"row", row},
              {"process", number},    {"attempt", process.attempt},
              {"round", round.round}, {"samples", Json::array()}};
    for (const RoundRecord::Sample& sample : round.samples)
      json["samples"].push_back({sample.arm, sample.nanoseconds, sample.executions});
    return json;
  }
};

}  // namespace

// All folders are read and checked before anything is written.
Merged merge_runs(const std::vector<std::string>& folders, const std::string& out) {
  if (folders.empty()) throw UserError(ExitStatus::Usage, "lab merge: expected result folders");
  const Plan plan = read_plan(folders.front());
  const std::string samples = out + "/samples.jsonl";
  if (std::filesystem::exists(samples) && std::filesystem::file_size(samples) > 0)
    throw UserError(
        ExitStatus::Usage,
        out + ": has samples already: give another --out, and this one among the folders");
  Merger merger(plan);
  for (const std::string& folder : folders) merger.add(folder);
  merger.refuse_mixed();
  // The plan comes first: samples without a plan could not be read.
  keep_plan(plan, out);
  runtime::OutputFile file(samples);
  file.write(runtime::as_bytes(merger.text()));
  file.finish();
  return merger.merged();
}

}  // namespace polyte::lab
