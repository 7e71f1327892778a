// What a model says before any of its nodes is imported: its opset, its names, and which node
// computes what. Names that are there twice and opsets that there are not are reported here.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/import_problems.h"
#include "polyte_onnx.pb.h"

namespace polyte::frontend {

struct ModelOutline {
  std::int64_t opset = 1;                                 // of ONNX's own operators
  std::vector<NodeCoverage> rows;                         // one per node, none supported yet
  std::unordered_map<std::string, std::size_t> producer;  // number of the node, by output name
  std::unordered_set<std::string> initializers;
  std::unordered_set<std::string> names;  // of all values
};

// Throws UserError(ResourceLimit) where there are too many nodes.
ModelOutline outline_of(const onnx::ModelProto& model, const ImportOptions& options,
                        ImportProblems& problems);

}  // namespace polyte::frontend
