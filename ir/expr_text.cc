#include "ir/expr_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "ir/arithmetic.h"

namespace polyte::ir {
namespace {

// The shortest decimal that rounds to the same value; 17 digits always do for f64. Tested by the
// way that the parser goes, strtod and then a rounding to the type.
std::string print_real(DType type, double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[64];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (arithmetic::round_to(type, std::strtod(text, nullptr)) == value) break;
  }
  return text;
}

// Binding strength, weakest first, in the order of kLevels of ir/expr_tree.cc: what is printed
// here is read back there. A guarded read is weaker than everything.
enum Strength {
  Guarded,
  Or,
  And,
  Compare,
  BitOr,
  BitXor,
  BitAnd,
  Shift,
  Sum,
  Product,
  Sign,
  Primary
};

// BinaryOp::And and Or have two spellings each: on Bool `and`, `or`, weaker than comparisons; on
// integers `&`, `|`, stronger. Primary: printed as a call, `max(a, b)`.
Strength strength_of(BinaryOp op, DType operands) {
  switch (op) {
    case BinaryOp::Or:
      return operands == DType::Bool ? Or : BitOr;
    case BinaryOp::And:
      return operands == DType::Bool ? And : BitAnd;
    case BinaryOp::Xor:
      return BitXor;
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      return Shift;
    case BinaryOp::Add:
    case BinaryOp::Sub:
      return Sum;
    case BinaryOp::Mul:
    case BinaryOp::Div:
    case BinaryOp::Mod:
      return Product;
    case BinaryOp::Min:
    case BinaryOp::Max:
    case BinaryOp::Pow:
    case BinaryOp::Within:
      return Primary;
    default:
      return Compare;
  }
}

// `i` needs no brackets anywhere; `2*i` and `i // 2` bind like a product, `-i` and `i + 1` like a
// sum. A single summand is always a term: a lone number would be a Literal (make_index).
Strength strength_of(const Affine& e) {
  if (e.as_symbol()) return Primary;
  const std::size_t summands = e.terms().size() + (e.constant() != 0);
  return summands == 1 && e.terms()[0].coefficient > 0 ? Product : Sum;
}

// Literals and index values do not say their type; `true` and `false` do.
bool is_bare(const Expr& e) {
  return std::holds_alternative<IndexValue>(e->op) ||
         (std::holds_alternative<Literal>(e->op) && e->type != DType::Bool);
}

// `{8: 0, 1 while n - i}`: 8 lanes, the last subscript moves by 1 per lane. Only loops have
// lanes, and this form is for messages: Program text does not parse it.
std::string print_lanes(const Lanes& lanes) {
  if (lanes.count == 1) return "";
  std::string text = "{" + std::to_string(lanes.count) + ":";
  for (std::size_t i = 0; i < lanes.strides.size(); ++i)
    text += (i ? ", " : " ") + std::to_string(lanes.strides[i]);
  if (lanes.skipped) text += " from " + to_string(*lanes.skipped);
  if (lanes.active) text += " while " + to_string(*lanes.active);
  return text + "}";
}

// `typed`: the place or a neighbour says the type, so that a literal or index value can stand
// bare. Where it does not, exactly one operand is printed with `typed` false, and becomes
// `f32(1)`.
class ExprPrinter {
 public:
  explicit ExprPrinter(const ExprStyle& style) : style_(style) {}

  // `at_least`: an expression that binds more weakly is put in brackets.
  std::string operator()(const Expr& e, bool typed, Strength at_least = Guarded) const {
    const auto [text, strength] = print(e, typed);
    return strength < at_least ? "(" + text + ")" : text;
  }

 private:
  struct Piece {
    std::string text;
    Strength strength;
  };
  const ExprStyle& style_;

  Piece print(const Expr& e, bool typed) const {
    return std::visit([&](const auto& op) { return print(e, op, typed); }, e->op);
  }

