// Times of what is put into a stream of a GPU, by the GPU's own clock (events): what
// starting it costs this processor is in none of them. bench/lab_peers/device_clock.py is the
// same for libraries.
//
//   DeviceClock clock(runtime::CudaDevice::open(), l2_bytes);
//   clock.nanoseconds_of(1000, [&] { session.run_on(inputs, outputs, clock.stream()); });
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/cuda_device.h"

namespace polyte::lab {

class DeviceClock {
 public:
  // Puts one execution into the stream, and does not wait for it.
  using Start = std::function<void()>;

  // `l2_bytes`: of the device's last cache. CudaError(ResourceLimit) where there is no memory
  // for what is written.
  DeviceClock(runtime::CudaDevicePtr device, std::int64_t l2_bytes);

  const runtime::CudaDevicePtr& device() const { return device_; }
  runtime::CudaStreamHandle stream() const { return stream_.get(); }
  std::int64_t l2_bytes() const { return l2_bytes_; }

  // Of so many executions one after the other, all together. They are put into the stream by pieces
  // while the device writes memory for as long as this processor needs for it, so that it never
  // waits for work; one that is not timed comes before each piece, and finds what that has left.
  double nanoseconds_of(std::int64_t executions, const Start& start);
  // The same, each by itself after twice the last cache was written.
  double cold_nanoseconds_of(std::int64_t executions, const Start& start);
  // Bytes per second, read and written, of a copy on the device that is larger than its last cache.
  double copy_rate();

 private:
  runtime::CudaDevicePtr device_;
  runtime::CudaStream stream_;
  std::int64_t l2_bytes_;
  runtime::CudaEvent begin_, end_;
  runtime::CudaMemory written_;
  double write_ns_ = 0;            // of all of it, by the device
  double start_ns_ = kFirstStart;  // of one execution, by this processor, in the last piece
  static constexpr double kFirstStart = 20e3;

  const runtime::CudaDriver& cuda() const { return device_->driver(); }
  std::int64_t written_bytes() const { return 2 * l2_bytes_; }
  void write() const;
  double elapsed() const;
  double piece(std::int64_t executions, const Start& start);
};

}  // namespace polyte::lab
