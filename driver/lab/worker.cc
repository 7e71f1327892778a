#include "driver/lab/worker.h"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): getloadavg
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "bench/peak.h"
#include "driver/compile/flops.h"
#include "driver/compile/least_time.h"
#include "driver/lab/correctness.h"
#include "driver/lab/counters.h"
#include "driver/lab/record.h"
#include "driver/lab/stopwatch.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// The arms of a row that are timed, and how far they are.
struct Timed {
  std::string name;
  std::unique_ptr<Contender> contender;
  std::unique_ptr<Stopwatch> watch;
  std::int64_t executions = 1;
  std::vector<double> rounds;
};

double load_average() {
  double value = 0;
  return getloadavg(&value, 1) == 1 ? value : -1;
}

class Worker {
 public:
  Worker(const Plan& plan, const std::string& folder, const WorkerOrder& order, const Hooks& hooks,
         const std::function<void(const Json&)>& write)
      : plan_(plan),
        row_(plan.rows.at(order.row)),
        order_(order),
        workshop_(make_workshop(plan, row_, hooks, folder)),
        write_(write),
        // A stream of its own for each row and process: the multiplier is 2^64 over the golden
        // ratio, as in Fibonacci hashing, which takes neighbouring numbers far apart.
        random_(plan.seed + 0x9e3779b97f4a7c15U * (order.row * 1009 +
                                                   static_cast<std::uint64_t>(order.process) + 1)) {
  }

  // All arms are compiled and checked before any is timed, so that compiling disturbs no round.
  void run() {
    const double load = load_average();
    start_ = Clock::now();
    if (order_.process == 0) small_ = make_small(workshop_);
    for (const PlannedArm& arm : plan_.arms) prepare_arm(arm);
    add_again();
    for (Timed& timed : timed_) {
      stage(timed.name, "timing");
      timed.watch = std::make_unique<Stopwatch>(*timed.contender, workshop_.interface, row_.fill,
                                                row_.caches, last_cache());
      timed.executions = timed.watch->calibrate(plan_.stop.round_ms);
    }
    const int rounds = timed_.empty() ? 0 : measure();
    if (order_.process == 0) count();
    finish(rounds, load);
  }

 private:
  const Plan& plan_;
  const Row& row_;
  const WorkerOrder& order_;
  Workshop workshop_;
  const std::function<void(const Json&)>& write_;
  Random random_;
  std::optional<Reference> reference_;  // made where it is first asked for
  SmallProgram small_;
  std::vector<Timed> timed_;
  std::map<std::string, std::string> loops_;  // digest -> arm that had it first
  Clock::time_point start_;
  Json counted_;  // arm -> what the processor counted
  std::string not_counted_;

  // What every record begins with (record.h).
  Json record(const char* kind) const {
    return {{"kind", kind},
            {"row", order_.row},
            {"process", order_.process},
            {"attempt", order_.attempt}};
  }

  // Of what executes the arms.
  std::int64_t last_cache() const {
    return workshop_.device ? workshop_.device->l2_bytes() : Stopwatch::last_cache();
  }

  void stage(const std::string& arm, const std::string& doing) const {
    write_({{"kind", "stage"}, {"arm", arm}, {"doing", doing}});
  }

  void prepare_arm(const PlannedArm& arm) {
    const std::string& name = arm.spec.name;
    if (order_.left_out.contains(name)) return;  // the runner has written why
    stage(name, "compiling");
    Prepared prepared = prepare(workshop_, arm, workshop_.program);
    if (!workshop_.program && workshop_.interface.empty()) workshop_.interface = prepared.interface;
    if (prepared.contender) check(arm, prepared);
    Json json = record("arm");
    json["arm"] = name;
    json["status"] = prepared.status;
    if (!prepared.reason.empty()) json["reason"] = prepared.reason;
    find_identical(name, prepared);
    for (const auto& [key, value] : prepared.facts.items()) json[key] = value;
    write_(json);
    if (prepared.contender && prepared.status == "ok")
      timed_.push_back({name, std::move(prepared.contender), {}, 1, {}});
  }

