// Elimination of variables from small systems of affine inequalities (Fourier and Motzkin), for loop bounds.
// The result is implied by the system: exact over the rationals, an over-approximation over the integers and
// where a division hides the variable. Exactness is not needed: inner bounds and guards decide membership.
//
//   {0 <= ii < 4, 0 <= 4*io + ii < N}  without ii:  {0 <= 4*io + 3, 4*io < N}
#pragma once

#include <string>
#include <vector>

#include "ir/affine.h"

namespace polyte::lower {

using System = std::vector<ir::Affine>;  // each >= 0

// The inequality in a form that bounds are easily read from: common factors cancelled (rounding inwards), and
// floor(n / d) >= k written n >= d * k. The same integer points satisfy it.
ir::Affine normalised(const ir::Affine& inequality);

System system_of(const std::vector<ir::Constraint>& constraints);
System eliminate(const System& system, const std::string& variable);

// What the system says of the variable outside divisions: max(lower) <= variable < min(upper).
struct Bounds {
  std::vector<ir::Affine> lower, upper;
};
Bounds bounds_of(const System& system, const std::string& variable);

// The system, and what it implies without divisions that contain the variable.
System relaxed(const System& system, const std::string& variable);

}  // namespace polyte::lower
