#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "runtime/zip.h"
#include "support/error.h"

namespace polyte::runtime {
namespace {

// An archive's directory is kept in memory, so its members are limited too.
constexpr std::uint64_t kMaxMembers = 100000;
constexpr std::uint64_t kMaxRatio = 1100;
constexpr std::uint64_t kMaxComment = 0xffff;

class Reader {
 public:
  Reader(ByteSource archive, const std::string& source) : archive_(archive), source_(source) {}

  std::vector<ZipEntry> directory() const {
    const Extent extent = find_directory();
    std::vector<ZipEntry> entries;
    std::set<std::string> names;
    std::uint64_t at = extent.at;
    for (std::uint64_t i = 0; i < extent.count; ++i) {
      entries.push_back(read_entry(at, extent.at));
      check_name(entries.back().name);
      if (!names.insert(entries.back().name).second)
        refuse("member '" + entries.back().name + "' occurs twice");
    }
    check_overlap(entries);
    return entries;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw UserError(ExitStatus::InvalidInput, "archive '" + source_ + "': " + why);
  }

 private:
  struct Extent {
    std::uint64_t at, count;
  };

  ByteSource archive_;
  const std::string& source_;

  std::uint64_t number(std::uint64_t at, int bytes) const {
    if (at > archive_.size() || archive_.size() - at < static_cast<std::uint64_t>(bytes))
      refuse("is truncated");
    std::uint64_t value = 0;
    int shift = 0;
    for (const std::byte byte : archive_.bytes(at, static_cast<std::uint64_t>(bytes))) {
      value |= static_cast<std::uint64_t>(byte) << shift;
      shift += 8;
    }
    return value;
  }

  std::string text(std::uint64_t at, std::uint64_t bytes) const {
    if (at > archive_.size() || archive_.size() - at < bytes) refuse("is truncated");
    return {reinterpret_cast<const char*>(archive_.bytes(at, bytes).data()), bytes};
  }

  // The end of central directory record, found from the end of the file, for its comment has
  // any length up to 64 KiB. A signature may also occur inside of the comment; only that record
  // counts whose comment ends exactly with the file.
  // 0  signature "PK\5\6"    10 entries    12 bytes of the directory
  // 16 its offset            20 bytes of the comment, which follows at 22
  std::uint64_t find_end_record() const {
    if (archive_.size() < 22) refuse("is not a zip archive (no end record)");
    const std::uint64_t last = archive_.size() - 22;
    const std::uint64_t first = last > kMaxComment ? last - kMaxComment : 0;
    for (std::uint64_t at = last + 1; at-- > first;) {
      if (number(at, 4) == 0x06054b50 && number(at + 20, 2) == last - at) return at;
    }
    // Begins with a local header: an archive, of which the end is missing. Worth a message of
    // its own, for a download that was interrupted looks like this.
    if (number(0, 4) == 0x04034b50)
      refuse("is cut off: it begins as a zip archive, and has no end record");
    refuse("is not a zip archive (no end record)");
  }

  // With Zip64 a locator of 20 bytes precedes the end record, and holds at 8 the offset of the
  // Zip64 end record, whose 64-bit fields replace those of the end record (32: entries, 48:
  // offset of the directory).
  Extent find_directory() const {
    const std::uint64_t end = find_end_record();
    Extent extent{number(end + 16, 4), number(end + 10, 2)};
    if (end >= 20 && number(end - 20, 4) == 0x07064b50) {
      const std::uint64_t record = number(end - 12, 8);
      if (number(record, 4) != 0x06064b50) refuse("has a damaged Zip64 end record");
      extent = {number(record + 48, 8), number(record + 32, 8)};
    }
    if (extent.count > kMaxMembers)
      refuse("has " + std::to_string(extent.count) + " members, at most 100000 are read");
    // 46 bytes is the least that an entry takes: a count that cannot fit is refused before
    // anything is reserved for it.
    if (extent.at > end || (end - extent.at) / 46 < extent.count)
      refuse("has a directory outside the file");
    return extent;
  }

