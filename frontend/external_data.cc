#include "frontend/external_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "support/descriptor.h"
#include "support/system_error.h"

namespace polyte::frontend {

namespace {

// From this size on holes of the file are skipped, in memory that the system zeroes as it is
// touched.
constexpr std::int64_t kManyBytes = std::int64_t{1} << 20;

[[noreturn]] void refuse(const std::string& location, const std::string& why) {
  throw UserError(ExitStatus::InvalidInput, "external data '" + location + "': " + why);
}

// With the reason in errno.
[[noreturn]] void refuse_errno(const std::string& location, const std::string& what) {
  const int error = errno;
  throw UserError(status_of_errno(error, ExitStatus::InvalidInput),
                  "external data '" + location + "': " + what + text_of_errno(error));
}

std::vector<std::string> components_of(const std::string& location) {
  if (location.empty()) refuse(location, "the location is empty");
  if (location.front() == '/')
    refuse(location, "the location is absolute, expected a path within the model's folder");
  if (location.find('\0') != std::string::npos) refuse(location, "the location holds a zero byte");
  std::vector<std::string> components;
  for (const auto& part : std::filesystem::path(location)) {
    if (part == "..") refuse(location, "the location leaves the model's folder");
    if (!part.empty() && part != ".") components.push_back(part.string());
  }
  if (components.empty()) refuse(location, "the location names no file");
  return components;
}

// Opens the last component through its parents, following no link anywhere: each component is
// looked up in the descriptor of the one before it, so that nobody can exchange a folder for a link
// between check and use. O_NONBLOCK keeps open() from waiting for the writer of a named pipe; it is
// refused afterwards, as no regular file.
void open_beneath(Descriptor& at, const std::filesystem::path& folder,
                  const std::string& location) {
  const std::vector<std::string> components = components_of(location);
  const std::filesystem::path start = folder.empty() ? "." : folder;
  at.reset(open(start.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t i = 0; i < components.size() && at.get() >= 0; ++i) {
    const bool last = i + 1 == components.size();
    const int flags =
        O_CLOEXEC | O_NOFOLLOW | (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
    at.reset(openat(at.get(), components[i].c_str(), flags));
  }
  if (at.get() >= 0) return;
  // What O_NOFOLLOW gives for a link: ELOOP, or with O_DIRECTORY ENOTDIR.
  if (errno == ELOOP || errno == ENOTDIR)
    refuse(location, "the path goes through a symbolic link or no folder");
  refuse_errno(location, "cannot be opened: ");
}

void read_fully(int fd, const std::string& location, std::int64_t offset,
                std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = pread(fd, into.data(), into.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_errno(location, "cannot be read: ");
    if (got == 0) refuse(location, "became shorter while it was read");
    into = into.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

// Anonymous memory, which the system provides page by page as it is first written.
std::pair<std::span<std::byte>, std::shared_ptr<const void>> fresh_memory(
    const std::string& location, std::int64_t size) {
  const auto length = static_cast<std::size_t>(size);
  void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    refuse_errno(location, "no memory for " + std::to_string(size) + " bytes: ");
  return {{static_cast<std::byte*>(memory), length},
          std::shared_ptr<const void>(
              memory, [length](const void* at) { munmap(const_cast<void*>(at), length); })};
}

// Holes of the file are zeros and cost neither time nor memory.
graph::Bytes read_around_holes(int fd, const std::string& location, std::int64_t offset,
                               std::int64_t size) {
  auto [into, owner] = fresh_memory(location, size);
  const std::int64_t end = offset + size;
  for (std::int64_t at = offset; at < end;) {
    std::int64_t first = lseek(fd, at, SEEK_DATA);
    if (first < 0 && errno == ENXIO) break;  // a hole to the end
    if (first < 0) first = at;               // a file system that knows no holes
    const std::int64_t hole = lseek(fd, first, SEEK_HOLE);
    const std::int64_t last = hole < 0 ? end : std::min(hole, end);
    if (first < last)
      read_fully(fd, location, first,
                 into.subspan(static_cast<std::size_t>(first - offset),
                              static_cast<std::size_t>(last - first)));
    at = std::max(first, last);
  }
  // A file that was cut off looks like one that ends in a hole.
  struct stat info{};
  if (fstat(fd, &info) != 0 || info.st_size < end)
    refuse(location, "became shorter while it was read");
  return {into, std::move(owner)};
}

}  // namespace

graph::Bytes read_external_data(const std::filesystem::path& folder, const ExternalData& data,
                                std::int64_t size) {
  Descriptor file;
  open_beneath(file, folder, data.location);
  struct stat info{};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    refuse(data.location, "is not a regular file");
  if (data.offset < 0 || data.offset > info.st_size) {
    refuse(data.location, "offset " + std::to_string(data.offset) + " lies beyond the file's " +
                              std::to_string(info.st_size) + " bytes");
  }
  const std::int64_t available = info.st_size - data.offset;
  const std::int64_t length = data.length < 0 ? available : data.length;
  if (length > available) {
    refuse(data.location, "length " + std::to_string(length) + " at offset " +
                              std::to_string(data.offset) + " lies beyond the file's " +
                              std::to_string(info.st_size) + " bytes");
  }
  if (length != size)
    refuse(data.location, "has " + std::to_string(length) + " bytes for the tensor, expected " +
                              std::to_string(size));
  if (size >= kManyBytes) return read_around_holes(file.get(), data.location, data.offset, size);
  graph::Bytes bytes(static_cast<std::size_t>(size));
  read_fully(file.get(), data.location, data.offset, {bytes.data(), bytes.size()});
  return bytes;
}

}  // namespace polyte::frontend
