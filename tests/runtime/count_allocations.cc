#include "tests/runtime/count_allocations.h"

#include <cstdlib>
#include <new>

static thread_local std::int64_t allocations = 0;

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}

void* operator new(std::size_t size) {
  void* memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace polyte::testing {

std::int64_t allocations_of_this_thread() { return allocations; }

}  // namespace polyte::testing
