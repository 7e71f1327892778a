// Holes: what a script leaves open, and `polyte complete` fills (docs/scripts-with-holes.md).
//
//   split k by ?               a size
//   nest par n.o > ...         the rest of a nest, and the lines that it needs
//   ...                        lines
//
// In a NestTree a hole is a leaf or a loop of the name `...`, which no statement and no loop
// can have.
#pragma once

#include <optional>

#include "schedule/script/script.h"
#include "schedule/state/refusal.h"

namespace polyte::schedule {

inline constexpr const char* kSizeHole = "?";
inline constexpr const char* kRestHole = "...";

bool is_rest(const NestTree& tree);    // a leaf that is a hole
bool has_holes(const NestTree& tree);  // anywhere in it

// The sizes of a directive, and of those in it, that are holes.
std::vector<Size*> size_holes(Directive& directive);

bool has_holes(const Script& script);
// Malformed, at the first hole of a script, with all others; nullopt where there is none.
std::optional<Refusal> refuse_holes(const Script& script);

// A script around its holes.
struct PartialScript {
  std::vector<Directive> before;  // with the sizes that are holes
  // With holes; of a line `...` the whole tree is one. Fragments are expanded.
  std::vector<Directive> nests;
  std::vector<Directive> after;                    // behind the first of them
  bool is_open() const { return !nests.empty(); }  // lines may be added, in the place of the nests
};
// A script of a header alone is open everywhere.
PartialScript parts_of(const Script& script);

}  // namespace polyte::schedule
