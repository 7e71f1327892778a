// Expressions of C as values of Program text: C's conversions are written out as casts, what is
// affine stays affine.
//
//    x[i] + n[j]      x[i] + f64(n[j])      with double x[N] and int n[N]
//    x[i] * 2         x[i] * 2              a number takes the type beside it
//    x[i] + i         x[i] + f64(i)
#pragma once

#include "frontend/c/c_names.h"
#include "ir/affine.h"

namespace polyte::frontend::c {

struct Value {
  std::string text;
  DType type = DType::I32;
  bool adapts = false;   // a number or affine: takes the type that it stands beside
  bool compound = true;  // wants brackets as an operand
  std::optional<ir::Affine> affine;
};

class Values {
 public:
  explicit Values(Names& names) : names_(names) {}

  Value value(const TreePtr& tree);
  std::string as(const Value& value, DType type) const;  // converted, as C converts
  std::string condition(const TreePtr& tree);            // a bool
  // An element or a scalar; counts as read or written.
  std::string access(const TreePtr& tree, bool write);
  DType type_of_access(const TreePtr& tree);

  // Of integers without memory; nullopt: is not affine.
  std::optional<ir::Affine> affine(const TreePtr& tree);
  ir::Affine expect_affine(const TreePtr& tree, const std::string& what);
  // A conjunction of affine comparisons; nullopt: is none.
  std::optional<std::vector<ir::Constraint>> constraints(const TreePtr& tree);

  void set_range(const std::string& iterator, const ir::Interval& range) {
    ranges_[iterator] = range;
  }
  const ir::Ranges& ranges() const { return ranges_; }
  int reads() const { return reads_; }  // of memory, so far

 private:
  Names& names_;
  ir::Ranges ranges_;
  int reads_ = 0;

  std::optional<ir::Affine> affine_name(const Token& at);
  std::optional<ir::Affine> affine_division(const TreePtr& tree, const ir::Affine& a,
                                            const ir::Affine& b);
  Variable& variable(const Token& at);
  Value name(const TreePtr& tree);
  Value number(const TreePtr& tree) const;
  Value unary(const TreePtr& tree);
  Value binary(const TreePtr& tree);
  Value logical(const TreePtr& tree);
  Value choice(const TreePtr& tree);
  Value call(const TreePtr& tree);
  std::string operand(const Value& value, DType type) const;
};

}  // namespace polyte::frontend::c
