// What a person wants fused beyond TVM's rules: two nodes and all that lies on the paths between
// them become one group, so that the groups stay free of cycles. A group like that may have several
// values that are read outside.
//
//   options.keep_together = {{3, 5, "fusion.txt:2: together conv1 pool1"}};
//   FusionReport report = fuse(graph, options);
//   report.not_joined[0]                         // why it cannot be; or `not_joined` is empty
#pragma once

#include "graph/fuse.h"

namespace polyte::graph {

// Edits groups and decisions; fills `not_joined`, one entry per request.
void join_groups(const FusionGraph& graph, const FusionOptions& options, FusionReport& report);

}  // namespace polyte::graph
