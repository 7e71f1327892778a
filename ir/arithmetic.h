// The value semantics of expr.h for one element, shared by the two interpreters (and by literals):
// what every code generator must reproduce bit for bit. A Scalar carries no type; the DType says
// which member is meant: `real` for floats (exactly representable in the type), `integer` otherwise
// (sign- or zero-extended to the type's value; u64 by its bits; Bool 0 or 1).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/expr.h"
#include "support/dtype.h"

namespace polyte::ir {

bool is_defined(UnaryOp op, DType type);   // Neg of bool is not, Sqrt of i32 is not, ...
bool is_defined(BinaryOp op, DType type);  // comparisons: the type of the operands
bool is_comparison(BinaryOp op);

namespace arithmetic {

union Scalar {
  std::int64_t integer = 0;
  double real;
};

inline Scalar of_real(double value) {
  Scalar s;
  s.real = value;
  return s;
}
inline Scalar of_integer(std::int64_t value) {
  Scalar s;
  s.integer = value;
  return s;
}

// To the nearest value of a float type, ties to even.
double round_to(DType type, double value);
std::int64_t wrap_to(DType type, std::int64_t value);  // modulo 2^width; Bool: the lowest bit
Scalar apply(UnaryOp op, DType type, Scalar a);
Scalar apply(BinaryOp op, DType type, Scalar a, Scalar b);  // `type` of the operands
Scalar fma(DType type, Scalar a, Scalar b, Scalar c);
Scalar cast(DType to, DType from, Scalar a);

Scalar load(DType type, const std::byte* address);
void store(DType type, std::byte* address, Scalar value);

}  // namespace arithmetic
}  // namespace polyte::ir
