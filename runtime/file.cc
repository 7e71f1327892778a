#include "runtime/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <utility>

#include "support/system_error.h"

namespace polyte::runtime {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  throw UserError(ExitStatus::InvalidInput, "file '" + path + "': " + why);
}

// With the reason in errno.
[[noreturn]] void refuse_errno(const std::string& path, const std::string& what) {
  const int error = errno;
  throw UserError(status_of_errno(error, ExitStatus::InvalidInput),
                  "file '" + path + "': " + what + text_of_errno(error));
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// 36^12 names: two writers to one path never meet.
std::string name_beside(const std::string& path) {
  static constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string name = folder_of(path) + "/.polyte-";
  std::random_device random;
  for (int i = 0; i < 12; ++i) name += kDigits[random() % 36];
  return name;
}

}  // namespace

FileContent::FileContent(const std::string& path) : path_(path) {
  // Without O_NONBLOCK a pipe would wait for its writer here.
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) refuse_errno(path, "");
  try {
    struct stat status{};
    if (fstat(descriptor_, &status) != 0) refuse_errno(path, "");
    if (!S_ISREG(status.st_mode)) refuse_file(path, "is not a regular file");
    memory_ = AlignedBuffer(status.st_size);
    is_read_.resize((static_cast<std::size_t>(status.st_size) + kBlock - 1) / kBlock);
  } catch (...) {
    close();
    throw;
  }
}

FileContent::~FileContent() { close(); }

FileContent::FileContent(FileContent&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      memory_(std::move(other.memory_)),
      is_read_(std::move(other.is_read_)) {}

void FileContent::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

// Reads the blocks of the range that have not been read, each unbroken run of them at once.
Bytes FileContent::bytes(std::uint64_t at, std::uint64_t count) {
  POLYTE_CHECK(at <= size() && count <= size() - at, "bytes outside the file '" + path_ + "'");
  const std::size_t end = count == 0 ? at / kBlock : (at + count - 1) / kBlock + 1;
  for (std::size_t first = at / kBlock; first < end;) {
    std::size_t last = first;
    while (last < end && !is_read_[last]) ++last;
    if (last > first) read_blocks(first, last);
    first = std::max(last, first + 1);
  }
  return {memory_.data() + at, static_cast<std::size_t>(count)};
}

void FileContent::read_blocks(std::size_t first, std::size_t last) {
  std::size_t at = first * kBlock;
  const std::size_t end = std::min<std::size_t>(last * kBlock, size());
  while (at < end) {
    const ssize_t count = pread(descriptor_, memory_.data() + at, end - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_errno(path_, "cannot be read: ");
    if (count == 0) refuse_file(path_, "became shorter while it was read");
    at += static_cast<std::size_t>(count);
  }
  std::fill(is_read_.begin() + static_cast<std::ptrdiff_t>(first),
            is_read_.begin() + static_cast<std::ptrdiff_t>(last), true);
}

// Through a pipe or to a terminal nothing can be renamed: it is written directly. A regular
// file is replaced, so a reader sees the old content or the new, and never a part.
OutputFile::OutputFile(const std::string& path) : path_(path) {
  struct stat status{};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) refuse_errno(path, "cannot be written: ");
  if (!exists || S_ISREG(status.st_mode)) {
    open_temporary();
    return;
  }
  descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) refuse_errno(path, "");
}

// A file without a name vanishes with its descriptor, even when the process is killed. Not all
// file systems have it (open says so in one of three ways), and then a hidden name beside the
// target does.
void OutputFile::open_temporary() {
  way_ = Way::Unnamed;
  descriptor_ = open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) return;
  const bool is_unknown_here = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
  if (!is_unknown_here) refuse_errno(path_, "cannot be written: ");
  way_ = Way::Beside;
  do {
    temporary_ = name_beside(path_);
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ >= 0) return;
  temporary_.clear();
  refuse_errno(path_, "cannot be written: ");
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::write(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_errno(path_, "cannot be written: ");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    written_ += static_cast<std::uint64_t>(count);
  }
}

// linkat cannot replace a file that exists, and rename needs a name: so first a name beside the
// target, then finish() renames it.
void OutputFile::give_name() {
  const std::string file = "/proc/self/fd/" + std::to_string(descriptor_);
  std::string name;
  int status = 0;
  do {
    name = name_beside(path_);
    status = linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
  } while (status != 0 && errno == EEXIST);
  if (status != 0) refuse_errno(path_, "cannot be written: ");
  temporary_ = std::move(name);  // a copy could find no memory, and the file would stay
}

void OutputFile::finish() {
  if (way_ == Way::Unnamed) give_name();
  if (close(std::exchange(descriptor_, -1)) != 0) refuse_errno(path_, "cannot be written: ");
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) refuse_errno(path_, "cannot be written: ");
  temporary_.clear();
}

Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace polyte::runtime
