// Fragments: which lane of a warp has which element of a matrix operand, and in which of its
// registers. An instruction of a whole warp takes its operands from the registers of all 32 lanes;
// where each element has to lie is a bijection of the tile, said once, digit by digit:
//
//   c of m16n8k16, f32[16, 8]      lane 4*(i%8) + j//2        register 2*(i//8) + j%2
//
// Proofs and interpreters compute with subscripts of the tile; lowering moves the elements
// (lower/place_fragments.h). Layouts: PTX ISA, "Matrix multiply-accumulate operation using mma
// instruction", fragments of m16n8k16 and m16n8k32.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/affine.h"

namespace polyte::ir {

// (x / stride) % extent of the subscript x of a dimension, times `weight`, is a part of the lane
// or of the register.
struct FragmentDigit {
  int dimension = 0;
  std::int64_t stride = 1, extent = 1;
  bool of_lane = false;
  std::int64_t weight = 1;
};

// Of one operand. Registers are counted in elements: one of 32 bits holds two of 16.
struct Fragment {
  std::vector<FragmentDigit> digits;
  bool none() const { return digits.empty(); }
};

std::int64_t registers_of(const Fragment& fragment);  // elements that each lane has
// Of the element at these subscripts within the tile.
Affine lane_of(const Fragment& fragment, const std::vector<Affine>& subscripts);
Affine register_of(const Fragment& fragment, const std::vector<Affine>& subscripts);
// The subscript within the tile of what a lane has in a register.
Affine subscript_of(const Fragment& fragment, int dimension, const Affine& lane, const Affine& reg);

// Where a subscript is `loop`, in 0..extent, beside a multiple of the extent: that multiple, over
// other variables. With it the subscript runs through one whole tile as the loop does. nullopt: it
// is no such subscript.
std::optional<Affine> tile_base(const Affine& subscript, const std::string& loop,
                                std::int64_t extent);

}  // namespace polyte::ir
