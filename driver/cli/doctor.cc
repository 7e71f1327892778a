// polyte doctor: what was found on this machine, measured or assumed. polyte options: the compiler's switches.
#include <nlohmann/json.hpp>

#include <iostream>

#include "bench/peak.h"
#include "driver/cli/cli.h"
#include "lower/lower.h"
#include "support/caches.h"

namespace polyte::cli {
namespace {

nlohmann::json describe(const Machine& machine) {
  nlohmann::json json{{"model", machine.model_name},
                      {"cpu", machine.cpu},
                      {"cores", machine.cores},
                      {"vector_bits", machine.vector_bits},
                      {"vector_registers", machine.vector_registers},
                      {"fma_per_cycle", machine.fma_per_cycle},
                      {"fma_latency", machine.fma_latency}};
  json["l1"] = machine.l1.bytes;
  json["l2"] = machine.l2.bytes;
  const SharedCache last = detect_last_cache();
  json["l3"] = last.bytes;
  json["l3_sharers"] = last.sharers;
  json["l3_a_core"] = machine.l3.bytes;
  json["assumed"] = machine.assumed;
  json["features"] = machine.features;
  return json;
}

void print_doctor(bool as_json) {
  const Machine machine = codegen::detect_host().machine;
  nlohmann::json json = describe(machine);
  json["peak_f32_flops"] = bench::measure_peak(machine, DType::F32);
  json["peak_f64_flops"] = bench::measure_peak(machine, DType::F64);
  if (as_json) {
    std::cout << json.dump(2) << "\n";
    return;
  }
  std::printf("processor        %s (%s), %d core%s\n", machine.model_name.c_str(), machine.cpu.c_str(), machine.cores,
              machine.cores == 1 ? "" : "s");
  std::printf("vectors          %d bits, %d registers, %d FMA a cycle, latency %d\n", machine.vector_bits,
              machine.vector_registers, machine.fma_per_cycle, machine.fma_latency);
  const auto kib = [](std::int64_t bytes) { return static_cast<long long>(bytes / 1024); };
  const SharedCache last = detect_last_cache();
  std::printf("caches           L1 %lld KiB, L2 %lld KiB, L3 %lld KiB shared by %d (a core counts on %lld KiB)\n",
              kib(machine.l1.bytes), kib(machine.l2.bytes), kib(last.bytes), last.sharers, kib(machine.l3.bytes));
  std::printf("peak, measured   f32 %.1f GF/s, f64 %.1f GF/s, one thread\n", json["peak_f32_flops"].get<double>() / 1e9,
              json["peak_f64_flops"].get<double>() / 1e9);
  std::printf("assumed         ");
  for (const std::string& fact : machine.assumed) std::printf(" %s", fact.c_str());
  std::printf("\n");
}

void print_options(const Verb& app, bool as_json) {
  const std::vector<std::string> passes = lower::pass_names();
  if (as_json) {
    nlohmann::json switches = nlohmann::json::array();
    for (const auto& [verb, names, help] : app.switches())
      switches.push_back({{"verb", verb}, {"switch", names}, {"help", help}});
    std::cout << nlohmann::json{{"schedulers", {"naive", "isl", "poly", "template"}},
                                {"emit", emit_kinds()},
                                {"passes", passes},
                                {"switches", switches}}
                     .dump(2)
              << "\n";
    return;
  }
  std::printf("--scheduler   naive isl poly template\n--emit       ");
  for (const std::string& kind : emit_kinds()) std::printf(" %s", kind.c_str());
  std::printf("\nloop passes, in order\n");
  for (const std::string& pass : passes) std::printf("  %s\n", pass.c_str());
  std::string last;
  for (const auto& [verb, names, help] : app.switches()) {
    if (verb != last) std::printf("%s\n", verb.c_str());
    last = verb;
    std::printf("  %-20s  %s\n", names.c_str(), help.c_str());
  }
}

}  // namespace

void add_doctor(const Verb& app) {
  const Verb verb = app.verb("doctor", "what was found on this machine");
  auto json = std::make_shared<bool>(false);
  verb.flag("--json", *json, "as JSON");
  verb.example("polyte doctor --json");
  verb.calls([json] {
    print_doctor(*json);
    return 0;
  });
}

void add_options(const Verb& app) {
  const Verb verb = app.verb("options", "the switches of the compiler");
  auto json = std::make_shared<bool>(false);
  verb.flag("--json", *json, "as JSON");
  verb.example("polyte options");
  verb.calls([json, app] {
    print_options(app, *json);
    return 0;
  });
}

}  // namespace polyte::cli
