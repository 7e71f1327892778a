// Text of nests and paths, shared by the parser and by fragments (`let tile = [m.i] > <n.i>`), and
// how parts of a directive print. docs/script-text.md is the grammar.
#pragma once

#include "schedule/script/script.h"
#include "support/result.h"

namespace polyte::schedule {

// One line, without comment and provenance; several where it says several. Throws
// LineProblem (line_parser.h).
std::vector<Operation> parse_directive(const std::string& text);
// Throws LineProblem unless a directive begins so.
void check_directive_word(const std::string& word);
// A path of loops without a leaf.
Result<NestPath> parse_path(const std::string& text);
// True for a text that a `let` means as a fragment of a path, not as a size.
bool is_path_text(const std::string& text);

std::string print(const LoopName& name);

}  // namespace polyte::schedule
