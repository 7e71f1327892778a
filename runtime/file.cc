#include "runtime/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "support/error.h"

namespace polyte::runtime {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UserError(ExitStatus::InvalidInput, "file '" + path + "': " + why);
}

std::string reason() { return std::strerror(errno); }

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  // Without O_NONBLOCK a pipe would wait for its writer here.
  const int descriptor = descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) refuse(path, reason());
  struct stat status{};
  std::string problem;
  if (fstat(descriptor, &status) != 0) {
    problem = reason();
  } else if (!S_ISREG(status.st_mode)) {
    problem = "is not a regular file";
  } else if (status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    void* data = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      problem = reason();
    } else {
      data_ = static_cast<std::byte*>(data);
    }
  }
  if (problem.empty()) return;
  close(descriptor);
  refuse(path, problem);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
  if (descriptor_ >= 0) close(descriptor_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, std::size_t{0})) {}

void MappedFile::read(std::size_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t count = pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) refuse(path_, count < 0 ? reason() : "has become shorter");
    into = into.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::size_t>(count);
  }
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  struct stat status{};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) refuse(path, reason());
    return;
  }
  temporary_ = path + ".XXXXXX";
  descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) refuse(path, "cannot be written: " + reason());
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor_, 0666 & ~mask);
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::write(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(path_, "cannot be written: " + reason());
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    written_ += static_cast<std::uint64_t>(count);
  }
}

void OutputFile::finish() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (close(descriptor) != 0) refuse(path_, "cannot be written: " + reason());
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    const std::string why = reason();
    unlink(temporary_.c_str());
    refuse(path_, "cannot be written: " + why);
  }
}

Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace polyte::runtime
