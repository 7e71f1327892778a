#include "driver/lab/python_peer.h"

#include <algorithm>

#include "driver/lab/child.h"
#include "driver/lab/python_worker.h"
#include "support/error.h"
#include "support/stage_log.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::int64_t kAlignment = 64;

struct Library {
  const char* name;
  bool on_cpu, on_gpu;
};
// Where each of them runs: on a CPU, on a GPU.
constexpr Library kLibraries[] = {
    {"numpy", true, false},  {"torch", true, true},        {"torch-compile", true, false},
    {"xla", true, false},    {"onnxruntime", true, false}, {"openvino", true, false},
    {"onednn", true, false}, {"cublas", false, true},      {"triton", false, true},
};

const Library* find_library(const std::string& name) {
  const auto* const found = std::ranges::find(kLibraries, name, &Library::name);
  return found == std::end(kLibraries) ? nullptr : found;
}

// An answer that is none.
struct NoAnswer : UserError {
  NoAnswer(std::string which, const std::string& reason)
      : UserError(ExitStatus::Unsupported, reason), kind(std::move(which)) {}
  std::string kind;  // absent, declined, failed
};

class PythonContender : public Contender {
 public:
  PythonContender(std::unique_ptr<PythonWorker> worker, const Interface& interface)
      : interface_(interface), worker_(std::move(worker)) {}

  // The library's version. NoAnswer where it cannot be had.
  std::string begin(const std::string& peer, int threads, bool on_gpu, Json what) {
    what["do"] = "begin";
    what["peer"] = peer;
    what["threads"] = threads;
    what["on_gpu"] = on_gpu;
    return ask(what).value("version", "");
  }

  // How each execution is started, where there are several ways: the quickest on the set that
  // there is.
  std::string choose() { return ask({{"do", "choose"}}).value("way", ""); }

  // Tensors lie in memory shared with the worker, each at the beginning of a cache line and with at
  // least 64 bytes between two. The last write makes the memory reach beyond the last tensor.
  void add_set(std::span<runtime::Tensor> tensors) override {
    Set set{tensors, {}};
    Json order{{"do", "set"}, {"tensors", Json::array()}};
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      set.places.push_back(used_);
      order["tensors"].push_back({{"name", interface_[i].name},
                                  {"dtype", std::string(to_string(interface_[i].dtype))},
                                  {"shape", interface_[i].shape},
                                  {"at", used_}});
      worker_->write(used_, tensors[i].raw());
      used_ = (used_ + tensors[i].bytes() + 2 * kAlignment - 1) / kAlignment * kAlignment;
    }
    worker_->write(used_, std::vector<std::byte>(kAlignment));
    ask(order);
    sets_.push_back(std::move(set));
  }

  void clear_sets() override {
    ask({{"do", "clear"}});
    sets_.clear();
    used_ = 0;
  }

  // Outputs come back through the shared memory; timed() leaves them there.
  void run(std::size_t set) override {
    ask({{"do", "run"}, {"set", set}});
    for (std::size_t i = 0; i < interface_.size(); ++i)
      if (interface_[i].is_written())
        worker_->read(sets_[set].places[i], sets_[set].tensors[i].raw());
  }

  std::optional<double> timed(std::int64_t executions, std::int64_t evict) override {
    return ask({{"do", "time"}, {"executions", executions}, {"evict", evict}})
        .at("ns")
        .get<double>();
  }

 private:
  struct Set {
    std::span<runtime::Tensor> tensors;
    std::vector<std::int64_t> places;
  };
  Interface interface_;
  std::unique_ptr<PythonWorker> worker_;
  std::vector<Set> sets_;
  std::int64_t used_ = 0;

  Json ask(const Json& order) {
    Json answer = worker_->ask(order);
    for (const char* status : {"absent", "declined", "failed"})
      if (answer.contains(status))
        throw NoAnswer{status, answer[status].is_string() ? answer[status].get<std::string>() : ""};
    return answer;
  }
};

