// Facts: what is known of symbols at a place, in loops or in a domain, and what follows from it.
// Sound, not complete: intervals first, then a search that cancels terms by known inequalities, at
// most two of any kind, or any number of them where each bounds the newest symbol that is left.
//
//   Facts facts;  facts.bind("i", {0}, {N});  facts.bind("j", {0}, {i + 1});
//   facts.proves(N - j - 1)      // N - j - 1 >= 0: by j <= i and i <= N - 1
//   facts.simplify((8*i + r)//8) // i, where 0 <= r < 8
//
// What would overflow is not proved.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/affine_system.h"

namespace polyte::ir {

class Facts {
 public:
  // Restores the facts of its construction when it dies.
  class Scope {
   public:
    explicit Scope(Facts& facts)
        : facts_(facts), known_(facts.known_.size()), undo_(facts.undo_.size()) {}
    ~Scope() { facts_.restore(known_, undo_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Facts& facts_;
    std::size_t known_, undo_;
  };

  Facts() = default;
  explicit Facts(Ranges ranges);

  // max(lower) <= var < min(upper).
  void bind(const std::string& var, const std::vector<Affine>& lower,
            const std::vector<Affine>& upper);
  void assume(const Constraint& c);
  // Together: the intervals of each are narrowed by the others.
  void assume(const std::vector<Constraint>& all);

  bool proves(const Affine& e) const;  // e >= 0
  Truth truth(const Constraint& c) const;
  Interval range(const Affine& e) const { return range_of(e, ranges_); }
  // At least e: the interval's end, or less where the facts prove that. nullopt: no end.
  std::optional<std::int64_t> most(const Affine& e) const;
  const Ranges& ranges() const { return ranges_; }
  Affine simplify(const Affine& e) const;  // equal to e wherever the facts hold

  // Drops bounds that another one makes superfluous; keeps at least one.
  std::vector<Affine> prune_lower(const std::vector<Affine>& bounds) const;
  std::vector<Affine> prune_upper(const std::vector<Affine>& bounds) const;

 private:
  struct Known {
    Affine expr;  // >= 0
    // Which it bounds: as `bind` said, or the newest that it has outside divisions; empty: none.
    std::string var;
    int age = 0;  // of that symbol: how many there were before
  };
  struct Undo {
    std::string var;
    Interval before;
  };
  Ranges ranges_;
  std::vector<Known> known_;  // none that the intervals say already
  std::vector<Undo> undo_;
  std::map<std::string, int> ages_;  // of every symbol met so far
  int fixed_ = 0;                    // how many variables have one value only

  bool cancels(const Affine& e, int steps) const;
  bool descends(const Affine& e, int age) const;
  bool follows(const Affine& e) const;
  int age_of(const std::string& symbol);
  void know(const Affine& e);
  void know(const Affine& e, const std::string& var);
  void assume_nonnegative(const Affine& e);
  void narrow_range(const std::string& var, const Interval& by);
  void restore(std::size_t known, std::size_t undo);
  // floor(numerator / denominator), where it is one number.
  std::optional<std::int64_t> quotient(const Affine& numerator, std::int64_t denominator) const;
};

// What intervals alone decide: divisions and symbols of one value replaced, low digits dropped from
// divisions, and m + n//9 is m where 0 <= n < 9.
Affine simplified(const Affine& e, const Ranges& ranges);
// True where e is 0 for each value, or each residue, of the symbols that it divides:
// i//2 + (i + 1)//2 - i, which no sum of terms shows. False where that is not so, or would
// be too many cases.
bool vanishes_by_cases(const Affine& e, const Ranges& ranges);

}  // namespace polyte::ir
