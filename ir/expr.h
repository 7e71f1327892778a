// Typed scalar (and, in loop programs, vector) expressions: immutable and shared, one struct per
// kind of node. Both Program and LoopProgram compute with them; lanes > 1 occurs in LoopProgram
// only.
//
// Arithmetic (what every interpreter and code generator must do, bit for bit):
//   floats   IEEE, one rounding per operation; f16 and bf16 compute each operation in f32 and
//            round the result; Min and Max return NaN if an operand is NaN and order -0 below
//            +0; Fma rounds once
//   integers wrap; Div truncates towards zero, x / 0 is 0, MIN / -1 wraps; Mod is x - (x / y) * y,
//            x % 0 is 0; shifts take the amount modulo the width
//   Within   of i64: a if 0 <= a < b, otherwise the whole execution fails (interpreters throw
//            UserError(InvalidInput))
//   Bool     0 or 1; And Or Xor Not; on integers these are bitwise
//   Cast     float to integer truncates and saturates, NaN gives 0; to Bool is x != 0; integer to
//            integer wraps; f64 to f16 or bf16 rounds once, integers go there through f32
//   Exp Log Tanh Erf Sigmoid Pow Sin Cos are within 4 ULP of the true value; everything else is
//            exact as above
#pragma once

#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "ir/affine.h"
#include "support/dtype.h"

namespace polyte::ir {

struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;  // null only where a member says so

// Round: half to even; Tf32, of f32 alone: the nearest of 11 significant bits, ties away from zero.
enum class UnaryOp {
  Neg,
  Abs,
  Not,
  Sqrt,
  Floor,
  Ceil,
  Round,
  Trunc,
  Exp,
  Log,
  Tanh,
  Erf,
  Sigmoid,
  Sin,
  Cos,
  Tf32
};
enum class BinaryOp {
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Min,
  Max,
  Pow,
  And,
  Or,
  Xor,
  Shl,
  Shr,
  Within,
  Eq,
  Ne,
  Lt,
  Le
};

// One subscript: affine + indirect. `indirect` (may be null) is an integer expression read at run
// time: a gather or scatter, which analyses over-approximate by the whole extent of the dimension.
struct Index {
  Affine affine;
  Expr indirect;
  Index() = default;
  Index(Affine a) : affine(std::move(a)) {}  // NOLINT: implicit by design
  Index(Affine a, Expr e) : affine(std::move(a)), indirect(std::move(e)) {}
};

// How a vector access or index value varies over lanes: lane l adds l * stride. Only lanes
// skipped <= l < active touch memory, others read 0; both are affine counts, which may be negative
// or above the number of lanes.
struct Lanes {
  int count = 1;
  // One per subscript (loads, stores), one entry for an IndexValue.
  std::vector<std::int64_t> strides;
  std::optional<Affine> active = {}, skipped = {};

  bool is_masked() const { return active || skipped; }
};

struct Literal {
  double real = 0;           // float types
  std::int64_t integer = 0;  // integer types and Bool; u64 by its bits
};
struct IndexValue {  // an affine index as a number of the node's (integer or float) type
  Affine value;
  Lanes lanes;
};
// Reads buffer[indices]. Where any of `guard` fails (never empty together with a set `otherwise`)
// nothing is read and the value is `otherwise`: the padded read `x[...] else 0`.
struct Load {
  std::string buffer;
  std::vector<Index> indices;
  std::vector<Constraint> guard;
  Expr otherwise;  // null: unguarded
  Lanes lanes;
};
struct Unary {
  UnaryOp op;
  Expr a;
};
struct Binary {  // operands of one type; comparisons give Bool
  BinaryOp op;
  Expr a, b;
};
struct Fma {  // a * b + c
  Expr a, b, c;
};
struct Select {  // condition ? a : b, both evaluated
  Expr condition, a, b;
};
struct Cast {
  Expr a;
};
struct Broadcast {  // a scalar to all lanes of the node
  Expr a;
};
// The register that `load` names, but of another lane of the warp: lane number `lane` modulo 32
// (shfl.sync). All lanes of the warp execute it together; each has its own register of that
// name, and its subscripts are the same in all lanes. It is the whole value of a store, never
// part of an expression. A register that was never written may be moved; its value stays
// undefined.
struct LaneRead {
  Expr load;
  Affine lane;
};

struct ExprNode {
  DType type;
  int lanes = 1;
  std::variant<Literal, IndexValue, Load, Unary, Binary, Fma, Select, Cast, Broadcast, LaneRead> op;
};

// Makers check operand types (POLYTE_CHECK) and fold no operations. A literal is converted to its
// type (rounded, wrapped).
Expr make_float(DType type, double value);
Expr make_int(DType type, std::int64_t value);
Expr make_literal(DType type, double value);             // integer types take the truncated value
Expr make_index(Affine value, DType type = DType::I64);  // a Literal where the value is constant
Expr make_load(DType type, std::string buffer, std::vector<Index> indices);
Expr make_guarded_load(DType type, std::string buffer, std::vector<Index> indices,
                       std::vector<Constraint> guard, Expr otherwise);
Expr make_unary(UnaryOp op, Expr a);
Expr make_binary(BinaryOp op, Expr a, Expr b);
Expr make_fma(Expr a, Expr b, Expr c);
Expr make_select(Expr condition, Expr a, Expr b);
Expr make_cast(DType type, Expr a);  // a itself where the type is the same
Expr make_broadcast(Expr a, int lanes);
Expr make_lane_read(Expr load, Affine lane);

bool equal(const Expr& a, const Expr& b);  // structural
std::string to_string(UnaryOp op);         // "exp"
std::string to_string(BinaryOp op);        // "+", "max"
std::string to_string(const Expr& e);      // infix, as Program text has it

// Rebuilds bottom-up: `leaf` gets every Load, IndexValue and LaneRead, after what is below it (the
// indirect subscripts and `otherwise` of a Load, the load of a LaneRead) has been rewritten, and
// returns a replacement or the same expression.
Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& leaf);
// Top-down: a part for which `whole` returns an expression is replaced by it; where `whole` returns
// null the search goes on inside the part.
Expr replace(const Expr& e, const std::function<Expr(const Expr&)>& whole);
Expr substitute(const Expr& e, const Bindings& bindings);  // in every affine part
// Pre-order, subscripts too.
void for_each_node(const Expr& e, const std::function<void(const ExprNode&)>& visit);
// Of its subscripts, guards and values of iterators.
std::set<std::string> symbols_of(const Expr& e);
std::vector<const Load*> loads_of(const Expr& e);  // in order of appearance

}  // namespace polyte::ir
