// Text of Programs: printing, parsing, and the one-line index notation of the command line.
// docs/program-text.md is the grammar. print(parse(text)) is stable; parse(print(p)) equals p.
#pragma once

#include <string>
#include <string_view>

#include "ir/program.h"
#include "support/result.h"

namespace polyte::ir {

std::string print(const Program& program);  // all ranges said, named constants written out

// One or more programs in a file. All problems at once: UserError(InvalidInput), each
// `origin:line: ...`.
std::vector<Program> parse_programs(std::string_view text, const std::string& origin);
Program parse_program(std::string_view text, const std::string& origin);  // exactly one

// One value, `2 * A[m, k]`, as it may stand in this statement of the Program: its type is that of
// what it reads. Declines what is no value, or has no type of its own.
Result<Expr> parse_value(std::string_view text, const Program& program, const Statement& statement);

// `C[m,n] = sum[k] A[m,k]*B[k,n]`, several lines or `;` between statements: tensors read but never
// written are inputs, the last one written is the output, others temporaries; a symbol m is an
// extent of the same name where it subscripts a dimension directly. All tensors have type `dtype`.
Program parse_index_notation(std::string_view text, DType dtype);

}  // namespace polyte::ir
