// Conflicts between the regions of a block: two accesses to one place by two threads, one of them
// a write, with no loop of blocks between them. Integer sets decide whether there is such a pair,
// within an iteration of the loops around both or from one iteration to a later one. A barrier at
// one of the conflict's ways parts the two.
//
// Internal to place_barriers.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/loop_program.h"
#include "lower/block_tree.h"
#include "schedule/proof/feasible.h"

namespace polyte::lower {

// A place for a barrier: before a child of a sequence (or behind the last), or at the end of
// a loop's body.
struct Gap {
  const BlockNode* node = nullptr;
  std::size_t before = 0;  // of a sequence
  // Not by address: of places that cost the same, the same one is taken each time.
  friend auto operator<=>(const Gap& a, const Gap& b) {
    return std::pair(a.node ? a.node->number : -1, a.before) <=>
           std::pair(b.node ? b.node->number : -1, b.before);
  }
  friend bool operator==(const Gap& a, const Gap& b) = default;
};

bool is_of_warp(const Gap& gap);

// Two regions, the first of which runs before the second one.
struct Conflict {
  const RegionAccess *from = nullptr, *to = nullptr;
  bool across_warps = false;
  bool fenced = false;  // what threads wrote is read past them: a fence at one of the ways
  std::set<Gap> ways;   // a barrier at any of them parts the two
  // The loop; null: within an iteration.
  const BlockNode *first = nullptr, *second = nullptr, *carrier = nullptr;
};

const BlockNode* lowest_common(const BlockNode& a, const BlockNode& b);
// Of a node's children, the one that holds `n`.
std::size_t branch_of(const BlockNode& n, const BlockNode& above);
// How variables of the second region are called, where they are not those of the first.
std::string second_name(const std::string& name);
ir::Affine as_second(const ir::Affine& e, const std::set<std::string>& shared);

class ConflictFinder {
 public:
  ConflictFinder(const BlockTree& tree, const ir::LoopProgram& program);

  std::vector<Conflict> conflicts();

  // Symbols that have one value for both regions, where this loop carries the conflict
  // (null: none does).
  std::set<std::string> shared_by(const BlockNode& a, const BlockNode& b,
                                  const BlockNode* carrier) const;
  // That x and y, of two regions, touch one place, the second after the first.
  std::vector<ir::Constraint> meeting(const RegionAccess& x, const RegionAccess& y,
                                      const BlockNode& a, const BlockNode& b,
                                      const BlockNode* carrier) const;
  schedule::Feasibility& question() { return question_; }

 private:
  const BlockTree& tree_;
  // Symbols that have one value for both regions, whatever carries the conflict.
  std::set<std::string> shared_;
  std::set<std::string> written_;  // buffers that other threads of the launch can see
  schedule::Feasibility question_;
  std::vector<Conflict> found_;

  void find(const BlockNode& a, const BlockNode& b);
  void add(const Conflict& kind, const std::set<std::string>& shared,
           const std::vector<ir::Constraint>& carried);
  void keep(Conflict conflict);
  bool differ(std::vector<ir::Constraint> pair, const ir::Affine& one, const ir::Affine& two);
};

}  // namespace polyte::lower
