// A person's word on fusion: which operators are one kernel and which are not, and when a group
// is handed back.
//
//   # names are those of the model's nodes; in quotes where they hold spaces
//   apart     conv1 relu1        no group holds both
//   together  pool1 'conv 2'     one group, with all on the paths between; refused where that
//                                cannot be
//   limit     temporaries 65536  bytes of scratch memory above which a group is split
//                                (see fusion_feedback.h)
//   limit     recompute 1.5      times the arithmetic of the operators above which it is
//
// All problems of a file are listed at once (UserError(InvalidInput), "fusion.txt:2: ...").
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/fuse.h"

namespace polyte::driver {

struct FusionRequest {
  bool together = false;
  std::string first, second;  // names of nodes
  std::string origin;         // "fusion.txt:2: together pool1 conv2"
};

struct FusionFile {
  std::vector<FusionRequest> requests;
  std::optional<std::int64_t> temporaries;
  std::optional<double> recompute;
};

FusionFile parse_fusion_file(std::string_view text, const std::string& origin);
FusionFile read_fusion_file(const std::string& path);

// The requests in terms of the graph's nodes. `model_nodes` are the names that the model had before
// the graph passes: what they have folded or removed is said to be so.
void apply_requests(const std::vector<FusionRequest>& requests, const graph::FusionGraph& graph,
                    const std::set<std::string>& model_nodes, graph::FusionOptions& options);

// UserError(InvalidInput) with every request that fuse() could not grant.
void check_granted(const std::vector<FusionRequest>& requests, const graph::FusionReport& report);

}  // namespace polyte::driver