  // A central directory header:
  // 0  "PK\1\2"     8  flags (bit 0: encrypted)    10 method    16 CRC-32
  // 20 stored bytes 24 bytes                       28 bytes of the name, 30 of the extra field,
  // 32 of the comment                              42 offset of the local header
  // then name, extra field and comment, from 46 on. `at` moves on to the next header.
  ZipEntry read_entry(std::uint64_t& at, std::uint64_t directory_at) const {
    if (number(at, 4) != 0x02014b50) refuse("has a damaged directory");
    const std::uint64_t name_bytes = number(at + 28, 2);
    const std::uint64_t extra_bytes = number(at + 30, 2);
    ZipEntry entry;
    entry.name = text(at + 46, name_bytes);
    entry.crc = static_cast<std::uint32_t>(number(at + 16, 4));
    entry.stored_bytes = number(at + 20, 4);
    entry.bytes = number(at + 24, 4);
    entry.header_at = number(at + 42, 4);
    if ((number(at + 8, 2) & 1) != 0) refuse("member '" + entry.name + "' is encrypted");
    const std::uint64_t method = number(at + 10, 2);
    if (method != 0 && method != 8) {
      refuse("member '" + entry.name + "' uses compression method " + std::to_string(method) +
             ", expected 0 (stored) or 8 (deflate)");
    }
    entry.deflated = method == 8;
    read_zip64(entry, at + 46 + name_bytes, extra_bytes);
    at += 46 + name_bytes + extra_bytes + number(at + 32, 2);
    locate(entry, directory_at);
    return entry;
  }

  // The Zip64 extra field (id 1) holds 64-bit values, in this order, of those fields alone
  // whose 32-bit form is all ones.
  void read_zip64(ZipEntry& entry, std::uint64_t at, std::uint64_t bytes) const {
    const std::uint64_t end = at + bytes;
    while (at + 4 <= end) {
      const std::uint64_t id = number(at, 2);
      const std::uint64_t size = number(at + 2, 2);
      std::uint64_t field = at + 4;
      at = field + size;
      if (id != 1) continue;
      for (std::uint64_t* value : {&entry.bytes, &entry.stored_bytes, &entry.header_at}) {
        if (*value != 0xffffffffU) continue;
        if (field + 8 > at || at > end)
          refuse("member '" + entry.name + "' has a damaged Zip64 field");
        *value = number(field, 8);
        field += 8;
      }
    }
  }

  // Finds the data behind the local header ("PK\3\4", 30 bytes, then name and extra field),
  // whose extra field has a length of its own: the directory's says nothing about it. Members
  // lie before the directory, so that is the bound.
  void locate(ZipEntry& entry, std::uint64_t directory_at) const {
    const auto damaged = [&](const std::string& what) {
      refuse("member '" + entry.name + "' " + what);
    };
    if (entry.header_at > directory_at || directory_at - entry.header_at < 30)
      damaged("lies outside the file");
    if (number(entry.header_at, 4) != 0x04034b50) damaged("has a damaged header");
    const std::uint64_t name_bytes = number(entry.header_at + 26, 2);
    if (text(entry.header_at + 30, name_bytes) != entry.name)
      damaged("has another name in its own header");
    entry.data_at = entry.header_at + 30 + name_bytes + number(entry.header_at + 28, 2);
    if (entry.data_at > directory_at || directory_at - entry.data_at < entry.stored_bytes) {
      damaged("lies outside the file");
    }
    if (!entry.deflated && entry.stored_bytes != entry.bytes)
      damaged("is stored but has two sizes");
    // Divided rather than multiplied: the product may exceed 64 bits.
    if (entry.bytes / kMaxRatio > entry.stored_bytes) damaged("claims an impossible compression");
  }

  // Names never become paths here, but others unpack artifacts: names that would leave the
  // folder are refused on all platforms (a backslash separates on Windows, and a zero ends a C
  // string).
  void check_name(const std::string& name) const {
    const bool parent = name == ".." || name.starts_with("../") ||
                        name.find("/../") != std::string::npos || name.ends_with("/..");
    if (name.empty() || name.front() == '/' || parent || name.find('\\') != std::string::npos ||
        name.find('\0') != std::string::npos) {
      refuse("has a member whose name leaves the archive or is empty");
    }
  }

