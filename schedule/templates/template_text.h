// A template: Script text in which roles stand for the loops, statements and tensors of a nest,
// and holes for what the cost model decides. What stands in the file is ours: the order of the
// loops, where sums are kept, what is packed. docs/templates.md is the grammar and lists the roles
// of each structure.
//
//   template contraction for contraction
//   loop  lane = ?, row = ?
//   param Mr = ?, Nr = ?
//   each statement: split statement: row by Mr   tail cut
//   nest  free > lane.o > row.o > { tile > init; steps > tile > update; each after: tile > after }
//   stage sum at update:inmost in register
//
// templates.table says which template a nest takes, by its structure and sizes:
//
//   contraction: rows_outside   where row_tiles * lane_bytes < lane_tiles * row_bytes
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "schedule/script/script_lexer.h"

namespace polyte::schedule {

struct TemplateFile {
  std::string name;       // "contraction_lanes_outside"
  std::string structure;  // of the nests that it is for: "contraction"
  std::string summary;    // the first line of its comment
  std::string origin;     // for messages: a path, or "templates/NAME.sched"
  std::string text;       // as it was written, includes not resolved
  struct Line {
    LogicalLine line;
    std::string origin;  // of the file that it stands in
  };
  std::vector<Line> lines;  // without the header, includes in their places

  std::set<std::string> loop_holes;  // roles that the cost model fills: lane, row
  struct Param {
    std::string value;                // "?": a hole
    std::vector<std::string> domain;  // empty: any
  };
  std::map<std::string, Param> params;
  std::vector<std::string> around;  // the path before the first brace: free, lane.o, row.o
  bool mentions(const std::string& role) const;
};

// A line of the table, in order: the first of a structure whose holes can be filled and whose
// condition holds is taken.
struct TemplateChoice {
  std::string structure, name;
  std::string condition;  // over the facts of a filled template; empty: always
  std::string where;      // the file and line, for messages
};

struct TemplateSet {
  std::map<std::string, TemplateFile> files;  // by name
  std::vector<TemplateChoice> choices;
};

// Those of Polyte, from schedule/templates/*.sched and templates.table.
const TemplateSet& own_templates();

// Polyte's with those of a folder before them: a file of the same name takes the other's place,
// one that no line of the table names comes first for its structure, and a templates.table of the
// folder takes the place of ours. UserError lists every problem of every file.
TemplateSet templates_with(const std::string& folder);
// The same, for options; null for no folder.
std::shared_ptr<const TemplateSet> load_templates(const std::string& folder);

// The files behind the set, with the fragments that they include, as they were written: what a
// person copies. By file name.
const std::map<std::string, std::string>& own_template_texts();

}  // namespace polyte::schedule
