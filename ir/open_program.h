// Programs of one computation at several sizes, merged into one Program that leaves the sizes open.
// Their texts differ in numbers only, and each number is an affine function of the sizes: the one
// through the base point and one further point per size, checked at all other points.
//
//   N = 7:  in x: f32[7, 64]     N = 8:  in x: f32[8, 64]     open:  in x: f32[N, 64]
//           for n in 0..7                for n in 0..8               for n in 0..N
//
// A function that is not affine is found out at neighbouring points: 7 // 2 and 8 // 2 are 3 and 4,
// but 9 // 2 is 4 again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace polyte::ir {

// Values of the sizes, one per symbol. Point 0 is the base; point 1 + s differs from it in symbol
// s; the others check.
struct SizePoints {
  std::vector<std::string> symbols;
  std::vector<std::vector<std::int64_t>> points;

  std::string text(std::size_t point) const;  // "N = 7, L = 16"
};

// The affine function whose value at each point is given, if there is one with whole coefficients.
std::optional<Affine> fit(const SizePoints& sizes, std::span<const std::int64_t> values);

// One Program per point, none with parameters. Equal ones: the Program itself. Else its parameters
// are all symbols, in their order, each within [least, most] of `ranges`. A Decline shows the
// lines that do not fit.
struct SizeRange {
  std::int64_t least = 1, most = 1;
};
Result<Program> open_program(const SizePoints& sizes, std::span<const SizeRange> ranges,
                             std::span<const Program> programs);

// The Program as schedulers that choose by numbers see it: bound to typical sizes, inside of its
// context or not, with Program::open the iterators whose ranges these decide.
Program at_typical(const Program& program, const Values& sizes);

}  // namespace polyte::ir
