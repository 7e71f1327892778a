#include "ir/einsum_notation.h"

#include <algorithm>
#include <sstream>

namespace polyte::ir {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string access(char name, const std::string& letters) {
  std::string text = std::string(1, name) + "[";
  for (const char c : letters) text += (text.size() > 2 ? "," : "") + std::string(1, c);
  return text + "]";
}

// The output of einsum without an arrow: the letters that appear once, in their order.
std::string once_in(const std::string& operands) {
  std::string letters;
  for (char c = 'A'; c <= 'z'; ++c)
    if (is_letter(c) && std::ranges::count(operands, c) == 1) letters += c;
  return letters;
}

// Two words or more, none longer than dimensions are many: else it may be anything.
bool is_list_of_short_words(const std::string& operands) {
  constexpr std::size_t kMostLetters = 6;
  std::size_t words = 0;
  std::istringstream stream(operands);
  for (std::string word; std::getline(stream, word, ',');) {
    if (word.empty() || word.size() > kMostLetters) return false;
    ++words;
  }
  return words > 1;
}

}  // namespace

std::string index_notation_of_einsum(const std::string& text) {
  std::string bare;
  std::ranges::copy_if(text, std::back_inserter(bare), [](char c) { return c != ' '; });
  const std::size_t arrow = bare.find("->");
  const bool is_explicit = arrow != std::string::npos;
  const std::string operands = bare.substr(0, arrow);
  const std::string output = is_explicit ? bare.substr(arrow + 2) : once_in(operands);
  if (!std::ranges::all_of(operands + output, [](char c) { return is_letter(c) || c == ','; }) ||
      (!is_explicit && !is_list_of_short_words(operands)))
    return "";
  std::string product, reduced, over;
  char name = 'A';
  std::istringstream stream(operands);
  for (std::string letters; std::getline(stream, letters, ',') && name < 'Y'; ++name) {
    product += (product.empty() ? "" : "*") + access(name, letters);
    for (const char c : letters)
      if (output.find(c) == std::string::npos && reduced.find(c) == std::string::npos) reduced += c;
  }
  for (const char c : reduced) over += (over.empty() ? "" : ",") + std::string(1, c);
  return access(name, output) + " = " + (over.empty() ? "" : "sum[" + over + "] ") + product;
}

}  // namespace polyte::ir
