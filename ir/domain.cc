#include "ir/domain.h"

#include <algorithm>

namespace polyte::ir {
namespace {

// The innermost of `iterators` that e mentions, as position + 1; 0 for none.
std::size_t depth_of(const Affine& e, const std::vector<std::string>& iterators) {
  for (std::size_t depth = iterators.size(); depth > 0; --depth)
    if (e.uses(iterators[depth - 1])) return depth;
  return 0;
}

}  // namespace

// A constraint bounds the innermost iterator in it, so that iterators can be enumerated from the
// outside in: when an iterator's bounds are evaluated, all that they mention has a value. Of the
// two inequalities of an equality both bound the iterator or neither does.
DomainBounds bounds_of(const std::vector<Constraint>& domain,
                       const std::vector<std::string>& iterators) {
  DomainBounds result;
  result.of.resize(iterators.size());
  for (const Constraint& c : domain) {
    const std::size_t depth = depth_of(c.expr, iterators);
    if (depth == 0) {
      result.constant.push_back(c);
      continue;
    }
    IteratorBounds& bounds = result.of[depth - 1];
    bool is_bound = true;
    for (const Affine& e : inequalities_of({c}))
      is_bound = add_bound(bounds, e, iterators[depth - 1]);
    if (!is_bound) bounds.checks.push_back(c);
  }
  return result;
}

// Upper bounds of a domain are inclusive, those of Facts::bind are not: hence the + 1.
DomainFacts::DomainFacts(std::vector<std::string> iterators, const std::vector<Constraint>& domain,
                         const std::vector<std::string>& params,
                         const std::vector<Constraint>& context)
    : iterators_(std::move(iterators)),
      bounds_(bounds_of(domain, iterators_)),
      is_box_(bounds_.constant.empty()) {
  std::vector<Constraint> known = context;
  for (const std::string& param : params) known.push_back(at_least(Affine::symbol(param), 0));
  known.insert(known.end(), bounds_.constant.begin(), bounds_.constant.end());
  facts_.assume(known);
  for (std::size_t i = 0; i < iterators_.size(); ++i) {
    const IteratorBounds& bounds = bounds_.of[i];
    std::vector<Affine> beyond;
    for (const Affine& last : bounds.upper) beyond.push_back(last + 1);
    facts_.bind(iterators_[i], bounds.lower, beyond);
    facts_.assume(bounds.checks);
    const bool single =
        bounds.lower.size() == 1 && bounds.upper.size() == 1 && bounds.checks.empty();
    is_box_ = is_box_ && single && depth_of(bounds.lower[0], iterators_) == 0 &&
              depth_of(bounds.upper[0], iterators_) == 0;
  }
}

bool DomainFacts::proves(const Constraint& c) const { return facts_.truth(c) == Truth::True; }

// An affine expression over a box is least at one of its corners, and which one the signs of the
// coefficients say. If it is negative there, that corner violates e >= 0. It is a point of the
// domain only if the box is not empty, which is not shown here. In other domains the corner may be
// cut off, so nothing is claimed.
bool DomainFacts::refutes(const Constraint& c) const {
  if (!is_box_ || c.equality) return false;
  // The corner of the box where the expression is smallest.
  Affine worst = c.expr;
  for (std::size_t i = iterators_.size(); i-- > 0;) {
    const std::int64_t coefficient = worst.coefficient(iterators_[i]);
    const Affine rest = worst - Affine::symbol(iterators_[i]) * coefficient;
    if (rest.uses(iterators_[i])) return false;
    const Affine& low = bounds_.of[i].lower[0];
    const Affine& high = bounds_.of[i].upper[0];
    if (const Affine extent = high - low; extent.is_constant() && extent.constant() < 0)
      return false;
    worst = rest + (coefficient > 0 ? low : high) * coefficient;
  }
  return facts_.proves(-worst - 1);
}

std::vector<Constraint> implied_guard(const std::vector<Affine>& shape,
                                      const std::vector<Index>& subscripts,
                                      const DomainFacts& facts) {
  std::vector<Constraint> guard;
  for (std::size_t i = 0; i < shape.size() && i < subscripts.size(); ++i) {
    if (subscripts[i].indirect) continue;
    const Affine& e = subscripts[i].affine;
    const Constraint low = at_least(e, 0), high = less_than(e, shape[i]);
    if (!facts.proves(low)) guard.push_back(low);
    if (!facts.proves(high)) guard.push_back(high);
  }
  return guard;
}

}  // namespace polyte::ir