  void find_identical(const std::string& name, Prepared& prepared) {
    if (!prepared.contender || !prepared.facts.contains("loops_digest")) return;
    const auto [first, is_new] = loops_.try_emplace(prepared.facts["loops_digest"], name);
    if (!is_new) prepared.facts["identical_to"] = first->second;
  }

  // A wrong arm is never timed.
  // Against the reference at the row's sizes, in the first process also against the interpreter
  // at small ones. Outputs that an earlier process found right are known by their digest.
  void check(const PlannedArm& arm, Prepared& prepared) {
    stage(arm.spec.name, "checking");
    try {
      const std::vector<runtime::Tensor> got = run_once(workshop_, *prepared.contender);
      const std::string digest = digest_of_outputs(workshop_.interface, got);
      prepared.facts["outputs_digest"] = digest;
      const auto known = order_.outputs.find(arm.spec.name);
      if (known != order_.outputs.end() && known->second == digest) return;
      compare(arm, got, prepared);
    } catch (const UserError& e) {
      // A GPU's error is the end of all that this process has there: the runner begins anew without
      // this arm.
      if (e.status() == ExitStatus::Device) {
        stage(arm.spec.name, std::string("checking: ") + e.what());
        throw;
      }
      prepared.status = "failed";
      prepared.reason = e.what();
    } catch (const std::exception& e) {
      prepared.status = "failed";
      prepared.reason = e.what();
    }
  }

  void compare(const PlannedArm& arm, const std::vector<runtime::Tensor>& got, Prepared& prepared) {
    if (!reference_) reference_ = make_reference(workshop_);
    if (reference_->name.empty()) {
      prepared.status = "failed";
      prepared.reason = "nothing to compare it with: " + reference_->problem;
      return;
    }
    const Verdict real = check_real(workshop_, got, *reference_);
    prepared.facts["outputs"] = real.text;
    const Verdict small = order_.process == 0 ? check_small(workshop_, arm, small_) : Verdict{};
    if (!small.text.empty()) prepared.facts["interpreter"] = small.text;
    std::string left_out = real.left_out;
    if (!small.left_out.empty())
      left_out += (left_out.empty() ? "" : "; ") + ("at small sizes " + small.left_out);
    if (!left_out.empty()) prepared.facts["left_out"] = left_out;
    if (real.right && small.right) return;
    prepared.status = "wrong";
    prepared.reason = real.right ? small.text : real.text;
  }

  // The baseline once more, compiled anew, on tensors of its own: its ratio to the baseline (A/A)
  // shows what two equal arms differ by here, through addresses and pages.
  void add_again() {
    if (std::ranges::none_of(timed_,
                             [&](const Timed& timed) { return timed.name == plan_.baseline; }))
      return;
    stage(kAgain, "compiling");
    Prepared prepared = prepare(workshop_, plan_.arm(plan_.baseline), workshop_.program);
    if (!prepared.contender) return;
    timed_.push_back({kAgain, std::move(prepared.contender), {}, 1, {}});
  }

  // A peer's own process may end, and then it is known whose it was.
  double nanoseconds_of(Timed& timed) const try {
    return timed.watch->nanoseconds(timed.executions);
  } catch (...) {
    stage(timed.name, "timing");
    throw;
  }

  // Every round times each arm once, in a drawn order: round r is the same moment for all, and no
  // arm is always behind the same other one.
  int measure() {
    const auto start = Clock::now();
    std::vector<std::size_t> turns(timed_.size());
    for (std::size_t i = 0; i < turns.size(); ++i) turns[i] = i;
    int round = 0;
    for (; round < plan_.stop.rounds_most; ++round) {
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (round > 0 && seconds > plan_.stop.process_seconds) break;
      if (round >= plan_.stop.rounds_least && is_narrow()) break;
      random_.shuffle(turns);
      Json json = record("round");
      json["round"] = round;
      json["samples"] = Json::array();
      for (const std::size_t i : turns) {
        Timed& timed = timed_[i];
        const double nanoseconds = nanoseconds_of(timed);
        timed.rounds.push_back(nanoseconds);
        json["samples"].push_back({timed.name, nanoseconds, timed.executions});
      }
      write_(json);
    }
    return round;
  }

