// Statements from the parts a person writes: ranges, predicates, reductions. The one place that
// decides the order of iterators, the domain and what an initial value is; used by the builder, the
// parser and the printer.
#pragma once

#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/program.h"

namespace polyte::ir {

struct StatementParts {
  std::string name;  // of the statement; of a reduction the part before ".init" and ".update"
  std::vector<Range> regions;
  std::vector<Range> ranges;      // own iterators in reference order
  std::vector<Range> reductions;  // further iterators, after `ranges`
  std::vector<Constraint> where;
  Combiner combiner = Combiner::None;
  std::vector<Access> writes;
  std::vector<Expr> values;
  Expr guard;
};

// One statement, an assignment or an update in place.
Statement assemble(const StatementParts& parts);
// <name>.init, identity (or `initial`) over `ranges`, and <name>.update. Predicates of `where` that
// no reduction occurs in hold for both.
std::vector<Statement> assemble_reduction(const StatementParts& parts,
                                          const std::vector<Expr>& initial = {});

// "acc" for an assignment to acc, "acc.update" for an update in place.
std::string default_name(Combiner combiner, const std::string& buffer);

// Extents that hold every subscript of `write` over the ranges (outer first).
std::vector<Affine> extents_of(const Access& write, const std::vector<Range>& ranges);

}  // namespace polyte::ir
