// Expressions and accesses of loop text: `(x[m, k; 8 by 0,1] + fma(a[i], b[i], c[i]))`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "ir/loop_cursor.h"
#include "ir/loop_program.h"

namespace polyte::ir::loop_text {

DType parse_type(const std::string& name);

class ExprParser {
 public:
  void declare(const std::string& buffer, DType type) { types_[buffer] = type; }

  Expr expr(Cursor& c);
  // `[m, k + {index[k]}; 8 by 0,1 if n]`: subscripts, lanes.
  void access(Cursor& c, std::vector<Index>& indices, Lanes& into);

 private:
  std::map<std::string, DType> types_;  // of what is declared

  void lanes(Cursor& c, Lanes& into);
  Index index(Cursor& c);
  Expr bare_expr(Cursor& c);
  Expr bracketed(Cursor& c);
  Expr guard(Cursor& c, const Expr& access);
  Expr load(Cursor& c, const std::string& name);
  Expr literal(Cursor& c, DType dtype);
  Expr index_value(Cursor& c, DType dtype);
  Expr lane_read(Cursor& c);
  Expr call(Cursor& c, const std::string& name);
  Expr call_body(Cursor& c, const std::string& name);
  std::vector<Expr> arguments(Cursor& c);
};

}  // namespace polyte::ir::loop_text
