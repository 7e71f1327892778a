// Expressions of element-wise operators, in short words.
#pragma once

#include "ir/expr.h"

namespace polyte::graph {

inline ir::Expr add(const ir::Expr& a, const ir::Expr& b) {
  return ir::make_binary(ir::BinaryOp::Add, a, b);
}
inline ir::Expr sub(const ir::Expr& a, const ir::Expr& b) {
  return ir::make_binary(ir::BinaryOp::Sub, a, b);
}
inline ir::Expr mul(const ir::Expr& a, const ir::Expr& b) {
  return ir::make_binary(ir::BinaryOp::Mul, a, b);
}
inline ir::Expr div(const ir::Expr& a, const ir::Expr& b) {
  return ir::make_binary(ir::BinaryOp::Div, a, b);
}
inline ir::Expr is_less(const ir::Expr& a, const ir::Expr& b) {
  return ir::make_binary(ir::BinaryOp::Lt, a, b);
}
inline ir::Expr unary(ir::UnaryOp op, const ir::Expr& a) { return ir::make_unary(op, a); }
inline ir::Expr choose(const ir::Expr& c, const ir::Expr& a, const ir::Expr& b) {
  return ir::make_select(c, a, b);
}

}  // namespace polyte::graph
