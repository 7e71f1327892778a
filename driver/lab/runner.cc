#include "driver/lab/runner.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "driver/lab/child.h"
#include "driver/lab/context.h"
#include "driver/lab/worker.h"
#include "runtime/file.h"
#include "support/descriptor.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Only a flag is set, for little else is allowed in a signal handler; the loop asks between
// workers.
volatile std::sig_atomic_t interrupted = 0;
void interrupt(int) { interrupted = 1; }

// Ctrl-C ends the worker, which is of the same group; a signal to this process alone does so by way
// of the flag. Then this loop ends.
class Interruptible {
 public:
  Interruptible() {
    interrupted = 0;
    struct sigaction action{};
    action.sa_handler = interrupt;
    sigaction(SIGINT, &action, &before_int_);
    sigaction(SIGTERM, &action, &before_term_);
  }
  ~Interruptible() {
    sigaction(SIGINT, &before_int_, nullptr);
    sigaction(SIGTERM, &before_term_, nullptr);
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  struct sigaction before_int_{}, before_term_{};
};

// samples.jsonl, which one process at a time appends to. The lock is advisory and ends with the
// process whatever ended it, so that no stale lock needs to be removed.
class Journal {
 public:
  explicit Journal(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    if (file_.get() < 0) throw UserError(ExitStatus::InvalidInput, path + ": cannot be written");
    if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
      throw UserError(ExitStatus::Usage, path + ": another polyte lab run writes to it");
    char last = '\n';
    const off_t end = lseek(file_.get(), 0, SEEK_END);
    // The run before was cut off within a line: end it, so that the next one is a line of its own.
    // The reader drops the unfinished one.
    if (end > 0 && pread(file_.get(), &last, 1, end - 1) == 1 && last != '\n') text("\n");
  }

