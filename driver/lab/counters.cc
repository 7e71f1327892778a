#include "driver/lab/counters.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace polyte::lab {
namespace {

// Of this thread in user mode, on any processor. Counting the kernel, too, would need privileges
// that a user of a common distribution does not have (perf_event_paranoid).
int open_event(std::uint64_t event) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = event;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.inherit = 1;  // of threads that are begun from here on
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

Counters::Counters() {
  constexpr std::pair<const char*, std::uint64_t> kEvents[] = {
      {"instructions", PERF_COUNT_HW_INSTRUCTIONS},
      {"cycles", PERF_COUNT_HW_CPU_CYCLES},
      {"cache_misses", PERF_COUNT_HW_CACHE_MISSES}};
  // A virtual machine may lack one event alone: the first problem is kept, and counts only where
  // there is no event at all.
  for (const auto& [name, event] : kEvents) {
    const int file = open_event(event);
    if (file >= 0)
      events_[name] = file;
    else if (problem_.empty())
      problem_ =
          std::string("perf_event_open: ") + std::strerror(errno);  // NOLINT(concurrency-mt-unsafe)
  }
  if (!events_.empty()) problem_.clear();
}

Counters::~Counters() {
  for (const auto& [name, file] : events_) close(file);
}

std::map<std::string, double> Counters::count(const std::function<void()>& f,
                                              std::int64_t executions) {
  for (const auto& [name, file] : events_) {
    ioctl(file, PERF_EVENT_IOC_RESET, 0);
    ioctl(file, PERF_EVENT_IOC_ENABLE, 0);
  }
  for (std::int64_t i = 0; i < executions; ++i) f();
  std::map<std::string, double> counts;
  // All are stopped before the first is read: reading would be counted by the others.
  for (const auto& [name, file] : events_) ioctl(file, PERF_EVENT_IOC_DISABLE, 0);
  for (const auto& [name, file] : events_) {
    std::uint64_t value = 0;
    if (read(file, &value, sizeof value) == sizeof value)
      counts[name] = static_cast<double>(value) / static_cast<double>(executions);
  }
  return counts;
}

}  // namespace polyte::lab
