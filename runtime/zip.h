// Zip archives (APPNOTE.TXT 6.3, with Zip64), for .npz files, artifacts and bundles. Written:
// stored members, their data 64-byte aligned so that a file read to aligned memory can be used in
// place, or deflated ones; fixed dates, nothing optional: equal members give equal bytes (deflated
// ones by one version of zlib). Read: stored and deflated members of anyone's archive.
//
// Archives are hostile until checked: names with separators upwards, absolute paths,
// duplicates, sizes outside the file, overlapping members and expansion beyond 1100:1
// (deflate's own limit is 1032:1) are UserErrors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/file.h"

namespace polyte::runtime {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t stored_bytes = 0;  // in the archive
  std::uint64_t bytes = 0;         // unpacked
  std::uint64_t header_at = 0;     // offset of the local header
  std::uint64_t data_at = 0;       // offset of the data
};

// The members in the order of the central directory. `source` names the archive in messages.
std::vector<ZipEntry> read_zip_directory(ByteSource archive, const std::string& source);

// The unpacked content of a member, its CRC checked.
std::vector<std::byte> read_zip_member(ByteSource archive, const ZipEntry& entry,
                                       const std::string& source);

// At most its first `most` bytes, unchecked: for looking at a header before the rest is unpacked.
std::vector<std::byte> read_zip_begin(ByteSource archive, const ZipEntry& entry, std::size_t most);

class ZipWriter {
 public:
  // Zip64 fields are used for sizes and offsets of at least `zip64_from` bytes
  // (lower only in tests).
  explicit ZipWriter(const std::string& path, std::uint64_t zip64_from = 0xffffffffU);
  void add(const std::string& name, Bytes data);
  // Deflated where that is shorter: for text that is read once.
  void add_deflated(const std::string& name, Bytes data);
  void finish();

 private:
  OutputFile file_;
  std::uint64_t zip64_from_;
  std::vector<ZipEntry> entries_;

  // `stored` is `data` as the archive has it.
  void add_member(ZipEntry entry, Bytes data, Bytes stored);
};

// The bytes between members exactly as ZipWriter writes them; a reader that compares them misses
// no damage.
std::vector<std::byte> zip_local_header(const ZipEntry& entry,
                                        std::uint64_t zip64_from = 0xffffffffU);
std::vector<std::byte> zip_directory(const std::vector<ZipEntry>& entries,
                                     std::uint64_t directory_at,
                                     std::uint64_t zip64_from = 0xffffffffU);

}  // namespace polyte::runtime
