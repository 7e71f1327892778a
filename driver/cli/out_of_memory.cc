#include "driver/cli/out_of_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>

#include "support/error.h"

namespace polyte::cli {
namespace {

// Takes no memory itself.
[[noreturn]] void end_process() {
  constexpr char kWords[] = "out of memory\n";
  if (write(STDERR_FILENO, kWords, sizeof kWords - 1) < 0)
    _exit(static_cast<int>(ExitStatus::Internal));
  _exit(static_cast<int>(ExitStatus::ResourceLimit));
}

std::terminate_handler previous = nullptr;

[[noreturn]] void terminated() {
  try {
    if (const std::exception_ptr failure = std::current_exception())
      std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    end_process();
  } catch (...) {
    previous();  // it has words for others
  }
  previous();
  std::abort();
}

// Before the initialisers of this program; those of its libraries come earlier still.
__attribute__((constructor(101))) void at_start() { end_with_words_without_memory(); }

}  // namespace

void end_with_words_without_memory() {
  if (previous == nullptr) previous = std::set_terminate(terminated);
}

}  // namespace polyte::cli
