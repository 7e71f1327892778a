#include "support/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <thread>

#include "support/caches.h"
#include "support/features.h"
#include "support/x86_features.h"

namespace polyte {
namespace {

// In a virtual machine the last cache belongs to other guests too; one core counts on no more
// than this.
constexpr std::int64_t kGuestL3Bytes = std::int64_t{4} << 20;

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "48K", "1024K", "32768K", "12"; 0 when the text is no number.
std::int64_t parse_size(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return 0;
  const char unit = end == text.data() + text.size() ? ' ' : *end;
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

// How many processors a kernel list like "0-3,8" names; at least 1.
int count_processors(const std::string& list) {
  int count = 0;
  std::size_t at = 0;
  while (at < list.size()) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string range = list.substr(at, comma - at);
    const std::size_t dash = range.find('-');
    const auto first = parse_size(range);
    const auto last = dash == std::string::npos ? first : parse_size(range.substr(dash + 1));
    count += static_cast<int>(last - first) + 1;
    at = comma + 1;
  }
  return std::max(count, 1);
}

struct FoundCache {
  Cache cache;
  int sharers = 1;
};

// Linux, Documentation/ABI/testing/sysfs-devices-system-cpu: indexN are the caches that cpu0 can
// use, in no promised order.
std::optional<FoundCache> find_cache(int level) {
  for (int index = 0; index < 16; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    if (read_line(folder + "level") != std::to_string(level)) continue;
    // The first level has two caches; higher ones hold both, "Unified".
    if (read_line(folder + "type") == "Instruction") continue;
    FoundCache found;
    found.cache.bytes = parse_size(read_line(folder + "size"));
    found.sharers = count_processors(read_line(folder + "shared_cpu_list"));
    if (found.cache.bytes <= 0) continue;
    if (const auto ways = parse_size(read_line(folder + "ways_of_associativity")); ways > 0) {
      found.cache.ways = static_cast<int>(ways);
    }
    if (const auto line = parse_size(read_line(folder + "coherency_line_size")); line > 0) {
      found.cache.line_bytes = static_cast<int>(line);
    }
    return found;
  }
  return std::nullopt;
}

void detect_caches(Machine& machine, bool hypervisor) {
  const auto fill = [&](Cache& cache, int level, std::int64_t fallback) {
    const auto found = find_cache(level);
    if (found) {
      cache = found->cache;
    } else {
      cache.bytes = fallback;
      machine.assumed.push_back("l" + std::to_string(level));
    }
    return found ? found->sharers : 1;
  };
  fill(machine.l1, 1, 32 << 10);
  fill(machine.l2, 2, 1 << 20);
  const int sharers = fill(machine.l3, 3, kGuestL3Bytes);
  // The kernel counts hardware threads that share it.
  machine.l3.bytes /= sharers;
  if (hypervisor && machine.l3.bytes > kGuestL3Bytes) {
    machine.l3.bytes = kGuestL3Bytes;
    machine.assumed.emplace_back("l3");
  }
}

std::string read_model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

// The machine's, or those that its container was given; not the affinity mask of the moment, for a
// schedule is one of the machine. The number of threads of a run is the thread pool's question.
int count_cores() {
  const std::string online = read_line("/sys/devices/system/cpu/online");
  int cores = online.empty() ? static_cast<int>(std::thread::hardware_concurrency())
                             : count_processors(online);
  for (const char* file :
       {"/sys/fs/cgroup/cpuset.cpus.effective", "/sys/fs/cgroup/cpuset/cpuset.effective_cpus"})
    if (const std::string given = read_line(file); !given.empty())
      cores = std::min(cores, count_processors(given));
  return std::max(cores, 1);
}

// Full-width vector FMAs per cycle, from the makers' optimisation manuals: cores that execute a
// 512-bit operation in two halves, and client cores with one 512-bit port, issue one.
int fma_issue(const X86Model& model, const Machine& machine) {
  if (machine.vector_bits < 512) return 2;
  if (model.vendor == "AuthenticAMD") {
    const bool zen4 = model.family == 0x19;
    const bool zen5_mobile = model.family == 0x1a && ((model.model >= 0x20 && model.model < 0x40) ||
                                                      (model.model >= 0x60 && model.model < 0x70));
    return zen4 || zen5_mobile ? 1 : 2;
  }
  // Ice Lake, Tiger Lake and Rocket Lake of the client. A virtual machine may call a server so,
  // whose instructions say what it is.
  const bool client = model.model == 0x7d || model.model == 0x7e || model.model == 0x8c ||
                      model.model == 0x8d || model.model == 0xa7;
  const bool server = machine.has("avx512bf16") || machine.has("amx-tile");
  return model.vendor == "GenuineIntel" && client && !server ? 1 : 2;
}

void detect_vectors(Machine& machine, const X86Model& model) {
  const bool wide = machine.has("avx512f") && machine.has("avx512bw") && machine.has("avx512dq") &&
                    machine.has("avx512vl");
  machine.has_fma = machine.has("fma");
  machine.vector_bits = wide ? 512 : machine.has("avx2") ? 256 : 128;
  machine.vector_registers = wide ? 32 : 16;
#ifdef __aarch64__
  machine.has_fma = true;
  machine.vector_registers = 32;
#endif
  machine.fma_per_cycle = fma_issue(model, machine);
  machine.assumed.emplace_back("fma_per_cycle");
  machine.assumed.emplace_back("fma_latency");
}

}  // namespace

bool Machine::has(const std::string& feature) const {
  return std::ranges::find(features, '+' + feature) != features.end();
}

SharedCache detect_last_cache() {
  const auto found = find_cache(3);
  return found ? SharedCache{found->cache.bytes, found->sharers} : SharedCache{};
}

Machine detect_machine() {
  Machine machine;
  const X86Model model = detect_x86_model();
  machine.features = detect_features();
  machine.model_name = read_model_name();
  machine.cores = count_cores();
  detect_vectors(machine, model);
  detect_caches(machine, model.hypervisor);
  std::ranges::sort(machine.assumed);
  return machine;
}

}  // namespace polyte
