#include "frontend/external_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "support/error.h"

namespace polyte::frontend {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(-1); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void reset(int fd) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

[[noreturn]] void refuse(const std::string& location, const std::string& why) {
  throw UserError(ExitStatus::InvalidInput, "external data '" + location + "': " + why);
}

std::vector<std::string> components_of(const std::string& location) {
  if (location.empty()) refuse(location, "the location is empty");
  if (location.front() == '/') refuse(location, "the location is absolute, expected a path within the model's folder");
  if (location.find('\0') != std::string::npos) refuse(location, "the location holds a zero byte");
  std::vector<std::string> components;
  for (const auto& part : std::filesystem::path(location)) {
    if (part == "..") refuse(location, "the location leaves the model's folder");
    if (!part.empty() && part != ".") components.push_back(part.string());
  }
  if (components.empty()) refuse(location, "the location names no file");
  return components;
}

// Opens the last component through its parents, following no link anywhere.
void open_beneath(Descriptor& at, const std::filesystem::path& folder, const std::string& location) {
  const std::vector<std::string> components = components_of(location);
  const std::filesystem::path start = folder.empty() ? "." : folder;
  at.reset(open(start.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t i = 0; i < components.size() && at.get() >= 0; ++i) {
    const bool last = i + 1 == components.size();
    const int flags = O_CLOEXEC | O_NOFOLLOW | (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
    at.reset(openat(at.get(), components[i].c_str(), flags));
  }
  if (at.get() >= 0) return;
  if (errno == ELOOP || errno == ENOTDIR) refuse(location, "the path goes through a symbolic link or no folder");
  refuse(location, std::string("cannot be opened: ") + std::strerror(errno));
}

graph::Bytes read_fully(int fd, const std::string& location, std::int64_t offset, std::int64_t size) {
  graph::Bytes into(static_cast<std::size_t>(size));
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = pread(fd, into.data() + done, into.size() - done, offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse(location, "ended while it was read");
    done += static_cast<std::size_t>(got);
  }
  return into;
}

// A mapping begins at a page; the bytes lie somewhere after.
graph::Bytes map(int fd, const std::string& location, std::int64_t offset, std::int64_t size) {
  const std::int64_t before = offset % sysconf(_SC_PAGESIZE);
  const auto length = static_cast<std::size_t>(size + before);
  void* mapping = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, fd, offset - before);
  if (mapping == MAP_FAILED) refuse(location, std::string("cannot be mapped: ") + std::strerror(errno));
  const std::shared_ptr<const void> owner(mapping, [length](const void* at) { munmap(const_cast<void*>(at), length); });
  return {{static_cast<const std::byte*>(mapping) + before, static_cast<std::size_t>(size)}, owner};
}

}  // namespace

graph::Bytes read_external_data(const std::filesystem::path& folder, const ExternalData& data, std::int64_t size,
                                std::int64_t alignment) {
  Descriptor file(-1);
  open_beneath(file, folder, data.location);
  struct stat info{};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) refuse(data.location, "is not a regular file");
  if (data.offset < 0 || data.offset > info.st_size) {
    refuse(data.location, "offset " + std::to_string(data.offset) + " lies beyond the file's " +
                              std::to_string(info.st_size) + " bytes");
  }
  const std::int64_t available = info.st_size - data.offset;
  const std::int64_t length = data.length < 0 ? available : data.length;
  if (length > available) {
    refuse(data.location, "length " + std::to_string(length) + " at offset " + std::to_string(data.offset) +
                              " lies beyond the file's " + std::to_string(info.st_size) + " bytes");
  }
  if (length != size)
    refuse(data.location, "has " + std::to_string(length) + " bytes for the tensor, expected " + std::to_string(size));
  if (size >= kLeastMappedBytes && data.offset % alignment == 0)
    return map(file.get(), data.location, data.offset, size);
  return read_fully(file.get(), data.location, data.offset, size);
}

}  // namespace polyte::frontend
