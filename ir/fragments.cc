#include "ir/fragments.h"

namespace polyte::ir {
namespace {

// e % divisor, in a form that other terms of the sum can meet.
Affine rest(const Affine& e, std::int64_t divisor) { return e - floor_div(e, divisor) * divisor; }

// A fragment is a change of mixed radix: the digits of the subscripts of the tile become digits of
// the lane or of the register. No two digits of one number overlap, so the map is a bijection, and
// `subscript_of` is its inverse: the same digits, with stride and weight in each other's place.
Affine digits_of(const Fragment& fragment, const std::vector<Affine>& subscripts, bool of_lane) {
  Affine sum = 0;
  for (const FragmentDigit& digit : fragment.digits)
    if (digit.of_lane == of_lane)
      sum =
          sum + rest(floor_div(subscripts[static_cast<std::size_t>(digit.dimension)], digit.stride),
                     digit.extent) *
                    digit.weight;
  return sum;
}

}  // namespace

std::int64_t registers_of(const Fragment& fragment) {
  std::int64_t count = 1;
  for (const FragmentDigit& digit : fragment.digits)
    if (!digit.of_lane) count *= digit.extent;
  return count;
}

Affine lane_of(const Fragment& fragment, const std::vector<Affine>& subscripts) {
  return digits_of(fragment, subscripts, true);
}

Affine register_of(const Fragment& fragment, const std::vector<Affine>& subscripts) {
  return digits_of(fragment, subscripts, false);
}

Affine subscript_of(const Fragment& fragment, int dimension, const Affine& lane,
                    const Affine& reg) {
  Affine sum = 0;
  for (const FragmentDigit& digit : fragment.digits)
    if (digit.dimension == dimension)
      sum = sum +
            rest(floor_div(digit.of_lane ? lane : reg, digit.weight), digit.extent) * digit.stride;
  return sum;
}

// (loop + base) // d is base // d where d and base are multiples of the extent.
std::optional<Affine> tile_base(const Affine& subscript, const std::string& loop,
                                std::int64_t extent) {
  if (subscript.coefficient(loop) != 1 || subscript.constant() % extent != 0) return std::nullopt;
  Affine base = subscript.constant();
  for (const Term& term : subscript.terms()) {
    if (!term.atom.div && term.atom.symbol == loop) continue;
    if (term.coefficient % extent != 0) return std::nullopt;
    Affine value = term.atom.div ? Affine(0) : Affine::symbol(term.atom.symbol);
    if (term.atom.div) {
      const FloorDiv& div = *term.atom.div;
      const bool uses = div.numerator.uses(loop);
      const auto inner = uses ? tile_base(div.numerator, loop, extent) : div.numerator;
      if (!inner || (uses && div.denominator % extent != 0)) return std::nullopt;
      value = floor_div(*inner, div.denominator);
    }
    base = base + value * term.coefficient;
  }
  return base;
}

}  // namespace polyte::ir
