// ProgramBuilder: writing a Program in C++. The same Program as the text would give, verified
// by build().
//
//   ProgramBuilder p("dense_relu", {"M", "N", "K"});
//   p.declare("x", Role::In, DType::F32, {Affine::symbol("M"), Affine::symbol("K")});  ...
//   p.reduce({"acc", {m, n}}, {{"m", 0, M}, {"n", 0, N}}, {{"k", 0, K}}, Combiner::Sum,
//            x_mk * w_kn);
//   p.define({"y", {m, n}}, {{"m", 0, M}, {"n", 0, N}}, value);
#pragma once

#include <initializer_list>

#include "ir/program.h"

namespace polyte::ir {

// An iterator and the values it takes.
struct Range {
  std::string name;
  Affine begin, end;    // begin <= name < end
  bool bounded = true;  // false: no range of its own, other constraints bound it
};

// Collects statements in the order of the calls; build() verifies them.
class ProgramBuilder {
 public:
  // `params`: the sizes that stay open.
  explicit ProgramBuilder(std::string name, std::vector<std::string> params = {});

  // Declares a buffer; shapes over parameters. The name must be new.
  void declare(std::string name, Role role, DType dtype, std::vector<Affine> shape);
  // A fresh name: `base`, or base_2, base_3, ... where it is taken.
  std::string fresh(const std::string& base) const;

  // write = value for every point of `ranges` (and `where`). Declares `write.buffer` as Temp if
  // it is not declared, with extents from the subscripts' ranges (declare it first where several
  // statements write parts).
  void define(Access write, std::vector<Range> ranges, Expr value,
              std::vector<Constraint> where = {}, std::string label = {});
  // Two statements, <name>.init = identity (or `initial`) over `ranges`, <name>.update op= value
  // over ranges and `reductions`.
  void reduce(Access write, std::vector<Range> ranges, std::vector<Range> reductions,
              Combiner combiner, Expr value, std::vector<Constraint> where = {},
              Expr initial = nullptr);
  // Tuple reduction (ArgMin, ArgMax): `value` over index `position`; writes[0] value,
  // writes[1] position.
  void reduce_arg(std::vector<Access> writes, std::vector<Range> ranges,
                  std::vector<Range> reductions, Combiner combiner, Expr value, Expr position,
                  std::vector<Constraint> where = {});
  // A statement as it is.
  void add(Statement statement);
  // Everything added until end_region() runs inside the ordered region.
  void begin_region(std::string iterator, Affine begin, Affine end, int step = 1);
  void end_region();

  const Buffer& buffer(const std::string& name) const;  // InternalError if it is not declared
  // buffer[subscripts] of the declared type.
  Expr load(const std::string& buffer, std::vector<Affine> subscripts) const;
  // Guarded read: `otherwise` where a subscript is outside the buffer's shape. Only bounds that
  // can be violated for `ranges` (the statement's) get a guard; an iterator without a range
  // can be anything.
  Expr padded_load(const std::string& buffer, std::vector<Affine> subscripts, Expr otherwise,
                   const std::vector<Range>& ranges = {}) const;

  // The Program; UserError(InvalidInput) with every problem if it does not verify.
  Program build() const;
  Program build_unverified() const;

 private:
  Program program_;
  std::vector<Region> open_regions_;
  void append(Item item);
};

}  // namespace polyte::ir
