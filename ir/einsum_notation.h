// Einsum's subscripts, `mk,kn->mn`, which are no index notation: for a message that says what is.
#pragma once

#include <string>

namespace polyte::ir {

// What it is in index notation: "C[m,n] = sum[k] A[m,k]*B[k,n]". Operands are named A, B, .. in
// order and the output with the next letter; letters that the output lacks are summed over. Without
// an arrow the output has the letters that appear once. Empty where the text is not einsum's.
std::string index_notation_of_einsum(const std::string& text);

}  // namespace polyte::ir
