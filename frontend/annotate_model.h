// A copy of a model with a text at some of its nodes, which viewers such as Netron show:
// the node's doc_string.
#pragma once

#include <map>
#include <string>

namespace polyte::frontend {

struct Annotated {
  int nodes = 0;  // that have a text now
  // Tensors lie in files of their own, which the copy names as the model did.
  bool has_external = false;
};

// `texts` by the name of the node, in the outermost graph. A text that a node has is kept before
// ours. UserError: the file is no model, or cannot be written.
Annotated annotate_model(const std::string& from, const std::string& to,
                         const std::map<std::string, std::string>& texts);

}  // namespace polyte::frontend
