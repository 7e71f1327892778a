// The styles of random Programs: each adds statements to a draft (random_program.h lists them).
#pragma once

#include "driver/judge/fuzz/program_draft.h"
#include "driver/judge/fuzz/random_program.h"

namespace polyte::fuzz {

// Pointwise definitions, reductions, argmin and argmax.
void pipeline(ProgramDraft& draft, int statements);
void region(ProgramDraft& draft);        // stencils, recurrences, eliminations, scans
void in_place(ProgramDraft& draft);      // one update of an inout tensor
void instructions(ProgramDraft& draft);  // rows of a few elements that tiles divide, or nearly

// Whole Programs.
RandomProgram flat(Random& random);  // matrices in one dimension: their rows are in the subscripts
RandomProgram scaled(Random& random);  // products of operands that are computed as they are read
RandomProgram turns(Random& random);   // results that definitions fill in turn, and look-ups

}  // namespace polyte::fuzz
