// The stacks that the emulator's fibres run on.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>

#if defined(POLYTE_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace polyte::runtime {

// Stacks for as many fibres as asked for, each above a page that nobody may touch.
class FibreStacks {
 public:
  static constexpr std::size_t kBytes = 128 * 1024;  // of each

  FibreStacks() = default;
  FibreStacks(const FibreStacks&) = delete;
  FibreStacks& operator=(const FibreStacks&) = delete;
  ~FibreStacks() { release(); }
  void grow(std::size_t count) {
    if (count <= count_) return;
    release();
    page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    size_ = count * (page_ + kBytes);
    void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(memory);
    count_ = count;
    for (std::size_t i = 0; i < count; ++i)
      ::mprotect(base_ + i * (page_ + kBytes), page_, PROT_NONE);
  }
  char* at(std::size_t i) const { return base_ + i * (page_ + kBytes) + page_; }

 private:
  void release() {
    if (!base_) return;
#if defined(POLYTE_ADDRESS_SANITIZER)
    // The sanitizer has marked the frames of the fibres, and finds its marks again in whatever is
    // mapped here next.
    ASAN_UNPOISON_MEMORY_REGION(base_, size_);
#endif
    ::munmap(base_, size_);
  }

  char* base_ = nullptr;
  std::size_t size_ = 0, count_ = 0, page_ = 0;
};

}  // namespace polyte::runtime