  void line(const Json& json) {
    text(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

 private:
  std::string path_;
  Descriptor file_;

  void text(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t done = write(file_.get(), bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0)
        throw UserError(ExitStatus::ResourceLimit, path_ + ": cannot be written: a full disk?");
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
  }
};

// Rounded to what an estimate is worth.
std::string duration_text(double seconds) {
  char text[32];
  if (seconds < 90)
    std::snprintf(text, sizeof text, "%.0f s", seconds);
  else if (seconds < 5400)
    std::snprintf(text, sizeof text, "%.0f min", seconds / 60);
  else
    std::snprintf(text, sizeof text, "%.1f h", seconds / 3600);
  return text;
}

class Runner {
 public:
  Runner(const Plan& plan, const RunOptions& options)
      : plan_(plan),
        options_(options),
        journal_(options.folder + "/samples.jsonl"),
        records_(read_records(options.folder, plan)) {}

  RunResult run() {
    const Interruptible guard;
    if (records_.dropped > 0)
      options_.say(std::to_string(records_.dropped) + " unfinished line of samples is dropped");
    if (!is_all_done()) begin();
    start_ = Clock::now();
    for (int process = 0; process < plan_.stop.processes_most && !interrupted && !is_all_done();
         ++process)
      run_round(process);
    return {std::move(records_), interrupted != 0};
  }

 private:
  const Plan& plan_;
  const RunOptions& options_;
  Journal journal_;
  Records records_;
  Clock::time_point start_;
  int done_now_ = 0;

  bool is_all_done() const {
    for (std::size_t row = 0; row < records_.rows.size(); ++row)
      if (options_.shard.takes(row) && records_.rows[row].why.empty()) return false;
    return true;
  }

  // One build of Polyte and one machine per folder. A context is written once per run, and
  // processes that follow it in the file were measured under it.
  void begin() {
    Json context = make_context(plan_);
    for (const Json& before : records_.contexts) {
      if (before.at("polyte") != context.at("polyte"))
        throw UserError(ExitStatus::Usage,
                        options_.folder +
                            ": its samples are of another build of Polyte, and would be mixed with "
                            "those of this one: give another --out");
      if (machine_of(before) != machine_of(context))
        throw UserError(ExitStatus::Usage, options_.folder +
                                               ": its samples are of another machine, " +
                                               machine_words(before) +
                                               ": a ratio is never of two; give another --out");
    }
    const double load = context.value("load", 0.0);
    if (load > 0.5) {
      char text[160];
      std::snprintf(text, sizeof text,
                    "warning: this machine is busy (load average %.1f): intervals will be wide, "
                    "and may be wrong",
                    load);
      options_.say(text);
    }
    keep(std::move(context));
  }

  void keep(Json json) {
    journal_.line(json);
    if (json.at("kind") == "context") records_.contexts.push_back(std::move(json));
  }

  // One process of every row that needs it, in an order of its own, so that no row is always the
  // first on a cool processor, or always behind the same other row. The order depends on the seed
  // and the number of the process alone: a run that was cut off goes on in the same order.
  void run_round(int process) {
    std::vector<std::size_t> order(plan_.rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    Random random(plan_.seed * 31 + static_cast<std::uint64_t>(process));
    random.shuffle(order);
    for (const std::size_t row : order) {
      if (interrupted) return;
      RowRecord& record = records_.rows[row];
      if (!record.why.empty() || !options_.shard.takes(row)) continue;
      if (!record.processes.contains(process)) run_one(row, process);
      if (!interrupted) record.why = why_done(plan_, record);
      if (!record.why.empty()) keep({{"kind", "row"}, {"row", row}, {"why", record.why}});
    }
  }

  // Until an attempt ends well; each that does not leaves out the arm that ended it, so that one
  // attempt per arm, one for the A/A arm and a last one are enough. An end that no arm is to blame
  // for, or an arm that was left out already, is an error of the worker itself.
  void run_one(std::size_t row, int process) {
    RowRecord& record = records_.rows[row];
    for (std::size_t i = 0; i <= plan_.arms.size() + 1 && !interrupted; ++i) {
      const int attempt = record.attempts++;
      const Attempt result = attempt_of(row, process, attempt);
      if (result.complete) {
        record.processes[process] = result.record;
        record.processes[process].context = records_.contexts.size() - 1;
        ++done_now_;
        return progress(row, process);
      }
      if (interrupted) return;
      const std::string arm = result.arm == kAgain ? plan_.baseline : result.arm;
      if (arm.empty() || record.crashed.contains(arm))
        throw UserError(ExitStatus::Internal,
                        "row '" + plan_.rows[row].name + "': the worker process " + result.how);
      record.crashed[arm] = "the process " + result.how + " while " + result.doing;
      keep({{"kind", "crash"}, {"row", row}, {"arm", arm}, {"reason", record.crashed[arm]}});
      options_.say("row '" + plan_.rows[row].name + "': arm '" + arm + "': " + record.crashed[arm]);
    }
  }

  struct Attempt {
    bool complete = false;
    ProcessRecord record;
    std::string arm, doing, how;  // what it was at when it ended
  };

  Attempt attempt_of(std::size_t row, int process, int attempt) {
    WorkerOrder order{row, process, attempt, {}, {}};
    const RowRecord& before = records_.rows[row];
    for (const auto& [arm, reason] : before.crashed) order.left_out.insert(arm);
    // A later process whose outputs have the digest that process 0 found right needs no reference.
    if (const auto first = before.processes.find(0); first != before.processes.end())
      for (const ArmRecord& arm : first->second.arms)
        if (arm.is_ok()) order.outputs[arm.arm] = arm.facts.value("outputs_digest", "");
    Attempt result;
    std::string lines;
    // A hung kernel, not a slow one: the rounds themselves stop by `process_seconds`.
    const double limit = std::max(600.0, 10 * plan_.stop.process_seconds);
    const auto take = [&](const std::string& line) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_discarded() || !json.is_object()) return;
      if (json.value("kind", "") == "stage") {
        result.arm = json.value("arm", "");
        result.doing = json.value("doing", "");
        return;
      }
      journal_.line(json);
      lines += line + "\n";
    };
    result.how = run_child(options_.worker, to_json(order).dump(), limit, take,
                           [] { return interrupted != 0; });
    // The worker's lines count only if its last one, "process", is among them (record.h).
    Records parsed = parse_records(lines, plan_, "a worker");
    auto& processes = parsed.rows[row].processes;
    if (processes.contains(process)) {
      result.complete = true;
      result.record = std::move(processes[process]);
    }
    return result;
  }

  // Time per process so far, times the processes that are sure to come: a row that is not narrow
  // enough at its least number will ask for more.
  void progress(std::size_t row, int process) {
    int total = 0, done = 0;
    for (std::size_t i = 0; i < records_.rows.size(); ++i) {
      if (!options_.shard.takes(i)) continue;
      const RowRecord& one = records_.rows[i];
      const int have = static_cast<int>(one.processes.size());
      done += have;
      total += one.why.empty() ? std::max(plan_.stop.processes_least, have) : have;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const double left = seconds / std::max(done_now_, 1) * (total - done);
    char text[64];
    std::snprintf(text, sizeof text, "[%d/%d] process %d of ", done, total, process + 1);
    options_.say(text + plan_.rows[row].name + ": " + summary(row) +
                 (left > 0 ? "; about " + duration_text(left) + " left" : ""));
  }

  // "poly 5.8 us, template 1.02x"
  std::string summary(std::size_t row) const {
    const RowRecord& record = records_.rows[row];
    const Samples baseline = record.samples(plan_.baseline);
    std::string text;
    for (const PlannedArm& arm : plan_.arms) {
      const std::string& name = arm.spec.name;
      const Samples own = record.samples(name);
      if (count_samples(own) == 0) continue;
      char figure[64];
      if (name == plan_.baseline || count_samples(baseline) == 0)
        std::snprintf(figure, sizeof figure, " %.3g us",
                      median_interval(own, {1, 1}).estimate / 1e3);
      else
        std::snprintf(figure, sizeof figure, " %.2fx",
                      paired_ratio(own, baseline, {1, 1}).estimate);
      text += (text.empty() ? "" : ", ") + name + figure;
    }
    return text.empty() ? "nothing is timed" : text;
  }
};

}  // namespace

std::string why_done(const Plan& plan, const RowRecord& row) {
  const auto processes = static_cast<int>(row.processes.size());
  if (processes < plan.stop.processes_least) return "";
  const Samples baseline = row.samples(plan.baseline);
  bool any = false, narrow = true;
  for (const PlannedArm& arm : plan.arms) {
    const Samples own = row.samples(arm.spec.name);
    if (count_samples(own) == 0) continue;
    any = true;
    const bool against = count_samples(baseline) > 0 && arm.spec.name != plan.baseline;
    const BootstrapOptions quick{400, plan.seed};
    // The baseline has no ratio, nor has any arm where the baseline is not timed: neither asks for
    // another process.
    const Interval interval = against ? paired_ratio(own, baseline, quick) : Interval{1, 1, 1};
    narrow = narrow && interval.relative_width() <= plan.stop.width;
  }
  if (!any) return "nothing to time";
  if (narrow) return "narrow enough";
  return processes >= plan.stop.processes_most ? "most processes" : "";
}

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  std::size_t index = 0, count = 0;
  const char *begin = text.data(), *end = begin + text.size();
  const bool is_one = slash != std::string::npos &&
                      std::from_chars(begin, begin + slash, index).ptr == begin + slash &&
                      slash > 0 && std::from_chars(begin + slash + 1, end, count).ptr == end;
  if (!is_one || count < 1 || count > 10'000 || index >= count)
    throw UserError(ExitStatus::Usage,
                    "--shard " + text + ": expected I/N, the I-th of N from 0 on, 0/4");
  return {index, count};
}

// Compared as JSON, so that a plan that was read back equals the one that was made.
void keep_plan(const Plan& plan, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string path = folder + "/plan.json";
  if (fs::exists(path)) {
    if (to_json(read_plan(folder)) != to_json(plan))
      throw UserError(ExitStatus::Usage,
                      folder +
                          ": holds the results of another experiment (its plan.json "
                          "differs): give another --out, or run the folder itself");
    return;
  }
  const std::string text = to_json(plan).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  runtime::OutputFile file(path);
  file.write(runtime::as_bytes(text));
  file.finish();
}

RunResult run_plan(const Plan& plan, const RunOptions& options) {
  keep_plan(plan, options.folder);
  return Runner(plan, options).run();
}

}  // namespace polyte::lab
