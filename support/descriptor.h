// An open file of this process: closed with its owner, once. What opens files by number (open,
// memfd_create, pipe2) gives it here at once, so that no exception on the way leaks it.
//
//   const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
//   if (file.get() < 0) ...  // errno says why
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

namespace polyte {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}  // negative: none is open
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(std::exchange(other.number_, -1));
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  // Closes what is open and owns this one.
  void reset(int number = -1) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }
  // A name by which other libraries can open it, too; also of memory files.
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

}  // namespace polyte
