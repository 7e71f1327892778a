#include "ir/fragments.h"

namespace polyte::ir {
namespace {

Affine rest(const Affine& e, std::int64_t divisor) { return e - floor_div(e, divisor) * divisor; }

Affine digits_of(const Fragment& fragment, const std::vector<Affine>& subscripts, bool of_lane) {
  Affine sum = 0;
  for (const FragmentDigit& digit : fragment.digits)
    if (digit.of_lane == of_lane)
      sum = sum + rest(floor_div(subscripts[static_cast<std::size_t>(digit.dimension)], digit.stride), digit.extent) *
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

Affine subscript_of(const Fragment& fragment, int dimension, const Affine& lane, const Affine& reg) {
  Affine sum = 0;
  for (const FragmentDigit& digit : fragment.digits)
    if (digit.dimension == dimension)
      sum = sum + rest(floor_div(digit.of_lane ? lane : reg, digit.weight), digit.extent) * digit.stride;
  return sum;
}

}  // namespace polyte::ir
