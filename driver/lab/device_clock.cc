#include "driver/lab/device_clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace polyte::lab {
namespace {

using Clock = std::chrono::steady_clock;
// A driver holds about a thousand calls before it makes their caller wait.
constexpr std::int64_t kPiece = 64;
constexpr double kMostWrites = 200;  // before a piece

}  // namespace

DeviceClock::DeviceClock(runtime::CudaDevicePtr device, std::int64_t l2_bytes)
    : device_(std::move(device)), l2_bytes_(std::max<std::int64_t>(l2_bytes / 4 * 4, 4)) {
  const runtime::CudaCurrent current(*device_);
  stream_ = runtime::make_cuda_stream(device_);
  begin_ = runtime::make_cuda_event(device_, runtime::CudaEventKind::Time);
  end_ = runtime::make_cuda_event(device_, runtime::CudaEventKind::Time);
  written_ =
      runtime::make_cuda_memory(device_, written_bytes(), "what is written between executions");
  for (int i = 0; i < 3; ++i) {  // the first is a driver's, too
    cuda().event_record(begin_.get(), stream());
    write();
    cuda().event_record(end_.get(), stream());
    write_ns_ = elapsed();
  }
}

void DeviceClock::write() const {
  cuda().set_words(written_.get(), 0, static_cast<std::size_t>(written_bytes() / 4), stream());
}

// From one event to the other, once the device has come so far.
double DeviceClock::elapsed() const {
  float milliseconds = 0;
  cuda().event_synchronize(end_.get());
  cuda().event_elapsed_time(&milliseconds, begin_.get(), end_.get());
  return static_cast<double>(milliseconds) * 1e6;
}

// A GPU runs what is queued. Where it is faster than the host queues, the time between two events
// would be the host's. So the device is first kept busy by writes for as long as the host needs to
// queue the piece:
//
//   host    write..  start  begin  start start .. start  end
//   device  write write write write ....  start |begin start start .. start end|
//
// One execution is not timed, for it finds the caches as the writes left them.
double DeviceClock::piece(std::int64_t executions, const Start& start) {
  const double needed = start_ns_ * static_cast<double>(executions) / std::max(write_ns_, 1e3);
  const auto writes = static_cast<int>(std::clamp(std::ceil(needed), 1.0, kMostWrites));
  for (int i = 0; i < writes; ++i) write();
  start();
  const auto before = Clock::now();
  cuda().event_record(begin_.get(), stream());
  for (std::int64_t i = 0; i < executions; ++i) start();
  cuda().event_record(end_.get(), stream());
  const double spent = std::chrono::duration<double, std::nano>(Clock::now() - before).count();
  start_ns_ = spent / static_cast<double>(executions);
  return elapsed();
}

double DeviceClock::nanoseconds_of(std::int64_t executions, const Start& start) {
  const runtime::CudaCurrent current(*device_);
  double total = 0;
  for (std::int64_t left = executions; left > 0; left -= kPiece)
    total += piece(std::min(left, kPiece), start);
  return total;
}

double DeviceClock::cold_nanoseconds_of(std::int64_t executions, const Start& start) {
  const runtime::CudaCurrent current(*device_);
  double total = 0;
  for (std::int64_t i = 0; i < executions; ++i) {
    write();
    cuda().event_record(begin_.get(), stream());
    start();
    cuda().event_record(end_.get(), stream());
    total += elapsed();
  }
  return total;
}

// Of a copy 8 times as large as the L2: bytes read and written a second, of five the best.
double DeviceClock::copy_rate() {
  const runtime::CudaCurrent current(*device_);
  const auto bytes = static_cast<std::size_t>(8 * l2_bytes_);
  const auto from = runtime::make_cuda_memory(device_, 8 * l2_bytes_, "a copy");
  const auto to = runtime::make_cuda_memory(device_, 8 * l2_bytes_, "a copy");
  cuda().set_words(from.get(), 1, bytes / 4, stream());
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    cuda().event_record(begin_.get(), stream());
    cuda().copy_on_device(to.get(), from.get(), bytes, stream());
    cuda().event_record(end_.get(), stream());
    best = std::max(best, 2e9 * static_cast<double>(bytes) / std::max(elapsed(), 1.0));
  }
  return best;
}

}  // namespace polyte::lab
