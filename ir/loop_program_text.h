// Shared by the printer and the parser of loop text (ir/loop_program.h declares both): names of
// operations. Loop text writes an operation with a word for a name as a call, `max(a, b)`, and the
// others infix in brackets.
#pragma once

#include <string>

#include "ir/loop_program.h"

namespace polyte::ir::loop_text {

std::string function_name(UnaryOp op);  // "neg", "exp"

}  // namespace polyte::ir::loop_text