  // A bare leaf, or its explicitly typed form where nothing beside it says the type.
  static Piece leaf(DType type, std::string text, Strength strength, bool typed) {
    if (typed) return {std::move(text), strength};
    return {std::string(polyte::to_string(type)) + "(" + text + ")", Primary};
  }

  static Piece print(const Expr& e, const Literal& o, bool typed) {
    if (e->type == DType::Bool) return {o.integer ? "true" : "false", Primary};
    std::string text = is_float(e->type) ? print_real(e->type, o.real)
                       : e->type == DType::U64
                           ? std::to_string(static_cast<std::uint64_t>(o.integer))
                           : std::to_string(o.integer);
    return leaf(e->type, std::move(text), Sign, typed);
  }

  static Piece print(const Expr& e, const IndexValue& o, bool typed) {
    if (e->lanes == 1) return leaf(e->type, to_string(o.value), strength_of(o.value), typed);
    // Always written as a call, `i64(i + 1){8: 1}`, so that the braces apply to the whole sum.
    return {leaf(e->type, to_string(o.value), Primary, false).text + print_lanes(o.lanes), Primary};
  }

  // `x[i - 1] else 0` where the subscripts imply the guard, `x[i] if i >= j else 0` where not.
  // After `else` the parser takes one signed operand, so a sum there needs brackets.
  Piece print(const Expr&, const Load& o, bool) const {
    std::string text =
        o.buffer + "[" + print_indices(o.indices, style_) + "]" + print_lanes(o.lanes);
    if (o.guard.empty()) return {std::move(text), Primary};
    if (!style_.is_implied_guard || !style_.is_implied_guard(o))
      text += " if " + print_conjunction(o.guard);
    return {text + " else " + (*this)(o.otherwise, true, Sign), Guarded};
  }

  // Writing the type of a bare operand also keeps the node: `-2` would be read as a literal and
  // `-i` as an affine value, whereas `-f32(2)` is a Neg.
  Piece print(const Expr&, const Unary& o, bool) const {
    const bool typed = !is_bare(o.a);
    if (o.op == UnaryOp::Neg) return {"-" + (*this)(o.a, typed, Sign), Sign};
    return {to_string(o.op) + "(" + (*this)(o.a, typed) + ")", Primary};
  }

  // Operators associate to the left: the right operand of one of equal strength gets brackets.
  // Comparisons do not associate, so both operands do. One typed operand says the type of both;
  // if both are bare, the left one is written with its type: `f32(1) + 2`.
  Piece print(const Expr&, const Binary& o, bool) const {
    const bool typed = !is_bare(o.a) || !is_bare(o.b);
    const Strength strength = strength_of(o.op, o.a->type);
    if (strength == Primary)
      return {to_string(o.op) + "(" + (*this)(o.a, typed) + ", " + (*this)(o.b, true) + ")",
              Primary};
    // a - (b - c) keeps its brackets, (a - b) - c does not: the left operand may bind as weakly
    // as the operator itself.
    const auto tighter = static_cast<Strength>(strength + 1);
    std::string sign = to_string(o.op);
    if (strength == And) sign = "and";
    if (strength == Or) sign = "or";
    const Strength left = strength == Compare ? tighter : strength;
    return {(*this)(o.a, typed, left) + " " + sign + " " + (*this)(o.b, true, tighter), strength};
  }

  Piece print(const Expr&, const Fma& o, bool) const {
    const bool typed = !is_bare(o.a) || !is_bare(o.b) || !is_bare(o.c);
    return {
        "fma(" + (*this)(o.a, typed) + ", " + (*this)(o.b, true) + ", " + (*this)(o.c, true) + ")",
        Primary};
  }

  Piece print(const Expr&, const Select& o, bool) const {
    const bool typed = !is_bare(o.a) || !is_bare(o.b);
    return {"select(" + (*this)(o.condition, true) + ", " + (*this)(o.a, typed) + ", " +
                (*this)(o.b, true) + ")",
            Primary};
  }

