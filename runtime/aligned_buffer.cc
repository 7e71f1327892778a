#include "runtime/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "support/checked.h"
#include "support/error.h"

namespace polyte::runtime {
namespace {

constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

[[noreturn]] void out_of_memory(std::int64_t bytes) {
  throw UserError(ExitStatus::ResourceLimit,
                  "out of memory: " + std::to_string(bytes) + " bytes for one buffer");
}

}  // namespace

AlignedBuffer::AlignedBuffer(std::int64_t bytes) : bytes_(bytes) {
  POLYTE_CHECK(bytes >= 0, "negative buffer size " + std::to_string(bytes));
  if (bytes < kHugeFrom) {
    const std::int64_t rounded = ceil_div(bytes == 0 ? 1 : bytes, kAlignment) * kAlignment;
    data_ =
        static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<std::size_t>(rounded)));
    if (data_ == nullptr) out_of_memory(bytes);
    std::memset(data_, 0, static_cast<std::size_t>(rounded));
    return;
  }
  // The aligned part has to hold whole huge pages at its end too: at most one huge page is lost
  // before it and one behind.
  mapping_bytes_ = static_cast<std::size_t>(checked_add(bytes, 2 * kHugePage));
  mapping_ =
      mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    out_of_memory(bytes);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  const auto huge = static_cast<std::uintptr_t>(kHugePage);
  data_ = static_cast<std::byte*>(mapping_) + ((huge - address % huge) % huge);
  // A refusal only costs speed.
  madvise(data_, static_cast<std::size_t>(ceil_div(bytes, kHugePage) * kHugePage), MADV_HUGEPAGE);
}

// Page faults now, not in the first run. Kernels before Linux 5.14 do not know the advice, so
// each page is touched by hand.
void AlignedBuffer::populate() {
  if (mapping_ == nullptr) return;  // zeroed by hand, so touched
#ifdef MADV_POPULATE_WRITE
  if (madvise(data_, static_cast<std::size_t>(bytes_), MADV_POPULATE_WRITE) == 0) return;
#endif
  constexpr std::int64_t kPage = 4096;
  for (std::int64_t at = 0; at < bytes_; at += kPage)
    static_cast<volatile std::byte*>(data_)[at] = std::byte{0};
}

void AlignedBuffer::shrink(std::int64_t bytes) {
  POLYTE_CHECK(bytes >= 0 && bytes <= bytes_, "a buffer of " + std::to_string(bytes_) +
                                                  " bytes shrinks to " + std::to_string(bytes));
  if (mapping_ != nullptr) {
    // A part of a huge page is no page.
    const std::int64_t kept = ceil_div(bytes, kHugePage) * kHugePage;
    const std::int64_t held = ceil_div(bytes_, kHugePage) * kHugePage;
    if (kept < held) madvise(data_ + kept, static_cast<std::size_t>(held - kept), MADV_DONTNEED);
  }
  bytes_ = bytes;
}

AlignedBuffer::~AlignedBuffer() {
  if (mapping_ != nullptr) {
    munmap(mapping_, mapping_bytes_);
  } else {
    std::free(data_);
  }
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(std::exchange(other.mapping_bytes_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  return *this;
}

}  // namespace polyte::runtime
