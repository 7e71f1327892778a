// Files: a read-only mapping, and output that appears under its name only when it is complete (written beside
// it, then renamed). Only regular files are mapped. Problems are UserErrors that name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace polyte::runtime {

using Bytes = std::span<const std::byte>;

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  Bytes bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  // The bytes at `offset`, without a mapping's page faults: for what is wanted in other memory. UserError where the
  // file has become shorter.
  void read(std::size_t offset, std::span<std::byte> into) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Writes pieces to `path`; finish() makes them appear. A path that exists and is no regular file (a pipe, a
// terminal) is written directly. Without finish() nothing is left behind.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(Bytes bytes);
  std::uint64_t written() const { return written_; }
  void finish();

 private:
  std::string path_, temporary_;  // temporary_ is empty when writing directly
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
};

Bytes as_bytes(std::string_view text);

}  // namespace polyte::runtime
