#include "runtime/open_number.h"

#include <algorithm>

namespace polyte::runtime {
namespace {

std::int64_t coefficient(const OpenNumber& number, std::size_t i) {
  return i < number.coefficients.size() ? number.coefficients[i] : 0;
}

// A linear number is at its extremes where each symbol is at one of its own: for the largest
// value, symbols with a positive coefficient at their most and those with a negative one at
// their least; for the smallest the other way round.
std::int64_t extreme(const OpenNumber& number, std::span<const SymbolSpec> symbols, bool largest) {
  std::int64_t value = number.constant;
  for (std::size_t i = 0; i < number.coefficients.size(); ++i) {
    const std::int64_t factor = number.coefficients[i];
    const SymbolSpec& symbol = symbols[i];
    value = checked_add(value,
                        checked_mul(factor, (factor > 0) == largest ? symbol.most : symbol.least));
  }
  return value;
}

void append_term(std::string& text, std::int64_t factor, const std::string& symbol) {
  if (factor == 0) return;
  const bool negative = factor < 0;
  text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
  // The magnitude as text, for that of the lowest integer is none.
  const std::string magnitude = std::to_string(factor).substr(negative ? 1 : 0);
  if (symbol.empty()) {
    text += magnitude;
  } else {
    text += (magnitude == "1" ? "" : magnitude + "*") + symbol;
  }
}

}  // namespace

std::int64_t least_of(const OpenNumber& number, std::span<const SymbolSpec> symbols) {
  return extreme(number, symbols, false);
}

std::int64_t most_of(const OpenNumber& number, std::span<const SymbolSpec> symbols) {
  return extreme(number, symbols, true);
}

OpenNumber times(const OpenNumber& number, std::int64_t factor) {
  OpenNumber product{checked_mul(number.constant, factor), {}};
  for (const std::int64_t one : number.coefficients)
    product.coefficients.push_back(checked_mul(one, factor));
  return product;
}

OpenNumber minus(const OpenNumber& a, const OpenNumber& b) {
  OpenNumber difference{checked_sub(a.constant, b.constant), {}};
  for (std::size_t i = 0; i < std::max(a.coefficients.size(), b.coefficients.size()); ++i)
    difference.coefficients.push_back(checked_sub(coefficient(a, i), coefficient(b, i)));
  return difference;
}

bool is_same(const OpenNumber& a, const OpenNumber& b) {
  if (a.constant != b.constant) return false;
  for (std::size_t i = 0; i < std::max(a.coefficients.size(), b.coefficients.size()); ++i) {
    if (coefficient(a, i) != coefficient(b, i)) return false;
  }
  return true;
}

// Not 2*batch, and not batch + seq: the value of the symbol has to be the extent itself.
std::optional<std::size_t> only_symbol(const OpenNumber& number) {
  const auto is_there = [](std::int64_t factor) { return factor != 0; };
  const auto first = std::ranges::find_if(number.coefficients, is_there);
  if (number.constant != 0 || std::ranges::count_if(number.coefficients, is_there) != 1 ||
      *first != 1)
    return std::nullopt;
  return static_cast<std::size_t>(first - number.coefficients.begin());
}

// With sizes n_i >= 1 and scale s = max(1, n_i): constant + sum c_i n_i <= s * (max(constant,
// 0) + sum max(c_i, 0)).
std::int64_t unit_bytes(const OpenNumber& bytes) {
  std::int64_t sum = std::max<std::int64_t>(bytes.constant, 0);
  for (const std::int64_t factor : bytes.coefficients)
    sum = checked_add(sum, std::max<std::int64_t>(factor, 0));
  return sum;
}

std::int64_t scale_of(std::span<const std::int64_t> sizes) {
  std::int64_t scale = 1;
  for (const std::int64_t size : sizes) scale = std::max(scale, size);
  return scale;
}

std::string to_text(const OpenNumber& number, std::span<const SymbolSpec> symbols) {
  std::string text;
  for (std::size_t i = 0; i < number.coefficients.size(); ++i)
    append_term(text, number.coefficients[i], symbols[i].name);
  append_term(text, number.constant, "");
  return text.empty() ? "0" : text;
}

std::string sizes_text(std::span<const SymbolSpec> symbols, std::span<const std::int64_t> sizes,
                       const OpenNumber* number) {
  std::string text;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (number != nullptr && coefficient(*number, i) == 0) continue;
    text += (text.empty() ? "" : " and ") + symbols[i].name + " is " + std::to_string(sizes[i]);
  }
  return text;
}

}  // namespace polyte::runtime
