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

const std::vector<std::string>& names() {
  static const std::vector<std::string> kNames{"numpy",       "torch",    "torch-compile", "xla",
                                               "onnxruntime", "openvino", "onednn"};
  return kNames;
}

// An answer that is none.
struct NoAnswer : UserError {
  NoAnswer(std::string which, const std::string& reason)
      : UserError(ExitStatus::Unsupported, reason), kind(std::move(which)) {}
  std::string kind;  // absent, declined, failed
};

class PythonContender : public Contender {
 public:
  PythonContender(const PythonHome& home, const Interface& interface) : interface_(interface), worker_(home) {}

  // The library's version. NoAnswer where it cannot be had.
  std::string begin(const std::string& peer, int threads, Json what) {
    what["do"] = "begin";
    what["peer"] = peer;
    what["threads"] = threads;
    return ask(what).value("version", "");
  }

  void add_set(std::span<runtime::Tensor> tensors) override {
    Set set{tensors, {}};
    Json order{{"do", "set"}, {"tensors", Json::array()}};
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      set.places.push_back(used_);
      order["tensors"].push_back({{"name", interface_[i].name},
                                  {"dtype", std::string(to_string(interface_[i].dtype))},
                                  {"shape", interface_[i].shape},
                                  {"at", used_}});
      worker_.write(used_, tensors[i].raw());
      used_ = (used_ + tensors[i].bytes() + 2 * kAlignment - 1) / kAlignment * kAlignment;
    }
    worker_.write(used_, std::vector<std::byte>(kAlignment));
    ask(order);
    sets_.push_back(std::move(set));
  }

  void clear_sets() override {
    ask({{"do", "clear"}});
    sets_.clear();
    used_ = 0;
  }

  void run(std::size_t set) override {
    ask({{"do", "run"}, {"set", set}});
    for (std::size_t i = 0; i < interface_.size(); ++i)
      if (interface_[i].is_written()) worker_.read(sets_[set].places[i], sets_[set].tensors[i].raw());
  }

  std::optional<double> timed(std::int64_t executions, std::int64_t evict) override {
    return ask({{"do", "time"}, {"executions", executions}, {"evict", evict}}).at("ns").get<double>();
  }

 private:
  struct Set {
    std::span<runtime::Tensor> tensors;
    std::vector<std::int64_t> places;
  };
  Interface interface_;
  PythonWorker worker_;
  std::vector<Set> sets_;
  std::int64_t used_ = 0;

  Json ask(const Json& order) {
    Json answer = worker_.ask(order);
    for (const char* status : {"absent", "declined", "failed"})
      if (answer.contains(status))
        throw NoAnswer{status, answer[status].is_string() ? answer[status].get<std::string>() : ""};
    return answer;
  }
};

}  // namespace

bool is_python_peer(const std::string& name) { return std::ranges::find(names(), name) != names().end(); }

std::map<std::string, std::string> versions_of_libraries(const std::vector<std::string>& asked) {
  std::map<std::string, std::string> versions;
  if (asked.empty()) return versions;
  try {
    std::vector<std::string> words{"probe"};
    words.insert(words.end(), asked.begin(), asked.end());
    run_child(python_command(find_python(), words), "", 300, [&](const std::string& line) {
      const Json json = Json::parse(line, nullptr, false);
      if (!json.is_object()) return;
      for (const auto& [name, found] : json.items())
        versions[name] =
            found.contains("version") ? found.value("version", "") : "not there: " + found.value("absent", "");
    });
  } catch (const UserError& e) {
    for (const std::string& name : asked) versions[name] = e.what();
  }
  for (const std::string& name : asked) versions.try_emplace(name, "not known: the process that was asked has ended");
  return versions;
}

Prepared by_python(const Workshop& workshop, const std::string& peer, Json what, const Interface& interface) {
  Prepared prepared;
  prepared.interface = interface;
  try {
    auto contender = std::make_unique<PythonContender>(find_python(), interface);
    prepared.facts["compile_ms"]["all"] = milliseconds_of([&] {
      prepared.facts["compiler"] = contender->begin(peer, workshop.row.threads, std::move(what));
      // Libraries compile for tensors that they have seen.
      std::vector<runtime::Tensor> tensors = filled_tensors(interface, workshop.row.fill);
      contender->add_set(tensors);
      contender->run(0);
      contender->clear_sets();
    });
    prepared.facts["command"] = "in a Python process of its own, each execution a call from Python";
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
