#include "runtime/fill.h"
#include "support/nearest_word.h"

#include <charconv>
#include <cmath>
#include <numbers>
#include <string>

namespace polyte::runtime {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  // The name is mixed in, so that tensors of one seed differ.
  Random(std::uint64_t seed, std::string_view name) : state_(seed) {
    for (const char c : name) state_ = (next() ^ static_cast<unsigned char>(c)) + state_;
  }
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>((next() >> 11) + 1) * 0x1.0p-53; }  // (0, 1]
  double normal() {                                                                 // Box-Muller
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

[[noreturn]] void refuse(std::string_view text) {
  throw UserError(
      ExitStatus::Usage,
      "fill is '" + std::string(text) + "', expected zeros, ones, normal, normal:SEED or int:SEED" +
          (text == "random"
               ? ", did you mean 'normal'?"
               : did_you_mean(std::string(text), {"zeros", "ones", "normal", "int:1"})));
}

}  // namespace

Fill parse_fill(std::string_view text) {
  if (text == "zeros") return {Fill::Kind::Zeros, 0};
  if (text == "ones") return {Fill::Kind::Ones, 0};
  if (text == "normal") return {Fill::Kind::Normal, 0};
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) refuse(text);
  const std::string_view kind = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  Fill result{kind == "int" ? Fill::Kind::Int : Fill::Kind::Normal, 0};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), result.seed);
  if ((kind != "int" && kind != "normal") || error != std::errc{} ||
      end != digits.data() + digits.size())
    refuse(text);
  return result;
}

void fill(Tensor& tensor, const Fill& fill, std::string_view name) {
  Random random(fill.seed, name);
  const DType dtype = tensor.dtype();
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    switch (fill.kind) {
      case Fill::Kind::Zeros:
        set_element_int(dtype, tensor.data(), i, 0);
        break;
      case Fill::Kind::Ones:
        set_element_int(dtype, tensor.data(), i, 1);
        break;
      case Fill::Kind::Normal: {
        const double value = random.normal();
        set_element(dtype, tensor.data(), i,
                    dtype == DType::Bool ? (value > 0 ? 1 : 0)
                    : is_float(dtype)    ? value
                                         : std::round(value));
        break;
      }
      case Fill::Kind::Int: {
        // -4 to 4: small integers, whose sums are exact in every float type, so that results
        // can be compared bit for bit.
        const auto value = static_cast<std::int64_t>(random.next() % 9) - 4;
        set_element_int(dtype, tensor.data(), i, dtype == DType::Bool ? value & 1 : value);
        break;
      }
    }
  }
}

}  // namespace polyte::runtime
