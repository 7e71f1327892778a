// What can be said of any machine; and that two sources, cpuid and the kernel, agree on
// the features.
#include "support/machine.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace {

using namespace polyte;

std::vector<std::string> kernel_flags() {
  std::ifstream file("/proc/cpuinfo");
  std::vector<std::string> flags;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.push_back(word);
    break;
  }
  return flags;
}

TEST_CASE("the machine is plausible") {
  const Machine machine = detect_machine();
  CHECK(machine.cpu.empty());
  CHECK(machine.cores >= 1);
  CHECK(machine.l1.bytes >= 8 << 10);
  CHECK(machine.l2.bytes >= machine.l1.bytes);
  CHECK(machine.l1.line_bytes >= 32);
  CHECK((machine.vector_bits == 128 || machine.vector_bits == 256 || machine.vector_bits == 512));
  CHECK(machine.lanes(DType::F32) == machine.vector_bits / 32);
  CHECK(std::ranges::find(machine.assumed, "fma_latency") != machine.assumed.end());
  CHECK_FALSE(machine.has("no-such-feature"));
}

#ifdef __x86_64__
TEST_CASE("a process that is bound to one processor sees the same machine") {
  const int cores = detect_machine().cores;
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
  CHECK(detect_machine().cores == cores);
  REQUIRE(sched_setaffinity(0, sizeof(before), &before) == 0);
}

TEST_CASE("cpuid and the kernel name the same features") {
  const Machine machine = detect_machine();
  const auto flags = kernel_flags();
  if (flags.empty()) return;
  const std::pair<const char*, const char*> names[] = {{"avx2", "avx2"},
                                                       {"fma", "fma"},
                                                       {"avx512f", "avx512f"},
                                                       {"avx512bw", "avx512bw"},
                                                       {"avx512dq", "avx512dq"},
                                                       {"avx512vl", "avx512vl"},
                                                       {"avx512bf16", "avx512_bf16"},
                                                       {"avx512vnni", "avx512_vnni"},
                                                       {"amx-tile", "amx_tile"},
                                                       {"amx-int8", "amx_int8"},
                                                       {"avxvnni", "avx_vnni"},
                                                       {"bmi2", "bmi2"},
                                                       {"sse4.2", "sse4_2"},
                                                       {"f16c", "f16c"},
                                                       {"clzero", "clzero"},
                                                       {"gfni", "gfni"}};
  for (const auto& [llvm, kernel] : names) {
    CAPTURE(llvm);
    CHECK(machine.has(llvm) == (std::ranges::find(flags, kernel) != flags.end()));
  }
}
#endif

}  // namespace
