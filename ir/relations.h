// What a statement reads, whether two statements meet at the same elements only, and which two are
// one reduction: what a scheduler asks before it brings statements together. Names and subscripts
// are compared literally: a `no` may become a `yes` once the same is written in other words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace polyte::ir {

// Of values, guard and written subscripts, nested ones too.
std::vector<const Load*> reads_of(const Statement& statement);
bool reads(const Statement& statement, const std::string& buffer);
// Rewrites (ir/expr.h) wherever the statement reads: values, guard and written subscripts.
void rewrite_reads(Statement& statement, const std::function<Expr(const Expr&)>& leaf);

// At each point of loops that both share: another buffer, or the same element. A subscript read
// from memory may be any element.
bool is_apart_or_same(const Access& a, const Access& b);

// No read of `reader` is at another element of what `writer` writes.
bool reads_apart(const Statement& reader, const Statement& writer);

// At each point they read and write of one another, or a statement of itself, the same
// elements only.
bool stay_at_their_point(const Statement& a, const Statement& b);

// They fill one buffer in turn: what each writes differs by less than the step that both write it
// at, so that they never meet, and neither reads what the other writes.
//
//   y[2*i] = a[i] + b[i]
//   y[2*i + 1] = a[i] - b[i]
bool write_in_turn(const Statement& a, const Statement& b);

// Indices of all statements of a region's body or a Program's order, in order.
std::vector<std::size_t> statements_in(const std::vector<Item>& items);

// The same buffers with some of the statements, as their order had them; empty regions go.
Program with_statements(const Program& program, const std::function<bool(const Statement&)>& keep);

// The same as a Program of its own: what other statements write before it is given to it, and what
// it writes for others is a result. A result that was begun before it is both.
Program part_of(const Program& program, const std::function<bool(const Statement&)>& keep);

std::vector<std::string> free_iterators(const Statement& update);  // all but its reductions

// acc[i] = 0, then acc[i] += ..: the first writes every element that the second updates, at its own
// point, and neither reads others of them.
bool starts_reduction(const Statement& init, const Statement& update);

}  // namespace polyte::ir