  // A cast of a bare value shows both types, `f32(i64(i))`: `f32(i)` is an index value of f32.
  Piece print(const Expr& e, const Cast& o, bool) const {
    return {std::string(polyte::to_string(e->type)) + "(" + (*this)(o.a, !is_bare(o.a)) + ")",
            Primary};
  }

  Piece print(const Expr&, const LaneRead& o, bool) const {
    return {"lane_read(" + (*this)(o.load, true) + ", " + to_string(o.lane) + ")", Primary};
  }

  Piece print(const Expr& e, const Broadcast& o, bool) const {
    return {"broadcast(" + (*this)(o.a, !is_bare(o.a)) + ", " + std::to_string(e->lanes) + ")",
            Primary};
  }
};

// `idx[j] + 2`. The indirect part comes first, as one summand: without brackets the parser would
// take a sum in it apart and move its affine summands to the affine part.
std::string print_index(const Index& index, const ExprStyle& style) {
  if (!index.indirect) return to_string(index.affine);
  std::string text = ExprPrinter(style)(index.indirect, false, Primary);
  if (index.affine == Affine()) return text;
  const std::string affine = to_string(index.affine);
  return text + (affine[0] == '-' ? " - " + affine.substr(1) : " + " + affine);
}

}  // namespace

std::string print_count(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string print_conjunction(const std::vector<Constraint>& constraints) {
  std::string text;
  for (const Constraint& c : constraints) text += (text.empty() ? "" : " and ") + to_string(c);
  return text;
}

std::string print_indices(const std::vector<Index>& indices, const ExprStyle& style) {
  std::string text;
  for (std::size_t i = 0; i < indices.size(); ++i)
    text += (i ? ", " : "") + print_index(indices[i], style);
  return text;
}

std::string print_expr(const Expr& e, const ExprStyle& style, bool typed) {
  return ExprPrinter(style)(e, typed);
}

std::string to_string(const Expr& e) { return print_expr(e, {}); }

std::string to_string(UnaryOp op) {
  switch (op) {
    case UnaryOp::Neg:
      return "-";
    case UnaryOp::Abs:
      return "abs";
    case UnaryOp::Not:
      return "not";
    case UnaryOp::Sqrt:
      return "sqrt";
    case UnaryOp::Floor:
      return "floor";
    case UnaryOp::Ceil:
      return "ceil";
    case UnaryOp::Round:
      return "round";
    case UnaryOp::Trunc:
      return "trunc";
    case UnaryOp::Exp:
      return "exp";
    case UnaryOp::Log:
      return "log";
    case UnaryOp::Tanh:
      return "tanh";
    case UnaryOp::Erf:
      return "erf";
    case UnaryOp::Sigmoid:
      return "sigmoid";
    case UnaryOp::Sin:
      return "sin";
    case UnaryOp::Cos:
      return "cos";
    case UnaryOp::Tf32:
      return "tf32";
  }
  return "";
}

std::string to_string(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add:
      return "+";
    case BinaryOp::Sub:
      return "-";
    case BinaryOp::Mul:
      return "*";
    case BinaryOp::Div:
      return "/";
    case BinaryOp::Mod:
      return "%";
    case BinaryOp::Min:
      return "min";
    case BinaryOp::Max:
      return "max";
    case BinaryOp::Pow:
      return "pow";
    case BinaryOp::And:
      return "&";
    case BinaryOp::Or:
      return "|";
    case BinaryOp::Xor:
      return "^";
    case BinaryOp::Shl:
      return "<<";
    case BinaryOp::Shr:
      return ">>";
    case BinaryOp::Within:
      return "within";
    case BinaryOp::Eq:
      return "==";
    case BinaryOp::Ne:
      return "!=";
    case BinaryOp::Lt:
      return "<";
    case BinaryOp::Le:
      return "<=";
  }
  return "";
}

}  // namespace polyte::ir
