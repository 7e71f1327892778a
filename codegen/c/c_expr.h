// Expressions, affine values and conditions of loop IR as C. What C cannot say is collected,
// not thrown.
#pragma once

#include <string>
#include <vector>

#include "codegen/c/c_helpers.h"
#include "codegen/c/c_names.h"
#include "ir/expr.h"

namespace polyte::codegen {

class CExprs {
 public:
  CExprs(CNames& names, CHelpers& helpers, std::set<std::string>& problems)
      : names_(names), helpers_(helpers), problems_(problems) {}

  std::string value(const ir::Expr& e);  // the whole right-hand side of something
  std::string affine(const ir::Affine& e);
  std::string access(const std::string& buffer, const std::vector<ir::Index>& indices);
  std::string conditions(const std::vector<ir::Constraint>& conditions);
  void check_type(DType type, const std::string& where);

 private:
  // Binding strength of a piece of text, weakest first.
  enum Strength { Weak, Conditional, Compare, Sum, Product, Sign, Primary };
  struct Piece {
    std::string text;
    Strength strength;
  };
  CNames& names_;
  CHelpers& helpers_;
  std::set<std::string>& problems_;

  Piece piece(const ir::Expr& e);
  std::string within(const Piece& piece, Strength at_least) const;
  std::string operand(const ir::Expr& e, Strength at_least) { return within(piece(e), at_least); }
  Piece affine_piece(const ir::Affine& e);
  std::string comparison(const ir::Constraint& c);
  Piece problem(const std::string& text);

  Piece write(const ir::ExprNode& node, const ir::Literal& o);
  Piece write(const ir::ExprNode& node, const ir::IndexValue& o);
  Piece write(const ir::ExprNode& node, const ir::Load& o);
  Piece write(const ir::ExprNode& node, const ir::Unary& o);
  Piece write(const ir::ExprNode& node, const ir::Binary& o);
  Piece write(const ir::ExprNode& node, const ir::Fma& o);
  Piece write(const ir::ExprNode& node, const ir::Select& o);
  Piece write(const ir::ExprNode& node, const ir::Cast& o);
  Piece write(const ir::ExprNode& node, const ir::Broadcast& o);
  Piece write(const ir::ExprNode& node, const ir::LaneRead& o);
  Piece integer_binary(const ir::ExprNode& node, const ir::Binary& o);
  Piece integer_unary(const ir::ExprNode& node, const ir::Unary& o);
};

// Whether the C library computes some part of it, in its own rounding.
bool calls_library(const ir::Expr& e);

}  // namespace polyte::codegen
