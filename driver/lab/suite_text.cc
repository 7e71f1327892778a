#include "driver/lab/suite_text.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace polyte::lab {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The name that a line `const NAME = ..` defines; empty where it is another line.
std::string constant_of(const std::string& line) {
  std::istringstream words(line);
  std::string keyword, name, equals;
  words >> keyword >> name >> equals;
  return keyword == "const" && equals == "=" ? name : "";
}

template <class F>
void for_each_line(const std::string& text, F f) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) f(line);
}

}  // namespace

bool has_constant(const std::string& text, const std::string& name) {
  bool found = false;
  for_each_line(text, [&](const std::string& line) {
    found = found || (!name.empty() && constant_of(line) == name);
  });
  return found;
}

// Lines that define one of the constants are replaced, all others stay as they are: line
// numbers of messages remain those of the file.
std::string with_constants(const std::string& text, const Constants& constants) {
  std::string result;
  for_each_line(text, [&](const std::string& line) {
    const auto found = constants.find(constant_of(line));
    result += found == constants.end() ? line : "  const " + found->first + " = " + found->second;
    result += "\n";
  });
  return result;
}

// Whole words f64 and f32, wherever they are: types of tensors and conversions in values.
std::string with_type(const std::string& text, const std::string& dtype) {
  if (dtype.empty()) return text;
  std::string result, word;
  const auto flush = [&] {
    result += word == "f64" || word == "f32" ? dtype : word;
    word.clear();
  };
  for (const char c : text) {
    if (is_word(c)) {
      word += c;
      continue;
    }
    flush();
    result += c;
  }
  flush();
  return result;
}

// "N=24 M=16": names, and whole numbers of at most 15 digits, which fit in 63 bits.
bool read_sizes(const std::string& text, std::map<std::string, std::string>& values) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t at = word.find('=');
    if (at == 0 || at == std::string::npos || at + 1 == word.size() || word.size() - at > 16)
      return false;
    const std::string name = word.substr(0, at), value = word.substr(at + 1);
    if (!std::ranges::all_of(name, is_word) ||
        value.find_first_not_of("0123456789") != std::string::npos)
      return false;
    values[name] = value;
  }
  return true;
}

}  // namespace polyte::lab