std::unique_ptr<PythonWorker> worker_for(const Workshop& workshop, const std::string& peer) {
  std::unique_ptr<PythonWorker> worker;
  if (workshop.started) worker = std::move((*workshop.started)[peer]);
  return worker ? std::move(worker) : std::make_unique<PythonWorker>(find_python());
}

}  // namespace

// Loading a library for GPUs takes seconds: all of them do so while the first arms are compiled.
void start_libraries(Workshop& workshop) {
  if (!workshop.device) return;
  workshop.started = std::make_shared<std::map<std::string, std::unique_ptr<PythonWorker>>>();
  try {
    for (const PlannedArm& arm : workshop.plan.arms) {
      const Library* library =
          arm.spec.kind == ArmSpec::Kind::Peer ? find_library(arm.spec.what) : nullptr;
      if (!library || !library->on_gpu) continue;
      std::unique_ptr<PythonWorker>& worker = (*workshop.started)[arm.spec.what];
      worker = std::make_unique<PythonWorker>(find_python());
      worker->tell({{"do", "load"},
                    {"peer", arm.spec.what},
                    {"threads", workshop.row.threads},
                    {"on_gpu", true}});
    }
  } catch (const UserError&) {
    return;  // whoever asks for one is told why there is none
  }
}

bool is_python_peer(const std::string& name) { return find_library(name) != nullptr; }

std::map<std::string, std::string> versions_of_libraries(const std::vector<std::string>& asked,
                                                         bool on_gpu) {
  std::map<std::string, std::string> versions;
  if (asked.empty()) return versions;
  try {
    std::vector<std::string> words{on_gpu ? "probe-gpu" : "probe"};
    words.insert(words.end(), asked.begin(), asked.end());
    run_child(python_command(find_python(), words), "", 300, [&](const std::string& line) {
      const Json json = Json::parse(line, nullptr, false);
      if (!json.is_object()) return;
      for (const auto& [name, found] : json.items())
        versions[name] = found.contains("version") ? found.value("version", "")
                                                   : "not there: " + found.value("absent", "");
    });
  } catch (const UserError& e) {
    for (const std::string& name : asked) versions[name] = e.what();
  }
  for (const std::string& name : asked)
    versions.try_emplace(name, "not known: the process that was asked has ended");
  return versions;
}

Prepared by_python(const Workshop& workshop, const std::string& peer, Json what,
                   const Interface& interface, bool on_gpu) {
  Prepared prepared;
  prepared.interface = interface;
  const Library& library = *find_library(peer);
  if (on_gpu ? !library.on_gpu : !library.on_cpu) {
    prepared.status = "declined";
    prepared.reason =
        "peer:" + peer + ": it is for " +
        (on_gpu ? "this processor, the target is a GPU" : "GPUs, the target is this processor");
    return prepared;
  }
  try {
    auto contender = std::make_unique<PythonContender>(worker_for(workshop, peer), interface);
    prepared.facts["compile_ms"]["all"] = milliseconds_of([&] {
      prepared.facts["compiler"] =
          contender->begin(peer, workshop.row.threads, on_gpu, std::move(what));
      // Libraries compile for tensors that they have seen.
      std::vector<runtime::Tensor> tensors = filled_tensors(interface, workshop.row.fill);
      contender->add_set(tensors);
      contender->run(0);
      if (on_gpu) prepared.facts["command"] = contender->choose();
      contender->clear_sets();
    });
    if (!on_gpu)
      prepared.facts["command"] =
          "in a Python process of its own, each execution a call from Python";
    prepared.contender = std::move(contender);
  } catch (const NoAnswer& answer) {
    prepared.status = answer.kind;
    prepared.reason = "peer:" + peer + ": " + answer.what();
  } catch (const UserError& e) {
    if (e.status() != ExitStatus::Unsupported) throw;
    prepared.status = "absent";
    prepared.reason = "peer:" + peer + ": " + e.what();
  }
  return prepared;
}

}  // namespace polyte::lab
