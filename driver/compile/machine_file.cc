#include "driver/compile/machine_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

#include "support/error.h"
#include "support/gpu_machines.h"

namespace polyte::driver {
namespace {

using Json = nlohmann::ordered_json;

// The numbers of a Gpu: one table for both ways.
template <class G, class F>
void for_each_number(G& gpu, F f) {
  f("compute_capability", gpu.compute_capability);
  f("multiprocessors", gpu.multiprocessors);
  f("threads_a_multiprocessor", gpu.threads_a_multiprocessor);
  f("registers_a_multiprocessor", gpu.registers_a_multiprocessor);
  f("registers_a_thread", gpu.registers_a_thread);
  f("threads_a_block", gpu.threads_a_block);
  f("shared_block_bytes", gpu.shared_block_bytes);
  f("shared_multiprocessor_bytes", gpu.shared_multiprocessor_bytes);
  f("l2_bytes", gpu.l2_bytes);
  f("clock_ghz", gpu.clock_ghz);
  f("memory_gb_a_second", gpu.memory_gb_a_second);
  f("f32_fma_a_cycle", gpu.f32_fma_a_cycle);
  f("bf16_tensor_fma_a_cycle", gpu.bf16_tensor_fma_a_cycle);
}

// Far above any machine, and exact as a double: what is read fits all the fields.
constexpr double kMost = 1e15;

class Reader {
 public:
  Reader(const std::string& path, Json json) : path_(path), json_(std::move(json)) {}

  Machine read() {
    Gpu gpu;
    gpu.specific = take(
                       "specific", [](const Json& v) { return v.is_boolean(); }, "true or false")
                       .value_or(false);
    // The generic lambda knows the field's type: int, int64 or double.
    for_each_number(gpu, [&]<class T>(const char* key, T& value) {
      const auto fits = [](const Json& v) {
        return (std::is_floating_point_v<T> ? v.is_number() : v.is_number_integer()) &&
               v.get<double>() > 0 && v.get<double>() < (std::is_same_v<T, int> ? 2e9 : kMost);
      };
      if (const auto found = take(
              key, fits, std::is_integral_v<T> ? "a whole number above 0" : "a number above 0"))
        value = found->template get<T>();
    });
    const auto is_text = [](const Json& v) { return v.is_string(); };
    const auto name = take("name", is_text, "text"), model = take("model", is_text, "text");
    const auto is_list = [](const Json& v) {
      return v.is_array() &&
             std::ranges::all_of(v, [](const Json& one) { return one.is_string(); });
    };
    const auto assumed = take("assumed", is_list, "a list of texts");
    // Whatever nobody has taken.
    for (const auto& [key, value] : json_.items())
      problems_.push_back("'" + key + "' is not known");
    if (!problems_.empty()) refuse();
    Machine machine = machine_of_gpu(gpu);
    machine.cpu = name->get<std::string>();
    machine.model_name = model->get<std::string>();
    machine.assumed = assumed->get<std::vector<std::string>>();
    return machine;
  }

 private:
  const std::string& path_;
  Json json_;
  std::vector<std::string> problems_;

  // What is taken goes out of the object; what is left at the end is not known.
  template <class Fits>
  std::optional<Json> take(const std::string& key, Fits fits, const std::string& expected) {
    const auto found = json_.find(key);
    if (found == json_.end() || !fits(*found)) {
      problems_.push_back("'" + key + "' is " + (found == json_.end() ? "missing" : found->dump()) +
                          ", expected " + expected);
      if (found != json_.end()) json_.erase(found);
      return std::nullopt;
    }
    Json value = *found;
    json_.erase(found);
    return value;
  }

  [[noreturn]] void refuse() {
    for (std::string& problem : problems_) problem = path_ + ": " + problem;
    throw UserError(ExitStatus::InvalidInput, problems_);
  }
};

}  // namespace

std::string machine_to_json(const Machine& machine) {
  Json json{
      {"name", machine.cpu}, {"model", machine.model_name}, {"specific", machine.gpu->specific}};
  for_each_number(*machine.gpu, [&](const char* key, const auto& value) { json[key] = value; });
  json["assumed"] = machine.assumed;
  return json.dump(2) + "\n";
}

Machine machine_from_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UserError(ExitStatus::InvalidInput, path + ": cannot be read");
  Json json = Json::parse(file, nullptr, false);
  if (!json.is_object())
    throw UserError(ExitStatus::InvalidInput,
                    path + ": expected a JSON object (polyte doctor --machine-file)");
  return Reader(path, std::move(json)).read();
}

}  // namespace polyte::driver
