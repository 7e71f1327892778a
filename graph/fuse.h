// Operator fusion by post-dominators, exactly as TVM v0.14 partitions a graph, so that results
// can be compared: a node may join the group of its post-dominator together with everything on the
// paths between, when the patterns along the paths allow it. Greedy, no cost, single-exit groups.
// Three phases (src/relay/analysis/ graph_partitioner.cc describes them; the table in fuse.cc
// is the whole of it):
//   0  contractions take their element-wise tails; element-wise nodes join what follows
//   1  injective nodes join injective groups, and element-wise nodes what has grown since
//   2  injective nodes join a tuple that has itself been fused
// Last, as in TVM, a tuple-get whose tuple is made outside its group leaves the group again.
//
// The input is abstract (patterns and edges), so that any graph can be partitioned and TVM's own
// partitions serve as test data. Every edge keeps the decision that fused it or left it apart
// (explain_fusion.h prints it).
#pragma once

#include <string>
#include <vector>

#include "graph/op_pattern.h"

namespace polyte::graph {

struct FusionNode {
  std::string op;    // "Conv"
  std::string name;  // "layer2.0.conv1"; may be empty
  OpPattern pattern = OpPattern::Opaque;
  // Picks one value of its operand's; costs nothing outside the operand's group.
  bool is_tuple_get = false;
  bool external = false;  // the value is seen outside the graph: no post-dominator
  // Operators that earlier passes folded into this one; only printed.
  std::vector<std::string> folded;
};

// A use of a value. The pattern is the consumer's; a Broadcast consumer whose shape equals the
// producer's is given as ElemWise.
struct FusionEdge {
  int producer = 0;
  int consumer = 0;
  OpPattern pattern = OpPattern::Opaque;
};

struct FusionGraph {
  std::vector<FusionNode> nodes;  // in topological order
  std::vector<FusionEdge> edges;
};

// No group may hold all of these nodes. An edge to be cut is its two ends; a group that the loop
// side hands back is its nodes. `reason` is shown to the user.
struct KeepApart {
  std::vector<int> nodes;
  std::string reason;
};

// These two nodes, and all on the paths between them, are to be one group (join_groups.h).
struct KeepTogether {
  int first = 0;
  int second = 0;
  std::string reason;
  bool proposed = false;  // by propose_joins.h, not by a person: several contractions may meet
};

struct FusionOptions {
  bool enabled = true;  // false: every node is its own group
  int max_group_nodes = 256;
  std::vector<KeepApart> keep_apart;
  std::vector<KeepTogether> keep_together = {};
};

// A row of the table in fuse.cc: which sources may follow which paths. AskedFor: no rule,
// but keep_together.
enum class FusionRule { ElementwiseTail, ElementwiseSource, InjectiveSource, IntoTuple, AskedFor };

enum class FusionVerdict {
  Fused,
  Disabled,
  SourceIsOpaque,
  SourceIsReduction,
  NoPostDominator,
  TooManyNodes,
  SinkIsTuple,
  EdgeTooComplex,   // the operator `witness` does not suit the rule
  GroupTooComplex,  // the group that `witness` has joined does not suit the rule
  KeptApart,
  TupleIsOutside,  // the producer is a tuple-get, and its tuple is made in another group
};

struct EdgeDecision {
  int producer = 0;
  int consumer = 0;
  FusionVerdict verdict = FusionVerdict::NoPostDominator;
  int phase = 0;                                  // in which the verdict fell
  FusionRule rule = FusionRule::ElementwiseTail;  // of Fused, EdgeTooComplex, GroupTooComplex
  OpPattern source_pattern = OpPattern::Opaque;   // of the producer's group at that time
  OpPattern path_pattern = OpPattern::ElemWise;   // the largest pattern of an edge on the paths
  int source = -1;                                // the node that was to be fused, with all up to
  int post_dominator = -1;                        // its post-dominator
  int witness = -1;                               // node on the path that stands in the way
  OpPattern witness_pattern = OpPattern::Opaque;  // its own or its group's pattern
  int keep_apart = -1;                            // index into FusionOptions::keep_apart
  // Of AskedFor: index into FusionOptions::keep_together.
  int keep_together = -1;
  bool fused() const { return verdict == FusionVerdict::Fused; }
};

// Groups are in topological order (by their last node, where nothing was joined), nodes ascending
// within; edges in the order given.
struct FusionReport {
  std::vector<std::vector<int>> groups;
  std::vector<int> group_of;
  std::vector<EdgeDecision> edges;
  // By FusionOptions::keep_together: why it cannot be, or empty.
  std::vector<std::string> not_joined = {};
};

FusionReport fuse(const FusionGraph& graph, const FusionOptions& options = {});

}  // namespace polyte::graph
