// Which work wants tiles of registers, before any is planned.
#pragma once

#include <span>

#include "ir/program.h"
#include "schedule/state/state.h"

namespace polyte::poly {

// Most of these statements' iterations are of products whose operands are all read again by
// iterations of free loops. Of an update and what begins it either alone is meant.
bool wants_register_tiles(const ir::Program& program, const schedule::State& reference,
                          std::span<const ir::Statement* const> statements);

}  // namespace polyte::poly
