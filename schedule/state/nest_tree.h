// The shape of a nest, as `nest` says it: loops with their kinds, braces, statements. A person
// writes one as text, a scheduler puts one together from paths. Unlike a Tree (tree.h) its loops
// have no identity yet.
//
//   nest_path({{"n.o", LoopKind::Parallel}}, nest_sequence({nest_statement("acc.init"), ...}))
//   par n.o > { acc.init; ... }
#pragma once

#include "schedule/state/tree.h"

namespace polyte::schedule {

struct NestNode;
using NestTree = std::shared_ptr<const NestNode>;
struct NestLoop {
  std::string name;
  LoopKind kind = LoopKind::Serial;
  NestTree body = nullptr;
};
struct NestSequence {
  std::vector<NestTree> children;
};
// A Pin and a Leaf of the tree (tree.h) as a person writes them: loops by name, "root" for the
// whole kernel.
struct When {
  bool first = true;
  std::string loop;
};
struct NestLeaf {
  std::string statement;
  std::vector<When> when = {};
  std::string at = {};   // empty: none
  std::string per = {};  // empty: none
};
struct NestNode {
  std::variant<NestLoop, NestSequence, NestLeaf> op;
};

// Loops with their kinds and without bodies, outermost first.
using NestPath = std::vector<NestLoop>;

// A loop by name, `acc.update:m.o`; bare, `m.o`, wherever no other can be meant.
struct LoopName {
  std::string statement;  // empty: bare
  std::string loop;
};

NestTree nest_statement(std::string statement, std::vector<When> when = {});
// Flattens; one child is returned itself; never empty.
NestTree nest_sequence(std::vector<NestTree> children);
NestTree nest_path(const NestPath& path, NestTree body);  // the body within these loops
NestPath joined(NestPath outer, const NestPath& inner);   // one below the other
// A part of the tree `root`, as `nest` would say it; and one leaf of it.
NestTree nest_of(const Tree& part, const Tree& root);
NestLeaf leaf_said(const Leaf& leaf, const Tree& root);
std::string print(const NestTree& tree);           // { n.o > acc.init; .. }, on one line
std::string print(const std::vector<When>& when);  // " when first k.o and last h", or nothing

// The two loops that a split makes of n: n.o over its tiles, n.i within each. Only these two
// functions know the suffixes, and no name is taken apart again: code that needs the origin of
// a loop keeps it beside the name (PlannedLoop).
std::string tiles_of(const std::string& loop);
std::string within_tile(const std::string& loop);

// A loop that a scheduler plans, before a State has it, with the iterator that it counts: n, n.o
// and n.i.o count n.
struct PlannedLoop {
  std::string name;
  std::string iterator = name;

  bool operator==(const PlannedLoop&) const = default;
};

}  // namespace polyte::schedule
