// AlignedBuffer: owned, zeroed memory for tensors, arenas and scratch. 64-byte aligned; from 4
// MiB on it is its own mapping, 2 MiB aligned and offered to the kernel for huge pages (which
// halves the time of a large copy). Memory that the system refuses is a UserError(ResourceLimit),
// never a crash.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polyte::runtime {

inline constexpr std::int64_t kAlignment = 64;

class AlignedBuffer {
 public:
  static constexpr std::int64_t kHugeFrom = std::int64_t{4} << 20;  // bytes
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::int64_t bytes);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  // Makes the system hand out all pages now and not at the first touch.
  void populate();
  // Keeps the first `bytes` and gives the pages behind them back.
  void shrink(std::int64_t bytes);

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  void* mapping_ = nullptr;  // set when data_ lies in its own mapping
  std::size_t mapping_bytes_ = 0;
};

}  // namespace polyte::runtime
