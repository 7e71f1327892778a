// Layouts of staged buffers as digits: every local dimension is (name // div) % mod of one
// dimension of the tensor.
//
//   layout (k, n) [n//32, k, n%32]     digits {1, 32, 0}, {0, 1, 0}, {1, 1, 32}      (mod 0: none)
//
// Digits of one dimension chain without gap or overlap, so that the map is one-to-one by its form.
#pragma once

#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

struct Digit {
  std::size_t dimension = 0;  // of the tensor
  std::int64_t div = 1;
  std::int64_t mod = 0;  // 0: none
};
using Layout = std::vector<Digit>;  // one per local dimension

Layout plain_layout(std::size_t rank);
// Malformed: unknown names, not one-to-one. Conservative: not made of digits. With `folds` the most
// significant digit of a dimension may have a modulus: it goes there, by local dimension (0: none),
// and leaves the layout.
Result<Layout, Refusal> parse_layout(const std::vector<std::string>& names,
                                     const std::vector<std::string>& texts,
                                     const PrimitiveContext& context,
                                     std::vector<std::int64_t>* folds = nullptr);

ir::Affine digit_value(const Digit& digit, const ir::Affine& coordinate);
// Extents of the local buffer for a box of these extents.
std::vector<std::int64_t> local_shape(const Layout& layout, const std::vector<std::int64_t>& box);

// Loops that walk a box in the order of its local dimensions: rows over the coordinates `names`,
// their inverse, and what the rows imply. One digit of a dimension: its name; several: n.o,
// n.i (n.i.o, n.i.i).
struct DigitLoops {
  std::vector<LoopRow> rows;
  ir::Bindings inverse;
  std::vector<ir::Constraint> domain;
};
DigitLoops digit_loops(const Layout& layout, const std::vector<std::string>& names);

}  // namespace polyte::schedule