  // Why nothing is counted; empty where it is.
  std::string uncounted(const Counters& counters) const {
    if (workshop_.device) return "the processor's counters know nothing of a GPU";
    // Pools of threads were begun before the counters were.
    if (row_.threads > 1) return "of several threads the processor's counters would count one";
    return counters.problem();
  }

  // After the rounds, so that no time is taken beside it.
  void count() {
    Counters counters;
    not_counted_ = uncounted(counters);
    if (!not_counted_.empty()) return;
    for (Timed& timed : timed_) {
      stage(timed.name, "counting");
      counted_[timed.name] = counters.count([&] { timed.watch->nanoseconds(1); }, timed.executions);
    }
  }

  // Of this process alone: the runner asks the same of all processes together.
  bool is_narrow() const {
    const auto baseline = std::ranges::find(timed_, plan_.baseline, &Timed::name);
    const Timed& against = baseline == timed_.end() ? timed_[0] : *baseline;
    return std::ranges::all_of(timed_, [&](const Timed& timed) {
      return paired_ratio({timed.rounds}, {against.rounds}, {200, plan_.seed}).relative_width() <=
             plan_.stop.width;
    });
  }

  // Of a processor the peak is measured beside the arms; a GPU's is what its rates allow.
  void add_peak(Json& json, DType dtype) const {
    const Machine& machine = workshop_.target.machine;
    if (!workshop_.device) {
      json["peak_flops_a_thread"] = bench::measure_peak(machine, dtype);
      return;
    }
    const double bytes = json["bytes"].get<double>(), flops = json["flops"].get<double>();
    if (!workshop_.program) return;
    const driver::GpuRates rates = driver::rates_for(workshop_.program.get(), machine);
    json["peak_flops"] = rates.flops;
    if (const driver::LeastTime least = driver::least_time(rates, flops, bytes); least.seconds > 0)
      json["at_least"] = {{"nanoseconds", least.seconds * 1e9}, {"bound", least.bound}};
  }

  void finish(int rounds, double load) {
    Json json = record("process");
    json["rounds"] = rounds;
    json["seconds"] = std::chrono::duration<double>(Clock::now() - start_).count();
    json["load_before"] = load;
    json["load_after"] = load_average();
    if (reference_) json["reference"] = reference_->name;
    json["flops"] = workshop_.program ? driver::count_flops(*workshop_.program) : 0.0;
    std::int64_t bytes = 0;
    DType dtype = DType::F32;
    for (const Slot& slot : workshop_.interface) {
      bytes += runtime::count_bytes(slot.dtype, slot.shape);
      dtype = slot.dtype;
    }
    json["bytes"] = bytes;
    json["dtype"] = std::string(to_string(dtype));
    add_peak(json, dtype);
    if (!counted_.is_null()) json["counters"] = counted_;
    if (!not_counted_.empty()) json["not_counted"] = not_counted_;
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
      // Linux counts ru_maxrss in KiB.
      json["most_memory_bytes"] = std::int64_t{usage.ru_maxrss} * 1024;
    if (!timed_.empty()) {
      json["tensor_sets"] = timed_[0].watch->sets();
      json["single_executions"] = timed_[0].watch->is_single();
    }
    write_(json);
  }
};

}  // namespace

Json to_json(const WorkerOrder& order) {
  return {{"row", order.row},
          {"process", order.process},
          {"attempt", order.attempt},
          {"left_out", order.left_out},
          {"outputs", order.outputs}};
}

WorkerOrder order_from_json(const Json& json) {
  WorkerOrder order;
  order.row = json.at("row");
  order.process = json.at("process");
  order.attempt = json.at("attempt");
  order.left_out = json.at("left_out").get<std::set<std::string>>();
  order.outputs = json.at("outputs").get<std::map<std::string, std::string>>();
  return order;
}

void run_worker(const Plan& plan, const std::string& folder, const WorkerOrder& order,
                const Hooks& hooks, const std::function<void(const Json&)>& write) {
  Worker(plan, folder, order, hooks, write).run();
}

}  // namespace polyte::lab
