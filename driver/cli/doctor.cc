// polyte doctor: what was found on this machine, measured or assumed. polyte options:
// the compiler's switches.
#include <nlohmann/json.hpp>

#include <iostream>

#include "bench/peak.h"
#include "codegen/nvptx/assembler.h"
#include "driver/cli/model_options.h"
#include "driver/cli/output_files.h"
#include "driver/compile/machine_file.h"
#include "lower/lower.h"
#include "runtime/cuda_machine.h"
#include "support/caches.h"

namespace polyte::cli {
namespace {

// l3 is the whole cache; l3_a_core is the share that schedules count on.
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

// The GPU's driver and device, and the tools that make code for it; why not where there is none.
nlohmann::json describe_gpu(const runtime::CudaOptions& options) {
  nlohmann::json json{{"ptxas", codegen::assembler_path(codegen::Assembler::Program)},
                      {"nvjitlink", codegen::assembler_path(codegen::Assembler::Library)}};
  try {
    const auto device = runtime::CudaDevice::open(options);
    json["driver"] = device->driver().version();
    json["device"] = device->name();
    json["compute_capability"] = device->compute_capability();
    json["memory_bytes"] = device->memory_bytes();
    json["multiprocessors"] = device->attribute(runtime::CudaAttribute::Multiprocessors);
  } catch (const UserError& error) {
    json["problem"] = error.problems().front();
  }
  return json;
}

void print_gpu(const nlohmann::json& gpu) {
  if (gpu.contains("device")) {
    const int capability = gpu["compute_capability"].get<int>();
    std::printf(
        "GPU              %s, compute capability %d.%d, %d multiprocessors, %.1f GB, driver of "
        "CUDA %s\n",
        gpu["device"].get<std::string>().c_str(), capability / 10, capability % 10,
        gpu["multiprocessors"].get<int>(), gpu["memory_bytes"].get<double>() / 1e9,
        gpu["driver"].get<std::string>().c_str());
  } else {
    std::printf("GPU              %s\n", gpu["problem"].get<std::string>().c_str());
  }
  const auto ptxas = gpu["ptxas"].get<std::string>();
  const auto library = gpu["nvjitlink"].get<std::string>();
  if (!ptxas.empty())
    std::printf("assembler        %s\n", ptxas.c_str());
  else if (!library.empty())
    std::printf("assembler        no ptxas: %s takes its place\n", library.c_str());
  else
    std::printf("assembler        no ptxas, no libnvJitLink: a GPU's code stays PTX\n");
}

// What is known of the GPU that is here, for compiling where there is none.
void write_machine_file(const std::string& path, const runtime::CudaOptions& options) {
  check_output_file("--machine-file " + path, path, {});
  write_file(path,
             driver::machine_to_json(runtime::machine_of(*runtime::CudaDevice::open(options))));
}

// Peaks are measured now, one thread, so that the figures are this machine's and not a table's.
void print_doctor(bool as_json, const runtime::CudaOptions& options) {
  const Machine machine = codegen::detect_host().machine;
  nlohmann::json json = describe(machine);
  json["gpu"] = describe_gpu(options);
  json["peak_f32_flops"] = bench::measure_peak(machine, DType::F32);
  json["peak_f64_flops"] = bench::measure_peak(machine, DType::F64);
  if (as_json) {
    std::cout << json.dump(2) << "\n";
    return;
  }
  std::printf("processor        %s (%s), %d core%s\n", machine.model_name.c_str(),
              machine.cpu.c_str(), machine.cores, machine.cores == 1 ? "" : "s");
  std::printf("vectors          %d bits, %d registers, %d FMA a cycle, latency %d\n",
              machine.vector_bits, machine.vector_registers, machine.fma_per_cycle,
              machine.fma_latency);
  const auto kib = [](std::int64_t bytes) { return static_cast<long long>(bytes / 1024); };
  const SharedCache last = detect_last_cache();
  std::printf(
      "caches           L1 %lld KiB, L2 %lld KiB, L3 %lld KiB shared by %d (a core counts on %lld "
      "KiB)\n",
      kib(machine.l1.bytes), kib(machine.l2.bytes), kib(last.bytes), last.sharers,
      kib(machine.l3.bytes));
  std::printf("peak, measured   f32 %.1f GF/s, f64 %.1f GF/s, one thread\n",
              json["peak_f32_flops"].get<double>() / 1e9,
              json["peak_f64_flops"].get<double>() / 1e9);
  std::printf("assumed         ");
  for (const std::string& fact : machine.assumed) std::printf(" %s", fact.c_str());
  std::printf("\n");
  print_gpu(json["gpu"]);
}

// The verbs' own list, so that it cannot lack one.
void print_options(const Verb& app, bool as_json) {
  const std::vector<std::string> passes = lower::pass_names();
  if (as_json) {
    nlohmann::json switches = nlohmann::json::array();
    for (const Verb::Switch& one : app.switches())
      switches.push_back({{"verb", one.verb}, {"switch", one.names}, {"help", one.help}});
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
  for (const Verb::Switch& one : app.switches()) {
    if (one.verb != last) std::printf("%s\n", one.verb.c_str());
    last = one.verb;
    std::printf("  %-20s  %s\n", one.names.c_str(), one.help.c_str());
  }
}

}  // namespace

void add_doctor(const Verb& app) {
  const Verb verb = app.verb("doctor", "what was found on this machine");
  struct Options {
    bool json = false;
    std::string machine_file;
    runtime::CudaOptions cuda;
  };
  auto options = std::make_shared<Options>();
  verb.flag("--json", options->json, "as JSON");
  verb.option("--machine-file", options->machine_file,
              "write what is known of the GPU to this file, for --target cuda:FILE.json elsewhere");
  add_device_options(verb, options->cuda);
  verb.example("polyte doctor --json");
  verb.calls([options] {
    if (!options->machine_file.empty()) write_machine_file(options->machine_file, options->cuda);
    print_doctor(options->json, options->cuda);
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
