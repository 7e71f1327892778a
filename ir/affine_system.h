// Systems of affine inequalities, and what they say without some of their variables: elimination
// (Fourier and Motzkin), bounds of one variable, and a bound by intervals. For bounds of loops and
// domains of copies.
// What comes out is implied by the system: exact over the rationals, an over-approximation over
// the integers and where a division hides the variable. Exactness is not needed: inner bounds and
// guards decide membership. What would overflow is left out.
//
//   {0 <= ii < 4, 0 <= 4*io + ii < N}  without ii:  {0 <= 4*io + 3, 4*io < N}
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/affine.h"

namespace polyte::ir {

using System = std::vector<Affine>;  // each >= 0

// The constraints as they stand, an equality as two inequalities.
System inequalities_of(const std::vector<Constraint>& constraints);
// The same in the form of `normalised`, without repetitions; of two that differ in the constant,
// the tighter.
System system_of(const std::vector<Constraint>& constraints);

// The inequality in a form that bounds are easily read from: common factors cancelled
// (rounding inwards), and floor(n / d) >= k written n >= d * k. The same integer points satisfy it.
Affine normalised(const Affine& inequality);

System eliminate(const System& system, const std::string& variable);

// What is known of a variable outside divisions: lower <= variable <= upper, all of them.
struct Bounds {
  std::vector<Affine> lower, upper;
};
// Adds what e >= 0 says of the variable; false where it says nothing, or hides the variable
// in a division.
bool add_bound(Bounds& bounds, const Affine& e, const std::string& variable);
Bounds bounds_of(const System& system, const std::string& variable);

// The system, and what it implies without divisions that contain the variable.
System relaxed(const System& system, const std::string& variable);

// The interval without what lies outside of `by`; true if that changed it.
bool narrow(Interval& range, const Interval& by);
// Bound propagation: narrows intervals by what the constraints say of each symbol, also of one
// within a division whose quotient is bounded, until nothing changes. A few rounds reach the fixed
// point of every domain with box-like corners; others need not have one that is reached (with x >=
// 0, the bounds x < y and y < x raise each other for ever), so rounds are limited. Contradictions
// leave an interval with min > max, at which it stops.
void tighten(Ranges& ranges, const System& system);
// The interval of one term's symbol or division that e >= 0 implies, given those of the symbols;
// unbounded where it implies none.
Interval implied_interval(const Affine& e, const Term& term, const Ranges& ranges);

// e = without + with: the terms that no symbol of `symbols` occurs in, and the others.
struct Parts {
  Affine without, with;
};
Parts parts_of(const Affine& e, const std::set<std::string>& symbols);
// The most (least) that e can be over these symbols, in terms of the others; nullopt where
// intervals do not bound it.
std::optional<Affine> most_over(const Affine& e, const std::set<std::string>& symbols,
                                const Ranges& ranges);
std::optional<Affine> least_over(const Affine& e, const std::set<std::string>& symbols,
                                 const Ranges& ranges);

}  // namespace polyte::ir
