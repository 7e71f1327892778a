// Rows of a recurrence side by side: a sum that takes its terms from all rows before its own, as
// substitution in a triangle does. Row by row each waits for the one before to be finished, added
// up and stored. In blocks of rows, the terms from before the block are added for all of them
// together, a load of x for all rows and a stream of L for each; within the block the rows follow
// each other as they did.
//
//   i > { j > S1; S2 }      S1: x[i] -= L[i, j] * x[j] for j in 0..i
//   i.o > { [i.i] > <j.i> > v.init; far > [i.i] > <j.i> > v.update.far;
//           [i.i] > { near > <j.i> > v.update.near; [j.i] > S1; S2 } }
#pragma once

#include <optional>
#include <string>

#include "poly/order_plan.h"

namespace polyte::poly {

// What a script calls a sum: its tensor, or the statement where others update that, too.
std::string name_of_sum(const ir::Program& program, const ir::Statement& sum);

// The nest with the sum so, in parts (its contract names the loop of the sum); nullopt where the
// sum's loop does not stand alone in the loop of its rows, beside statements without loops, or its
// terms are not those before its row. Nothing is proved.
std::optional<schedule::NestPlan> with_recurrent_rows(const ir::Program& program,
                                                      const schedule::NestPlan& nest,
                                                      const std::string& sum,
                                                      const OrderPlan::Inner& inner,
                                                      const Machine& machine);

}  // namespace polyte::poly
