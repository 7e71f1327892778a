// One step of an ordered region: a Program of its own, which is scheduled as any other, and whose
// schedule is that of every step.
//
//   loop t in 0..T                        i.o > { <i.i> > top.init; b > <i.i> > top.update }
//     top[i] = max[b] best[i, b]          i.o > ..
//     next[i] = min[r] x[top[i] + r]
//                                         t > { i.o > { <i.i> > top.init; .. }; i.o > .. }
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ir/program.h"
#include "schedule/script/script.h"

namespace polyte::schedule {

// The outermost region of the Program whose first statement this is; null: none. The statement's
// address counts.
const ir::Region* region_begun_by(const ir::Program& program, const ir::Statement& statement);

// The step in the middle. Loops whose ranges depend on it are Program::open, all that it writes is
// a result. Bounds of the region are numbers, and it has steps.
ir::Program middle_step(const ir::Program& program, const ir::Region& region);

// Whether nests of a step change nothing: loops without lanes or tiles.
bool is_reference_order(std::span<const Directive> directives);

// Directives from the first of `begins` on, at which those of the nests of a step begin (there is
// one), become those of one nest of the region: what stands before each `nest`, the nest, what
// stands behind each. `by`: of that nest. Statements without a nest are in their places, in
// reference order. Copies of what a step writes are made in each step.
void join_steps(const ir::Program& program, const ir::Region& region,
                std::span<const std::size_t> begins, Provenance by,
                std::vector<Directive>& directives);

}  // namespace polyte::schedule
