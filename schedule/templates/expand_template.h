// The lines of a template for one nest: roles replaced by what they stand for.
//
//   a name     row.i, operand.in: m.i, w.in. Where the nest has none, what names it goes: an item
//              of a path or of a list in brackets, an element of braces, else the line
//   a list     an item of a path or of brackets: free > lane.o: a > b > n.o
//   a group    each after: tile > after     an element of braces, or a line, once for each of its
//              members
//   let        a fragment of a path
#pragma once

#include "schedule/script/directives.h"
#include "schedule/script/script.h"
#include "schedule/templates/scope.h"
#include "schedule/templates/template_text.h"

namespace polyte::schedule {

// The directives, with provenance Template; params that were holes have Provenance::TileModel.
// `values`: of the holes. UserError(InvalidInput) names the file and line that is no directive.
std::vector<Directive> expand(const TemplateFile& file, const Scope& scope,
                              const std::map<std::string, std::string>& values);

}  // namespace polyte::schedule
