// Expressions of Program text: first a tree of what is written, then, when iterators, their ranges
// and the buffers are known, affine forms and typed expressions. Types flow from buffers and casts;
// literals and affine values of iterators adapt to what stands beside them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/lexer.h"
#include "ir/program.h"

namespace polyte::ir::text {

enum class TreeKind { Integer, Real, Name, Element, Call, Negate, Infix, Brackets };

struct Tree;
using TreePtr = std::shared_ptr<const Tree>;
struct Tree {
  TreeKind kind;
  int line = 0;
  std::string text;             // digits, name or sign
  std::vector<TreePtr> parts;   // subscripts, arguments, operands
  TreePtr otherwise;            // of a guarded element
  bool explicit_guard = false;  // `x[i] if ... else v`
  std::vector<TreePtr> guard;   // comparisons
};

TreePtr parse_tree(Cursor& cursor);                      // a whole expression
TreePtr parse_sum(Cursor& cursor);                       // without comparisons: subscripts, bounds
std::vector<TreePtr> parse_conjunction(Cursor& cursor);  // comparisons joined by `and`
TreePtr negated(const TreePtr& tree);                    // a number becomes its negative
// Names in order of appearance; those that stand as x[...] are not included, their subscripts are.
void collect_names(const TreePtr& tree, std::vector<std::string>& names);
void for_each_tree(const TreePtr& tree, const std::function<void(const Tree&)>& visit);

struct Scope {
  const Program* program = nullptr;  // buffers and parameters
  std::vector<std::string> iterators;
  const DomainFacts* facts = nullptr;  // for the guards that `else` implies
};

// Each throws a Fault.
Affine expect_affine(const TreePtr& tree, const Scope& scope, const std::string& what);
std::vector<Constraint> to_constraints(const std::vector<TreePtr>& comparisons, const Scope& scope);
Expr to_expr(const TreePtr& tree, DType type, const Scope& scope);  // of that type
// What the text itself says.
std::optional<DType> natural_type(const TreePtr& tree, const Scope& scope);
std::vector<Index> to_indices(const std::vector<TreePtr>& subscripts, const Scope& scope);

}  // namespace polyte::ir::text
