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

}  // namespace

std::string index_notation_of_einsum(const std::string& text) {
  std::string bare;
  std::ranges::copy_if(text, std::back_inserter(bare), [](char c) { return c != ' '; });
  const std::size_t arrow = bare.find("->");
  if (arrow == std::string::npos ||
      !std::ranges::all_of(bare.substr(0, arrow) + bare.substr(arrow + 2),
                           [](char c) { return is_letter(c) || c == ','; }))
    return "";
  const std::string operands = bare.substr(0, arrow), output = bare.substr(arrow + 2);
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
