// Polyte's manual schedules: for each structure of Program (not for each operator) the
// schedule that a person who knows the machine would write, as a file of Script text with
// holes (*.sched; docs/templates.md).
//
// A Program is a sequence of nests. Of each, templates.table says which file it takes, by
// its structure and sizes; the cost model fills the file's holes; what stands in the file
// becomes the Script.
#pragma once

#include <string>
#include <vector>

#include "schedule/script/refused_script.h"
#include "schedule/templates/template_text.h"
#include "support/machine.h"
#include "support/result.h"

namespace polyte::schedule {

// Which template a nest has taken.
struct TemplateUse {
  std::string statement;           // the first of the nest
  std::string name, origin, text;  // of the file
  std::vector<std::string> roles;  // "lane = n", "Mr = 13"
};

struct TemplateOptions {
  bool keep_order = false;  // of floating-point sums: no `reassoc`
  // Receives which statements stay in reference order, and why.
  std::vector<std::string>* notes = nullptr;
  const TemplateSet* templates = nullptr;    // null: own_templates()
  std::vector<TemplateUse>* uses = nullptr;  // receives what the nests took, in order
  // Not of templates but of poly (PolyOptions): whether it proves, and what it weighed.
  bool proves = true;
  std::vector<std::string>* considered = nullptr;
  std::vector<RefusedScript>* refused = nullptr;  // the same: what it tried and the proof refused
};

// A Script whose directives carry Provenance::Template, those of filled holes
// Provenance::TileModel. Sizes of the Program must be numbers. UserError: a file of `templates` is
// no Script for the nest that takes it.
Result<Script> make_template(const ir::Program& program, const Machine& machine,
                             const TemplateOptions& options = {});

}  // namespace polyte::schedule