  // Two members that share bytes are how a small archive unpacks to petabytes ("zip bombs",
  // Fifield 2019). Sorted by offset (a copy, for callers number members in
  // the order of the archive), it is enough to compare neighbours.
  void check_overlap(std::vector<ZipEntry> entries) const {
    std::ranges::sort(entries, {}, &ZipEntry::header_at);
    for (std::size_t i = 1; i < entries.size(); ++i) {
      if (entries[i - 1].data_at + entries[i - 1].stored_bytes > entries[i].header_at) {
        refuse("members '" + entries[i - 1].name + "' and '" + entries[i].name + "' overlap");
      }
    }
  }
};

// Raw inflate (negative window bits: no zlib header) in pieces, because zlib counts in 32 bits.
// Each turn offers what is left of both sides; once one side is used up and no end was seen,
// inflate makes no progress and returns Z_BUF_ERROR, which ends the loop. False when the data
// is damaged or has another size.
bool inflate_all(Bytes from, std::vector<std::byte>& to) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  // A member of no bytes has no memory, and zlib takes no null for it.
  std::byte none{};
  std::byte* const begin = to.empty() ? &none : to.data();
  std::size_t fed = 0;
  std::size_t made = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const std::size_t in = std::min(kPiece, from.size() - fed);
    const std::size_t out = std::min(kPiece, to.size() - made);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data() + fed));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(begin + made);
    stream.avail_out = static_cast<uInt>(out);
    status = inflate(&stream, Z_NO_FLUSH);
    fed += in - stream.avail_in;
    made += out - stream.avail_out;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && made == to.size() && fed == from.size();
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(ByteSource archive, const std::string& source) {
  return Reader(archive, source).directory();
}

std::vector<std::byte> read_zip_member(ByteSource archive, const ZipEntry& entry,
                                       const std::string& source) {
  const auto refuse = [&](const std::string& why) {
    throw UserError(ExitStatus::InvalidInput,
                    "archive '" + source + "': member '" + entry.name + "' " + why);
  };
  // In the order of cost: the memory is taken for the claimed size, which locate() has bounded
  // by the stored one; then the data are unpacked, and at last their checksum is compared.
  const Bytes stored = archive.bytes(entry.data_at, entry.stored_bytes);
  std::vector<std::byte> data;
  try {
    data.resize(entry.bytes);
  } catch (const std::exception&) {
    throw UserError(ExitStatus::ResourceLimit, "archive '" + source + "': member '" + entry.name +
                                                   "' has " + std::to_string(entry.bytes) +
                                                   " bytes, which do not fit in memory");
  }
  if (!entry.deflated) {
    std::ranges::copy(stored, data.begin());
  } else if (!inflate_all(stored, data)) {
    refuse("is damaged (it does not unpack to its size)");
  }
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size());
  if (crc != entry.crc) refuse("is damaged (its checksum differs)");
  return data;
}

// A deflated beginning may need a little more input than it gives output: 5 bytes per stored
// block of up to 65,535.
std::vector<std::byte> read_zip_begin(ByteSource archive, const ZipEntry& entry, std::size_t most) {
  constexpr std::uint64_t kOverhead = 4096;  // what deflate adds where it does not compress
  const Bytes stored = archive.bytes(entry.data_at, std::min(entry.stored_bytes, most + kOverhead));
  std::vector<std::byte> data(std::min<std::uint64_t>(most, entry.bytes));
  if (!entry.deflated) {
    std::ranges::copy(stored.first(data.size()), data.begin());
    return data;
  }
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(stored.data()));
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = reinterpret_cast<Bytef*>(data.data());
  stream.avail_out = static_cast<uInt>(data.size());
  inflate(&stream, Z_SYNC_FLUSH);
  data.resize(data.size() - stream.avail_out);
  inflateEnd(&stream);
  return data;
}

}  // namespace polyte::runtime
