#include <zlib.h>

#include <algorithm>
#include <limits>

#include "runtime/zip.h"
#include "support/error.h"

namespace polyte::runtime {
namespace {

constexpr std::uint64_t kDataAlignment = 64;
// 1980-01-01, the first day that the format knows.
constexpr std::uint16_t kDate = 0x21;
// Android's zipalign pads with this id as well: 2 bytes with the alignment, then zeros.
constexpr std::uint16_t kAlignmentField = 0xd935;  // extra field that others use for padding too
constexpr std::uint64_t kAlignmentFieldBytes = 6;  // its header and the alignment
constexpr std::uint32_t kFull32 = 0xffffffffU;

class LittleEndian {
 public:
  LittleEndian& u16(std::uint64_t value) { return put(value, 2); }
  LittleEndian& u32(std::uint64_t value) { return put(value, 4); }
  LittleEndian& u64(std::uint64_t value) { return put(value, 8); }
  LittleEndian& text(const std::string& value) {
    for (const char c : value) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  LittleEndian& zeros(std::uint64_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  LittleEndian& append(const std::vector<std::byte>& other) {
    bytes_.insert(bytes_.end(), other.begin(), other.end());
    return *this;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;

  LittleEndian& put(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
};

bool needs_zip64(const ZipEntry& entry, std::uint64_t from) {
  return std::max(entry.bytes, entry.stored_bytes) >= from || entry.header_at >= from;
}

std::uint16_t method_of(const ZipEntry& entry) { return entry.deflated ? Z_DEFLATED : 0; }

// The data begin at header_at + 30 + name + extra. `fixed` is that sum with an empty padding;
// the padding makes it a multiple of 64. A local header with Zip64 has to have both sizes
// (4.5.3).
std::vector<std::byte> local_extra(const ZipEntry& entry, bool zip64) {
  LittleEndian out;
  if (zip64) out.u16(1).u16(16).u64(entry.bytes).u64(entry.stored_bytes);
  const std::uint64_t fixed =
      entry.header_at + 30 + entry.name.size() + (zip64 ? 20 : 0) + kAlignmentFieldBytes;
  const std::uint64_t padding = (kDataAlignment - fixed % kDataAlignment) % kDataAlignment;
  out.u16(kAlignmentField).u16(2 + padding).u16(kDataAlignment).zeros(padding);
  return out.take();
}

// Raw deflate, which is what a member holds (4.4.5).
std::vector<std::byte> deflate_bytes(Bytes data) {
  z_stream stream{};
  POLYTE_CHECK(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL,
                            Z_DEFAULT_STRATEGY) == Z_OK,
               "zlib refuses its own constants");
  std::vector<std::byte> packed(deflateBound(&stream, data.size()));
  // zlib counts in 32 bits: fed and emptied in chunks that fit.
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 30;
  std::uint64_t taken = 0;
  std::uint64_t written = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    const std::uint64_t in = std::min(kChunk, data.size() - taken);
    const std::uint64_t out = std::min(kChunk, packed.size() - written);
    stream.next_in =
        const_cast<Bytef*>(reinterpret_cast<const Bytef*>(data.data() + taken));  // only read
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(packed.data() + written);
    stream.avail_out = static_cast<uInt>(out);
    state = deflate(&stream, taken + in == data.size() ? Z_FINISH : Z_NO_FLUSH);
    taken += in - stream.avail_in;
    written += out - stream.avail_out;
  }
  deflateEnd(&stream);
  POLYTE_CHECK(state == Z_STREAM_END, "deflate ends before its data do");
  packed.resize(written);
  return packed;
}

}  // namespace

// Version 45 is the first that has Zip64, 20 the one of plain and deflated members. Flags and
// time are 0.
std::vector<std::byte> zip_local_header(const ZipEntry& entry, std::uint64_t zip64_from) {
  const bool zip64 = needs_zip64(entry, zip64_from);
  const std::vector<std::byte> extra = local_extra(entry, zip64);
  LittleEndian out;
  out.u32(0x04034b50)
      .u16(zip64 ? 45 : 20)
      .u16(0)
      .u16(method_of(entry))
      .u16(0)
      .u16(kDate)
      .u32(entry.crc)
      .u32(zip64 ? kFull32 : entry.stored_bytes)
      .u32(zip64 ? kFull32 : entry.bytes);
  out.u16(entry.name.size()).u16(extra.size()).text(entry.name).append(extra);
  return out.take();
}

std::vector<std::byte> zip_directory(const std::vector<ZipEntry>& entries,
                                     std::uint64_t directory_at, std::uint64_t zip64_from) {
  LittleEndian members;
  // The end record counts entries in 16 bits, all ones meaning Zip64.
  bool any_zip64 = directory_at >= zip64_from || entries.size() >= 0xffff;
  for (const ZipEntry& entry : entries) {
    const bool zip64 = needs_zip64(entry, zip64_from);
    any_zip64 = any_zip64 || zip64;
    members.u32(0x02014b50)
        .u16(45)
        .u16(zip64 ? 45 : 20)
        .u16(0)
        .u16(method_of(entry))
        .u16(0)
        .u16(kDate)
        .u32(entry.crc);
    members.u32(zip64 ? kFull32 : entry.stored_bytes)
        .u32(zip64 ? kFull32 : entry.bytes)
        .u16(entry.name.size())
        .u16(zip64 ? 28 : 0)
        .u16(0)
        .u16(0)
        .u16(0)
        .u32(0);
    members.u32(zip64 ? kFull32 : entry.header_at).text(entry.name);
    if (zip64) members.u16(1).u16(24).u64(entry.bytes).u64(entry.stored_bytes).u64(entry.header_at);
  }
  const std::vector<std::byte> listed = members.take();
  LittleEndian out;
  out.append(listed);
  if (any_zip64) {
    out.u32(0x06064b50)
        .u64(44)
        .u16(45)
        .u16(45)
        .u32(0)
        .u32(0)
        .u64(entries.size())
        .u64(entries.size());
    out.u64(listed.size()).u64(directory_at);
    // The locator: on which disk (0) and where the Zip64 end record begins, right behind the
    // entries.
    out.u32(0x07064b50).u32(0).u64(directory_at + listed.size()).u32(1);
  }
  const std::uint64_t count = any_zip64 ? 0xffff : entries.size();
  out.u32(0x06054b50).u16(0).u16(0).u16(count).u16(count);
  out.u32(any_zip64 ? kFull32 : listed.size()).u32(any_zip64 ? kFull32 : directory_at).u16(0);
  return out.take();
}

ZipWriter::ZipWriter(const std::string& path, std::uint64_t zip64_from)
    : file_(path), zip64_from_(zip64_from) {}

void ZipWriter::add(const std::string& name, Bytes data) {
  add_member({.name = name, .bytes = data.size()}, data, data);
}

void ZipWriter::add_deflated(const std::string& name, Bytes data) {
  const std::vector<std::byte> packed = deflate_bytes(data);
  if (packed.size() >= data.size()) return add(name, data);
  add_member({.name = name, .deflated = true, .bytes = data.size()}, data, packed);
}

void ZipWriter::add_member(ZipEntry entry, Bytes data, Bytes stored) {
  POLYTE_CHECK(entry.name.size() < 0x8000, "name of a zip member is too long");
  entry.stored_bytes = stored.size();
  entry.header_at = file_.written();
  entry.crc = static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
  const std::vector<std::byte> header = zip_local_header(entry, zip64_from_);
  file_.write(header);
  entry.data_at = file_.written();
  file_.write(stored);
  entries_.push_back(entry);
}

void ZipWriter::finish() {
  file_.write(zip_directory(entries_, file_.written(), zip64_from_));
  file_.finish();
}

}  // namespace polyte::runtime
