#include "runtime/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "runtime/zip.h"
#include "support/checked.h"

namespace polyte::runtime {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// Enough for any shape of 64 dimensions; NumPy itself refuses more than 10,000 characters
// unless asked.
constexpr std::size_t kMaxHeader = 64 << 10;
constexpr std::size_t kMaxRank = 64;

// NumPy's kind and size of each element type, in the order of DType.
constexpr std::array<std::string_view, kDTypeCount> kCodes{"f8", "f4", "f2", "V2", "i1", "i2", "i4",
                                                           "i8", "u1", "u2", "u4", "u8", "b1"};

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

// The header is a Python dict literal with the keys descr (string), fortran_order (bool)
// and shape (tuple).
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Header parse() {
    // An example: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
    // A comma may follow the last item; keys come in any order, each once.
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !header.descr) {
        if (peek() == '[') refuse("has a structured element type, which is not supported");
        header.descr = string();
      } else if (key == "fortran_order" && !header.fortran_order) {
        header.fortran_order = boolean();
      } else if (key == "shape" && !header.shape) {
        header.shape = tuple();
      } else {
        refuse("has an unexpected or repeated key '" + key.substr(0, 40) + "' in its header");
      }
      if (!accept(',') && peek() != '}') refuse("has a malformed header");
    }
    skip_space();
    if (at_ != text_.size()) refuse("has text after its header");
    if (!header.descr || !header.fortran_order || !header.shape) {
      refuse("has an incomplete header: descr, fortran_order and shape are needed");
    }
    return header;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw UserError(ExitStatus::InvalidInput, "array '" + source_ + "' " + why);
  }

 private:
  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse("has a malformed header");
  }
  // Without escapes: no descr or key that is accepted below has one.
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse("has a malformed header");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("has a malformed header");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    skip_space();
    for (const auto& [word, value] :
         {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    refuse("has a malformed header");
  }
  // () is a scalar, (3,) a vector, (3, 4) a matrix.
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t size = 0;
      const auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc{} || size < 0)
        refuse("has a size in its shape that is no 63-bit number");
      at_ = static_cast<std::size_t>(end - text_.data());
      if (shape.size() == kMaxRank) refuse("has more than 64 dimensions");
      shape.push_back(size);
      if (!accept(',') && peek() != ')') refuse("has a malformed header");
    }
    return shape;
  }
};

struct ElementType {
  DType dtype;
  bool swap;  // big-endian in the file
};

// A type is its byte order ('<' little, '>' big, '=' the writer's own, '|' none) and its code.
// '=' and no mark are taken for little-endian, the order of every processor that is supported.
ElementType element_type(const std::string& descr, const HeaderParser& parser) {
  const bool marked =
      !descr.empty() && std::string_view("<>=|").find(descr.front()) != std::string_view::npos;
  const std::string code = marked ? descr.substr(1) : descr;
  if (code.starts_with('O')) parser.refuse("holds Python objects (a pickle), which are never read");
  for (std::size_t i = 0; i < kCodes.size(); ++i) {
    if (kCodes[i] == code) return {static_cast<DType>(i), descr.front() == '>'};
  }
  if (code == "?") return {DType::Bool, false};
  parser.refuse("has element type '" + descr.substr(0, 40) + "', which is not supported");
}

void swap_bytes(Tensor& tensor) {
  const auto size = static_cast<std::size_t>(size_in_bytes(tensor.dtype()));
  const std::span<std::byte> bytes = tensor.raw();
  for (std::size_t at = 0; at < bytes.size(); at += size)
    std::ranges::reverse(bytes.subspan(at, size));
}

struct Prefix {
  std::size_t header_at, data_at;
};

// The prefix of a file, by NumPy's format specification (numpy.lib.format):
// 0  \x93NUMPY   6  major version   7  minor version
// 8  length of the header: 2 bytes in version 1, 4 in versions 2 and 3; little-endian
// then the header's text, then the data, to the end of the file.
Prefix read_prefix(Bytes file, const HeaderParser& parser) {
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(file[i]); };
  if (file.size() < 10 || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) {
    parser.refuse("is not an .npy file");
  }
  const std::size_t version = byte(6);
  if (version < 1 || version > 3)
    parser.refuse("has .npy version " + std::to_string(version) + ", expected 1 to 3");
  const std::size_t header_at = version == 1 ? 10 : 12;
  if (file.size() < header_at) parser.refuse("is truncated");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMaxHeader)
    parser.refuse("has a header of " + std::to_string(length) + " bytes, at most 65536 are read");
  // In this order: the sum of offset and length would be compared only after it may have
  // wrapped.
  if (file.size() - header_at < length) parser.refuse("is truncated");
  return {header_at, header_at + length};
}

// NumPy accepts any byte for a bool; a Tensor's Bool is 0 or 1.
void normalise_bools(Tensor& tensor) {
  for (std::uint8_t& value : tensor.as<std::uint8_t>()) value = value != 0 ? 1 : 0;
}

struct Layout {
  ElementType type;
  Shape shape;
  std::size_t data_at;
  std::int64_t bytes;  // of the data
};

