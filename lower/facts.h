// Facts: what is known of the variables at a place in the loops, and what follows from it. Intervals first, then
// a search over at most two of the known inequalities; sound, not complete.
//
//   Facts facts;  facts.bind("i", {0}, {N});  facts.bind("j", {0}, {i + 1});
//   facts.proves(N - j - 1)      // N - j - 1 >= 0: by j <= i and i <= N - 1
//   facts.simplify((8*i + r)//8) // i, where 0 <= r < 8
#pragma once

#include <string>
#include <vector>

#include "ir/affine.h"

namespace polyte::lower {

class Facts {
 public:
  // Restores the facts of its construction when it dies.
  class Scope {
   public:
    explicit Scope(Facts& facts) : facts_(facts), known_(facts.known_.size()), undo_(facts.undo_.size()) {}
    ~Scope() { facts_.restore(known_, undo_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Facts& facts_;
    std::size_t known_, undo_;
  };

  // max(lower) <= var < min(upper).
  void bind(const std::string& var, const std::vector<ir::Affine>& lower, const std::vector<ir::Affine>& upper);
  void assume(const ir::Constraint& c);

  bool proves(const ir::Affine& e) const;  // e >= 0
  ir::Truth truth(const ir::Constraint& c) const;
  ir::Interval range(const ir::Affine& e) const { return ir::range_of(e, ranges_); }
  ir::Affine simplify(const ir::Affine& e) const;  // equal to e wherever the facts hold
  // floor(numerator / denominator), where it is one number.
  std::optional<std::int64_t> quotient(const ir::Affine& numerator, std::int64_t denominator) const;

  // Drops bounds that another one makes superfluous; keeps at least one.
  std::vector<ir::Affine> prune_lower(const std::vector<ir::Affine>& bounds) const;
  std::vector<ir::Affine> prune_upper(const std::vector<ir::Affine>& bounds) const;

 private:
  struct Undo {
    std::string var;
    ir::Interval before;
  };
  ir::Ranges ranges_;
  std::vector<ir::Affine> known_;  // each >= 0; none that the intervals say already
  std::vector<Undo> undo_;
  int fixed_ = 0;  // how many variables have one value only

  void set_range(const std::string& var, const ir::Interval& to);

  bool nonnegative(const ir::Affine& e, int depth) const;
  void assume_nonnegative(const ir::Affine& e);
  void narrow(const std::string& var, const ir::Interval& to);
  void restore(std::size_t known, std::size_t undo);
};

}  // namespace polyte::lower
