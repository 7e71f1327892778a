#include "driver/lab/record.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "runtime/file.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Far deeper than records of a run.
constexpr std::size_t kMostDepth = 64;

// The size is asked before the file is read: a folder of results may be a stranger's.
std::string text_of(const std::string& path, std::uintmax_t limit) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error) throw UserError(ExitStatus::InvalidInput, path + ": cannot be read");
  if (bytes > limit)
    throw UserError(ExitStatus::ResourceLimit,
                    path + ": more than " + std::to_string(limit >> 20U) + " MiB");
  runtime::FileContent file(path);
  const runtime::Bytes content = file.all();
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

// Hostile nesting would end the stack of the parser, which recurses; brackets within strings do not
// count.
bool is_deep(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] == '\\') ++i;
      quoted = i >= text.size() || text[i] != '"';
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == '[' || text[i] == '{') {
      if (++depth > kMostDepth) return true;
    } else if ((text[i] == ']' || text[i] == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

// All attempts of all processes, also those that were cut off.
class Reader {
 public:
  Reader(const Plan& plan, std::string origin) : origin_(std::move(origin)) {
    records_.rows.resize(plan.rows.size());
  }

  // A line that is no JSON was cut off, and is dropped; JSON that is no record is an error.
  void line(std::string_view text, std::size_t number) {
    const Json json =
        is_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
    if (json.is_discarded() || !json.is_object()) {
      ++records_.dropped;
      return;
    }
    try {
      take(json);
    } catch (const nlohmann::json::exception& e) {
      throw UserError(ExitStatus::InvalidInput, origin_ + ":" + std::to_string(number) +
                                                    ": not a record of a run: " + words_of(e));
    }
  }

  // Of several complete attempts of one process the last one counts.
  Records finish() {
    for (auto& [key, process] : open_)
      if (process.complete) {
        auto& kept = records_.rows[key.row].processes[process.process];
        if (!kept.complete || kept.attempt < process.attempt) kept = std::move(process);
      }
    return std::move(records_);
  }

 private:
  struct Key {
    std::size_t row;
    int process, attempt;
    auto operator<=>(const Key&) const = default;
  };
  std::string origin_;
  Records records_;
  std::map<Key, ProcessRecord> open_;

  void take(const Json& json) {
    const std::string kind = json.at("kind");
    if (kind == "context") {
      static_cast<void>(json.at("polyte"));  // the build, by which contexts are compared
      return records_.contexts.push_back(json);
    }
    const std::size_t row = json.at("row");
    if (row >= records_.rows.size())
      throw UserError(ExitStatus::InvalidInput, origin_ + ": a record of row " +
                                                    std::to_string(row) + ", the plan has " +
                                                    std::to_string(records_.rows.size()));
    RowRecord& of = records_.rows[row];
    if (kind == "row") return static_cast<void>(of.why = json.at("why").get<std::string>());
    if (kind == "crash")
      return static_cast<void>(of.crashed[json.at("arm")] = json.at("reason").get<std::string>());
    const Key key{row, json.at("process"), json.at("attempt")};
    of.attempts = std::max(of.attempts, key.attempt + 1);
    // Records of several workers may be interleaved, so each attempt collects its own.
    const auto [found, is_new] = open_.try_emplace(key);
    ProcessRecord& process = found->second;
    if (is_new) process.context = records_.contexts.empty() ? 0 : records_.contexts.size() - 1;
    process.process = key.process;
    process.attempt = key.attempt;
    if (kind == "arm")
      process.arms.push_back({json.at("arm"), json.at("status"), json.value("reason", ""), json});
    else if (kind == "round")
      process.rounds.push_back(round_of(json));
    else if (kind == "process")
      process.complete = true, process.end = json;
  }

  static RoundRecord round_of(const Json& json) {
    RoundRecord round{json.at("round"), {}};
    for (const Json& sample : json.at("samples"))
      round.samples.push_back({sample.at(0), sample.at(1), sample.at(2)});
    return round;
  }
};

}  // namespace

const ArmRecord* ProcessRecord::arm(const std::string& name) const {
  const auto found = std::ranges::find(arms, name, &ArmRecord::arm);
  return found == arms.end() ? nullptr : &*found;
}

// One list per process also where the arm has none: place p is the same process for all arms, by
// which paired_ratio pairs them.
Samples RowRecord::samples(const std::string& arm) const {
  Samples result;
  for (const auto& [number, process] : processes) {
    std::vector<double> own;
    for (const RoundRecord& round : process.rounds)
      for (const RoundRecord::Sample& sample : round.samples)
        if (sample.arm == arm) own.push_back(sample.nanoseconds);
    result.push_back(std::move(own));
  }
  return result;
}

Records parse_records(std::string_view text, const Plan& plan, const std::string& origin) {
  Reader reader(plan, origin);
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ++number;
    if (end == 0) {
      text.remove_prefix(1);
      continue;
    }
    // A last line without an end was cut off, also where what is there happens to be an object.
    reader.line(end == std::string_view::npos ? "" : text.substr(0, end), number);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return reader.finish();
}

Plan parse_plan(std::string_view text, const std::string& origin) {
  const Json json =
      is_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw UserError(ExitStatus::InvalidInput, origin + ": not JSON");
  return plan_from_json(json, origin);
}

Plan read_plan(const std::string& folder) {
  const std::string path = folder + "/plan.json";
  if (!fs::exists(path))
    throw UserError(ExitStatus::InvalidInput,
                    folder + ": not a result folder of polyte lab run: no plan.json");
  return parse_plan(text_of(path, std::uintmax_t{256} << 20U), path);
}

Records read_records(const std::string& folder, const Plan& plan) {
  const std::string path = folder + "/samples.jsonl";
  if (!fs::exists(path)) return parse_records("", plan, path);
  return parse_records(text_of(path, std::uintmax_t{4} << 30U), plan, path);
}

// By its id where there is one; records without are told apart by all they know of the machine.
std::string machine_of(const Json& context) {
  const auto found = context.find("machine");
  if (found == context.end() || !found->is_object()) return "";
  const auto id = found->find("id");
  if (id != found->end() && id->is_string()) return id->get<std::string>();
  Json known = *found;
  known.erase("system");  // a kernel that was updated is still this machine
  return known.dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

// "NVIDIA H100 80GB HBM3 (9.0), 132 multiprocessors, 79.1 GiB, driver 570.86, CUDA 12.8".
std::string gpu_words(const Json& gpu) {
  if (!gpu.is_object()) return "unknown GPU";
  const auto text = [&](const char* key) {
    return gpu.contains(key) && gpu[key].is_string() ? gpu[key].get<std::string>() : "";
  };
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, "%.0f multiprocessors, %.1f GiB",
                number_at(gpu, "multiprocessors"), number_at(gpu, "memory_bytes") / (1 << 30));
  std::string words = text("name") + " (" + text("compute_capability") + "), " + numbers;
  if (const double clock = number_at(gpu, "clock_mhz"); clock > 0) {
    std::snprintf(numbers, sizeof numbers, ", at %.0f of %.0f MHz when it began", clock,
                  number_at(gpu, "most_clock_mhz"));
    words += numbers;
  }
  if (!text("driver").empty()) words += ", driver " + text("driver");
  return words + ", CUDA " + text("cuda");
}

}  // namespace

std::string machine_words(const Json& context) {
  const auto member = [&](const char* name) -> std::string {
    const auto found = context.find("machine");
    if (found == context.end() || !found->is_object() || !found->contains(name)) return "unknown";
    const Json& value = (*found)[name];
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  std::string processor =
      member("model") + " (" + member("cpu") + "), " + member("processors") + " processors";
  const auto machine = context.find("machine");
  if (machine == context.end() || !machine->is_object() || !machine->contains("gpu"))
    return processor;
  return gpu_words((*machine)["gpu"]) + "; " + processor;
}

double number_at(const nlohmann::ordered_json& object, const char* key) {
  if (!object.is_object()) return 0;
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace polyte::lab
