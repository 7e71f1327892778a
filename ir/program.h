// Program: what is computed. Statements `write op= value` over integer domains, and a reference
// order; no loops, no storage decisions. The reference order defines the meaning; a schedule may
// change it as far as the dependences allow.
//
//   program dense_relu(M, N, K)
//     in    x: f32[M, K]
//     const w: f32[K, N]
//     in    b: f32[N]
//     out   y: f32[M, N]
//     acc[m, n] = sum[k] x[m, k] * w[k, n]        # two statements: acc.init and acc.update
//     y[m, n]   = max(acc[m, n] + b[n], 0)
//
// Reference order: statements in text order; the instances of one statement lexicographic in its
// iterators (left-hand side first, then reductions in order of appearance); a Region runs its body
// once per iteration.
#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "ir/expr.h"
#include "support/out_of_line.h"

namespace polyte::ir {

// What a Program does with a buffer: the caller gives it (Const: when the kernel is compiled or
// first bound), takes it, gives and takes it, or never sees it.
enum class Role { In, Const, Out, InOut, Temp };
std::string to_string(Role role);  // "in", as Program text has it

// A tensor of the Program: dense, row-major, one element of `dtype` per point of `shape`.
struct Buffer {
  std::string name;
  Role role = Role::Temp;
  DType dtype = DType::F32;
  // Extents in elements, outermost first, over parameters; none: one element.
  std::vector<Affine> shape;
};

// None assigns. The others update: write = combine(write, value); all are associative and, up to
// rounding, commutative. ArgMin and ArgMax are tuples: writes[0] the value, writes[1] the index
// (ties keep the lower index).
enum class Combiner { None, Sum, Product, Min, Max, And, Or, ArgMin, ArgMax };
std::string to_string(Combiner combiner);  // "sum", "argmax"

// An element of a buffer, as a statement names it.
struct Access {
  std::string buffer;
  std::vector<Index> indices;  // one per dimension, over the statement's iterators
};

// `write op= value` at every point of `domain`; a tuple (ArgMin, ArgMax) writes two elements
// at once.
struct Statement {
  POLYTE_OUT_OF_LINE(Statement);

  std::string name;                     // "acc.init", "acc.update", "y", or a person's label
  std::vector<std::string> iterators;   // enclosing regions' first, then own, in reference order
  int region_depth = 0;                 // how many of them belong to regions
  std::vector<std::string> reductions;  // iterators that are not subscripts of the write
  std::vector<Constraint> domain;       // conjunction over iterators and parameters
  Combiner combiner = Combiner::None;
  std::vector<Access> writes;  // one; two for ArgMin and ArgMax
  std::vector<Expr> values;    // one per write
  // Run-time condition (Bool) or null: where it is false nothing is written.
  Expr guard;
};

// The value that a write receives: values[i] itself for None, else the combination with `current`,
// one expression per write. A Sum of a product of floats is fma(a, b, current): the product
// is not rounded.
std::vector<Expr> combined_values(const Statement& statement, const std::vector<Expr>& current);
bool is_fused_product(Combiner combiner, const Expr& value);
// The value as 1 * value if it is a product that would otherwise be fused, so that the product is
// rounded before it is added. Other values are returned as they are.
Expr rounded_term(Combiner combiner, const Expr& value);
Expr identity_of(Combiner combiner, DType type);  // 0, 1, +inf or the largest integer, ...

struct Region;
// Index into Program::statements, or an ordered region.
using Item = std::variant<std::size_t, Region>;

// Loop iterator in begin..end, upwards (step 1) or downwards (step -1: end-1 first).
struct Region {
  POLYTE_OUT_OF_LINE(Region);
  // Without a body yet; `by` is 1 or -1.
  Region(std::string over, Affine first, Affine stop, int by);

  std::string iterator;
  Affine begin, end;
  int step = 1;
  std::vector<Item> body;
};

// A value: copies are deep but for expressions, which are immutable and shared. verify() says
// whether it makes sense.
struct Program {
  POLYTE_OUT_OF_LINE(Program);

  std::string name;
  std::vector<std::string> params;    // sizes that stay open, in elements; none once all are bound
  std::vector<Constraint> context;    // what is known of the parameters; all extents are >= 0 too
  std::vector<Buffer> buffers;        // interface in order, then temporaries
  std::vector<Statement> statements;  // in text order
  std::vector<Item> order;            // of the statements: each once, in or outside a region
  // The sizes that bind() has put in for parameters, so that scripts can still name them. No
  // part of the text.
  Values sizes = {};
  // The digest of the Program that bind() was given; empty: nothing is bound. No part of the text.
  std::string open_digest = {};
  // Iterators whose ranges only stand for those of open sizes: at_typical (ir/open_program.h).
  // No part of the text either.
  std::set<std::string> open = {};

  const Buffer* find_buffer(const std::string& name) const;        // null if absent
  const Statement* find_statement(const std::string& name) const;  // null if absent
  const Buffer& buffer(const std::string& name) const;             // InternalError if absent
  const Statement& statement(const std::string& name) const;       // InternalError if absent
  // All but Temp, in order: the kernel's arguments.
  std::vector<const Buffer*> interface() const;
};

// Structural; a domain and a context as sets.
bool equal(const Statement& a, const Statement& b);
bool equal(const Program& a, const Program& b);

// Every problem found; empty if the Program is well formed: names unique, iterators bounded,
// subscripts in bounds where that can be decided, no read of an element that nobody wrote, types
// agree, Const never written.
std::vector<std::string> verify(const Program& program);

// The parameter that a user means by `name`: the one of that name, or, in index notation, the
// extent of the iterator of that name (m: M, or Nm where M is a tensor).
std::optional<std::string> find_param(const Program& program, const std::string& name);

// The Program with parameters replaced by numbers, found by find_param (the domain stays as it
// is otherwise; the others stay open). UserError: an unknown or negative size, a negative extent,
// a violated context.
Program bind(const Program& program, const Values& sizes);

// The extents of a buffer whose shape is constant; InternalError if one is open.
std::vector<std::int64_t> constant_shape(const Buffer& buffer);

// The element type of its last result; f32 where there is none.
inline DType result_type(const Program& program) {
  DType type = DType::F32;
  for (const Buffer& buffer : program.buffers)
    if (buffer.role == Role::Out || buffer.role == Role::InOut) type = buffer.dtype;
  return type;
}

// First 6 hex digits of a hash of the canonical text (tensors and iterators renamed by order of
// appearance). That of the Program before its sizes were bound: a script is for all of them.
std::string digest(const Program& program);
std::string digest_of_text(const Program& program);  // of the text as it stands, sizes and all
std::string canonical_text(const Program& program);

}  // namespace polyte::ir
