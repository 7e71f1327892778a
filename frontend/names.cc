#include "frontend/names.h"

#include "frontend/onnx_import.h"

namespace polyte::frontend {

namespace {

// The length of the UTF-8 character at `at` (RFC 3629); 0 where there is none, or for a control
// character, including those of two bytes (U+0080 to U+009F). Overlong encodings, halves of
// surrogate pairs and anything beyond U+10FFFF are no characters.
std::size_t character_at(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned lead = byte(at);
  if (lead < 0x80) return lead < 0x20 || lead == 0x7f ? 0 : 1;
  const std::size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(at + 1);
  const bool is_control = lead == 0xc2 && second < 0xa0;
  // Second bytes that would make the sequence longer than needed, a surrogate, or above
  // U+10FFFF.
  const bool is_overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool is_outside = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return is_control || is_overlong || is_outside ? 0 : length;
}

}  // namespace

std::string plain(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_at(text, at);
    result += length ? text.substr(at, length) : "?";
    at += length ? length : 1;
  }
  return result;
}

std::string printable(const std::string& name) { return plain(name.substr(0, 200)); }

std::string named(const std::string& name) { return "'" + printable(name) + "'"; }

bool is_onnx_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::string opset_range() {
  return std::to_string(kLeastOpset) + " to " + std::to_string(kGreatestOpset);
}

}  // namespace polyte::frontend