// Of a file of `size` bytes that begins with `begin`; the data themselves need not be there, so
// that an archive's member can be judged before it is unpacked.
Layout layout_of(Bytes begin, std::size_t size, const std::string& source) {
  // The first parser has no text: it only words the refusals of the prefix.
  const Prefix prefix = read_prefix(begin, HeaderParser("", source));
  const std::string_view text(reinterpret_cast<const char*>(begin.data()) + prefix.header_at,
                              prefix.data_at - prefix.header_at);
  HeaderParser parser(text, source);
  const Header header = parser.parse();
  const ElementType type = element_type(*header.descr, parser);
  if (*header.fortran_order)
    parser.refuse("is in Fortran order; save it with numpy.ascontiguousarray");
  // Checked for overflow, and compared exactly: a file with bytes behind its data is not what
  // it says it is.
  const std::int64_t expected = count_bytes(type.dtype, *header.shape);
  const auto present = static_cast<std::int64_t>(size - prefix.data_at);
  if (present != expected) {
    parser.refuse("has " + std::to_string(present) + " bytes of data, its shape " +
                  to_string(*header.shape) + " needs " + std::to_string(expected));
  }
  return {type, *header.shape, prefix.data_at, expected};
}

std::string member_source(const std::string& path, const ZipEntry& entry) {
  return path + ":" + entry.name;
}

}  // namespace

Tensor parse_npy(Bytes file, const std::string& source) {
  const Layout layout = layout_of(file, file.size(), source);
  Tensor tensor(layout.type.dtype, layout.shape);
  if (layout.bytes > 0)
    std::memcpy(tensor.data(), file.data() + layout.data_at,
                static_cast<std::size_t>(layout.bytes));
  if (layout.type.swap) swap_bytes(tensor);
  if (layout.type.dtype == DType::Bool) normalise_bools(tensor);
  return tensor;
}

Tensor read_npy(const std::string& path) { return parse_npy(FileContent(path).all(), path); }

std::vector<std::byte> npy_header(const TensorView& tensor) {
  const std::string_view code = kCodes[static_cast<std::size_t>(tensor.dtype)];
  const char order = size_in_bytes(tensor.dtype) == 1 ? '|' : '<';
  std::string text = std::string("{'descr': '") + order + std::string(code) +
                     "', 'fortran_order': False, 'shape': (";
  // Python needs the comma of a tuple of one element: (3,).
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    text += (i == 0 ? "" : " ") + std::to_string(tensor.shape[i]) +
            (i + 1 < tensor.shape.size() || i == 0 ? "," : "");
  }
  text += "), }";
  // The header is padded with spaces to a multiple of 64 with its prefix of 10 bytes and its
  // newline of 1, as NumPy pads it, so that data mapped from the file are aligned.
  const std::size_t total = (10 + text.size() + 1 + 63) / 64 * 64;
  text.resize(total - 11, ' ');
  text += '\n';
  POLYTE_CHECK(text.size() < 0x10000, "shape too long for an .npy header");
  std::string prefix(kMagic);
  prefix +=
      {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  const std::string header = prefix + text;
  const Bytes bytes = as_bytes(header);
  return {bytes.begin(), bytes.end()};
}

void write_npy(const std::string& path, const Tensor& tensor) {
  OutputFile file(path);
  file.write(npy_header(tensor.view()));
  file.write(tensor.raw());
  file.finish();
}

NpzArchive::NpzArchive(const std::string& path)
    : file_(path), entries_(read_zip_directory(file_, path)) {
  for (const ZipEntry& entry : entries_) {
    if (!entry.name.ends_with(".npy"))
      throw UserError(ExitStatus::InvalidInput,
                      "archive '" + path + "': member '" + entry.name + "' is no .npy file");
    // The whole prefix and header of any version fit in this many bytes: 12 is the longest
    // prefix.
    const std::vector<std::byte> begin = read_zip_begin(file_, entry, kMaxHeader + 12);
    Layout layout = layout_of(begin, entry.bytes, member_source(path, entry));
    members_.push_back(
        {entry.name.substr(0, entry.name.size() - 4), layout.type.dtype, std::move(layout.shape)});
  }
}

Tensor NpzArchive::read(std::size_t member) {
  const ZipEntry& entry = entries_.at(member);
  return parse_npy(read_zip_member(file_, entry, file_.path()), member_source(file_.path(), entry));
}

NamedTensors read_npz(const std::string& path) {
  NpzArchive archive(path);
  NamedTensors tensors;
  for (std::size_t i = 0; i < archive.members().size(); ++i)
    tensors.emplace_back(archive.members()[i].name, archive.read(i));
  return tensors;
}

void write_npz(const std::string& path, const NamedTensors& tensors) {
  ZipWriter zip(path);
  for (const auto& [name, tensor] : tensors) {
    std::vector<std::byte> data = npy_header(tensor.view());
    const auto raw = tensor.raw();
    data.insert(data.end(), raw.begin(), raw.end());
    zip.add(name + ".npy", data);
  }
  zip.finish();
}

}  // namespace polyte::runtime
