#include "driver/lab/escape.h"

#include <cstdint>

namespace polyte::lab {
namespace {

// Length of the well-formed UTF-8 sequence at the beginning; 0 where there is none (RFC 3629).
std::size_t sequence_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  // 0xc0 and 0xc1 could only begin an overlong encoding of ASCII, and what begins beyond 0xf4 lies
  // beyond U+10FFFF.
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    code = code << 6U | (byte(i) & 0x3fU);
  }
  // Overlong encodings are refused: one of "<" would pass whoever looks for the byte alone.
  // Surrogates, U+FFFE and U+FFFF are no characters of XML 1.0.
  static constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[length] || code > 0x10ffff || surrogate || code == 0xfffe || code == 0xffff
             ? 0
             : length;
}

}  // namespace

std::string escaped_xml(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = sequence_at(text);
    const char c = text[0];
    if (length == 0 || (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') ||
        c == 0x7f)
      result += "\xef\xbf\xbd";
    else if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\'')
      result += "&#39;";
    else
      result += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string escaped_markdown(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n' || c == '\r')
      result += ' ';
    else if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else if (std::string_view("|\\`*_[]").find(c) != std::string_view::npos)
      result += std::string("\\") + c;
    else
      result += c;
  }
  return result;
}

std::string escaped_latex(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\textbackslash{}";
    else if (c == '~')
      result += "\\textasciitilde{}";
    else if (c == '^')
      result += "\\textasciicircum{}";
    else if (std::string_view("&%$#_{}").find(c) != std::string_view::npos)
      result += std::string("\\") + c;
    else if (c == '<' || c == '>')
      result += std::string("$") + c + "$";
    else
      result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

std::string csv_field(std::string_view text) {
  std::string result;
  const bool formula =
      !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  if (formula) result += '\'';
  bool quoted = formula;
  for (const char c : text) {
    quoted = quoted || c == '"' || c == ',' || c == '\n' || c == '\r';
    result += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return quoted ? "\"" + result + "\"" : result;
}

}  // namespace polyte::lab
