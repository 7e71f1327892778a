// What a domain, a conjunction over iterators and parameters, says of its iterators: bounds to
// enumerate them by, and proofs that a constraint holds at every point (facts.h), without isl.
//
//   i >= 0, i < N, j >= i, j < N      j is bounded by i and N - 1; N - 1 - i >= 0 holds everywhere
#pragma once

#include <string>
#include <vector>

#include "ir/expr.h"
#include "ir/facts.h"

namespace polyte::ir {

// What a domain says of one iterator, over parameters and the iterators before it.
struct IteratorBounds : Bounds {
  // Constraints that mention the iterator but do not bound it (inside divisions).
  std::vector<Constraint> checks;
};

struct DomainBounds {
  std::vector<IteratorBounds> of;    // one per iterator
  std::vector<Constraint> constant;  // constraints over parameters alone
};
DomainBounds bounds_of(const std::vector<Constraint>& domain,
                       const std::vector<std::string>& iterators);

class DomainFacts {
 public:
  // `context`: what is known of the parameters, apart from each being >= 0.
  DomainFacts(std::vector<std::string> iterators, const std::vector<Constraint>& domain,
              const std::vector<std::string>& params, const std::vector<Constraint>& context);

  bool proves(const Constraint& c) const;  // c holds at every point of the domain
  // For box domains (bounds over parameters only): some point violates c whenever the box
  // is not empty.
  bool refutes(const Constraint& c) const;

 private:
  std::vector<std::string> iterators_;
  DomainBounds bounds_;
  Facts facts_;
  bool is_box_ = false;
};

// The guard that `x[indices] else v` implies: both bounds of every direct subscript, without
// those proved.
std::vector<Constraint> implied_guard(const std::vector<Affine>& shape,
                                      const std::vector<Index>& subscripts,
                                      const DomainFacts& facts);

}  // namespace polyte::ir
