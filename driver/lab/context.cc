#include "driver/lab/context.h"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): getloadavg
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "bench/peak.h"
#include "driver/lab/device.h"
#include "driver/lab/peers.h"
#include "driver/lab/python_peer.h"
#include "runtime/artifact.h"
#include "runtime/file.h"
#include "support/caches.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// Of all our code that this process has loaded: the binary, and the module that generates code.
std::string digest_of_binary() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at != std::string::npos && line.find("polyte", line.rfind('/')) != std::string::npos)
      files.insert(line.substr(at));
  }
  std::string digests;
  for (const std::string& path : files) try {
      runtime::FileContent file(path);
      digests += runtime::digest_of(file.all());
    } catch (const std::exception&) {  // replaced since it was started
      digests += "gone";
    }
  return runtime::digest_of(runtime::as_bytes(digests));
}

// Tells machines apart without naming them: that of two nodes with one kind of processor is
// another, and so is that of two kinds of GPU in one.
std::string machine_id(const utsname& system, const std::string& gpu) {
  std::string name;
  std::ifstream file("/etc/machine-id");
  if (!std::getline(file, name) || name.empty()) name = system.nodename;
  return runtime::digest_of(runtime::as_bytes("polyte lab machine " + name + gpu)).substr(0, 12);
}

Json machine_json(const Machine& machine, const runtime::CudaDevice* gpu) {
  utsname system{};
  uname(&system);
  const SharedCache last = detect_last_cache();
  Json json{{"model", machine.model_name},
            {"cpu", machine.cpu},
            {"processors", std::thread::hardware_concurrency()},
            {"l1", machine.l1.bytes},
            {"l2", machine.l2.bytes},
            {"l3", last.bytes},
            {"l3_sharers", last.sharers},
            {"vector_bits", machine.vector_bits},
            {"features", machine.features},
            {"system", std::string(system.sysname) + " " + system.release + " " + system.machine},
            {"id", machine_id(system, gpu ? gpu->name() : "")}};
  if (gpu) json["gpu"] = describe_device(*gpu);
  return json;
}

// Versions of the plan's peers, and of the compiler whose outputs all others are held to.
Json compilers_json(const Plan& plan) {
  Json json = Json::object();
  std::vector<std::string> libraries;
  for (const PlannedArm& arm : plan.arms) {
    if (arm.spec.kind != ArmSpec::Kind::Peer) continue;
    if (is_python_peer(arm.spec.what)) {
      libraries.push_back(arm.spec.what);
      continue;
    }
    const Compiler compiler = find_compiler(arm.spec.what);
    json[arm.spec.what] = compiler.path.empty() ? Json("not installed") : Json(compiler.version);
  }
  for (const auto& [name, version] : versions_of_libraries(libraries, plan.is_on_gpu()))
    json[name] = version;
  const Compiler strict = find_compiler("strict");
  json["reference"] = strict.path.empty() ? Json("not installed") : Json(strict.version);
  return json;
}

// Bytes a second of a copy that is larger than the last cache, by so many threads: the slope of a
// roofline. Each byte counts twice, read and written, as STREAM counts them; that a store may first
// load its line does not. The first copy, which touches the pages, is not timed. About 0.2 s.
double measure_bandwidth(int threads) {
  // Four times the last cache, so that the copy streams from memory; 64 to 256 MiB.
  const std::int64_t most = std::int64_t{256} << 20;
  const auto bytes = static_cast<std::size_t>(
      std::clamp(4 * detect_last_cache().bytes, std::int64_t{64} << 20, most) / 8 * 8);
  std::vector<double> from(bytes / 8, 1.0), to(bytes / 8, 0.0);
  const auto copy_all = [&] {
    std::vector<std::thread> workers;
    const std::size_t share = from.size() / static_cast<std::size_t>(threads);
    for (int t = 0; t < threads; ++t)
      // Each thread copies a part of its own.
      workers.emplace_back([&, at = share * static_cast<std::size_t>(t)] {
        std::memcpy(to.data() + at, from.data() + at, share * sizeof(double));
      });
    for (std::thread& worker : workers) worker.join();
  };
  copy_all();
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const auto start = Clock::now();
    copy_all();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, 2.0 * static_cast<double>(bytes) / std::max(seconds, 1e-9));
  }
  return best;
}

// A GPU's copy is measured on it; its operations are what its rates allow, row by row (worker.cc).
Json device_ceilings(DeviceClock& clock) {
  return {{"bytes_a_second_by_threads", {{"1", clock.copy_rate()}}}};
}

Json ceilings_json(const Plan& plan, const Machine& machine) {
  std::set<int> threads;
  for (const Row& row : plan.rows) threads.insert(row.threads);
  Json bandwidth = Json::object();
  for (const int count : threads) bandwidth[std::to_string(count)] = measure_bandwidth(count);
  return {{"flops_a_second_a_thread",
           {{"f32", bench::measure_peak(machine, DType::F32)},
            {"f64", bench::measure_peak(machine, DType::F64)}}},
          {"bytes_a_second_by_threads", bandwidth}};
}

}  // namespace

// Ceilings are measured at the beginning of a run, with each number of threads that a row has.
Json make_context(const Plan& plan) {
  const codegen::Target target = target_of(plan);
  const std::shared_ptr<DeviceClock> device = open_device(target);
  const Machine host = device ? codegen::detect_host().machine : target.machine;
  double load = -1;
  getloadavg(&load, 1);
  return {{"kind", "context"},
          {"date", now_utc()},
          {"machine", machine_json(host, device ? device->device().get() : nullptr)},
          {"polyte", {{"version", "0.1.0"}, {"digest", digest_of_binary()}}},
          {"compilers", compilers_json(plan)},
          {"ceilings", device ? device_ceilings(*device) : ceilings_json(plan, host)},
          {"load", load},
          {"seed", plan.seed}};
}

}  // namespace polyte::lab
