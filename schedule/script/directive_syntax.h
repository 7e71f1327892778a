// The words that begin a directive and how each goes on. A new directive is one entry in the table of its family.
#pragma once

#include <vector>

#include "schedule/script/line_parser.h"

namespace polyte::schedule {

struct DirectiveSyntax {
  const char* word;
  void (*parse)(LineParser&, std::vector<Operation>& into);  // after the word; one line may be several directives
};

const std::vector<DirectiveSyntax>& setting_syntax();    // param, where, let
const std::vector<DirectiveSyntax>& loop_syntax();       // split, tile, reorder, unroll ...
const std::vector<DirectiveSyntax>& map_syntax();        // map, skew, shift, reverse ...
const std::vector<DirectiveSyntax>& placement_syntax();  // nest, compute_at, place ...
const std::vector<DirectiveSyntax>& algebra_syntax();    // rewrite, rfactor ...
const std::vector<DirectiveSyntax>& storage_syntax();    // stage and its classic names

}  // namespace polyte::schedule
