// Words of a message or a text, one after the other.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace polyte {

inline std::string join_words(std::span<const std::string> words, std::string_view between = ", ") {
  std::string text;
  for (bool is_first = true; const std::string& word : words) {
    if (!is_first) text += between;
    is_first = false;
    text += word;
  }
  return text;
}

}  // namespace polyte
