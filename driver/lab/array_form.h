// A Program in the words of array libraries: operations on whole arrays in order, as NumPy,
// XLA, torch and ONNX have them. A statement over a box becomes views of what it reads
// (slices, transposed and broadcast to the statement's axes), elementwise operations, a reduction,
// contraction or convolution, and a store into a slice:
//
//   C.update[m, n] = sum[k] A[m, k] * B[k, n]
//     ->   view A -> v0; view B -> v1; einsum v0 v1 -> v2; store v2 in C
//
// Padded reads are padded arrays, triangular domains masks, small windows sums of shifted slices
// where they are no convolution, ordered loops that do not read their counter stay loops. What
// these words cannot say is declined with its reason: in-place recurrences, scatters, loops
// whose steps differ.
#pragma once

#include <nlohmann/json.hpp>

#include "ir/program.h"
#include "support/result.h"

namespace polyte::lab {

// Of a Program whose sizes are bound: {"buffers": [{"name", "dtype", "shape", "role"}], "steps":
// [..]}. Every value has the rank of its statement, one where it does not vary. bench/lab_peers
// executes them; its README lists the steps.
Result<nlohmann::ordered_json> array_form(const ir::Program& program);

}  // namespace polyte::lab
