// Files: content read into memory of our own, and output that appears under its name only when
// it is complete (written beside it, then renamed). Only regular files are read. Problems are
// UserErrors that name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/aligned_buffer.h"

namespace polyte::runtime {

using Bytes = std::span<const std::byte>;

// What a file holds, read where it is asked for and each byte once: whoever writes to the file or
// cuts it off later changes nothing that was read, and a byte that was checked stays what it was.
// (A mapping shows every change, and a page that the file has lost is a SIGBUS.) Memory is taken
// for what is read only.
class FileContent {
 public:
  explicit FileContent(const std::string& path);
  ~FileContent();
  FileContent(FileContent&& other) noexcept;
  FileContent& operator=(FileContent&&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return static_cast<std::uint64_t>(memory_.bytes()); }
  // The bytes [at, at + count) of the file; they stay as long as this does. UserError where it
  // has become shorter.
  Bytes bytes(std::uint64_t at, std::uint64_t count);
  Bytes all() { return bytes(0, size()); }
  void close();  // nothing more will be asked for

 private:
  std::string path_;
  int descriptor_ = -1;
  AlignedBuffer memory_;
  std::vector<bool> is_read_;  // per block

  void read_blocks(std::size_t first, std::size_t last);
};

// Bytes of memory, or of a file: what a reader takes that can do with parts.
class ByteSource {
 public:
  // NOLINTBEGIN(google-explicit-constructor): by design; a reader takes memory and files alike
  ByteSource(Bytes memory) : memory_(memory) {}
  ByteSource(const std::vector<std::byte>& memory) : memory_(memory) {}
  ByteSource(FileContent& file) : file_(&file) {}
  // NOLINTEND(google-explicit-constructor)
  std::uint64_t size() const { return file_ != nullptr ? file_->size() : memory_.size(); }
  Bytes bytes(std::uint64_t at, std::uint64_t count) const {
    return file_ != nullptr ? file_->bytes(at, count) : memory_.subspan(at, count);
  }

 private:
  Bytes memory_;
  FileContent* file_ = nullptr;
};

// Writes pieces to `path`; finish() makes them appear. A path that exists and is no regular file
// (a pipe, a terminal) is written directly. Without finish() nothing is left behind, not even after
// a kill where the file system has files without a name (O_TMPFILE); elsewhere it is written under
// a name of its own in the same folder.
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
  enum class Way { Directly, Unnamed, Beside };
  std::string path_, temporary_;  // temporary_ has a name while there is such a file
  Way way_ = Way::Directly;
  int descriptor_ = -1;
  std::uint64_t written_ = 0;

  void open_temporary();
  void give_name();
};

Bytes as_bytes(std::string_view text);

}  // namespace polyte::runtime
