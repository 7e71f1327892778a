#include "codegen/c/c_expr.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace polyte::codegen {
namespace {

using ir::BinaryOp;
using ir::UnaryOp;

std::string suffix_of(DType type) { return std::string(to_string(type)); }

// The type in which integers of `type` are computed, so that they wrap. Not the unsigned type of
// the same width: C promotes what is narrower than int to int, where uint16_t(65535) *
// uint16_t(65535) overflows, which is undefined.
std::string unsigned_type(DType type) { return size_in_bytes(type) == 8 ? "uint64_t" : "uint32_t"; }

// The shortest digits that a C compiler reads back as the same value, by the function that reads
// literals of that type.
std::string real_literal(DType type, double value) {
  const std::string cast = type == DType::F32 ? "" : "(double)";
  if (std::isnan(value)) return cast + "NAN";
  if (std::isinf(value)) return (value < 0 ? "-" : "") + cast + "INFINITY";
  char text[64];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    const double back = type == DType::F32 ? static_cast<double>(std::strtof(text, nullptr))
                                           : std::strtod(text, nullptr);
    if (back == value) break;
  }
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result + (type == DType::F32 ? "f" : "");
}

// -9223372036854775808 is no literal of C but a minus sign before a number that fits no signed
// type.
std::string integer_literal(DType type, std::int64_t value) {
  if (type == DType::U64) return std::to_string(static_cast<std::uint64_t>(value)) + "u";
  if (value == std::numeric_limits<std::int64_t>::min()) return "INT64_MIN";
  return std::to_string(value);
}

std::string infix(BinaryOp op) {
  switch (op) {
    case BinaryOp::And:
      return "&";
    case BinaryOp::Or:
      return "|";
    default:
      return to_string(op);
  }
}

// exp and its kin, whose last bits differ from one C library to the next.
bool is_library(UnaryOp op) {
  return op == UnaryOp::Exp || op == UnaryOp::Log || op == UnaryOp::Tanh || op == UnaryOp::Erf ||
         op == UnaryOp::Sigmoid || op == UnaryOp::Sin || op == UnaryOp::Cos;
}

std::string exact_function(UnaryOp op) {
  switch (op) {
    case UnaryOp::Abs:
      return "fabs";
    case UnaryOp::Round:
      return "nearbyint";
    default:
      return to_string(op);
  }
}

}  // namespace

bool calls_library(const ir::Expr& e) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    const auto* unary = std::get_if<ir::Unary>(&node.op);
    const auto* binary = std::get_if<ir::Binary>(&node.op);
    found = found || (unary && is_library(unary->op)) || (binary && binary->op == BinaryOp::Pow);
  });
  return found;
}

std::string CExprs::value(const ir::Expr& e) { return piece(e).text; }

std::string CExprs::affine(const ir::Affine& e) { return affine_piece(e).text; }

std::string CExprs::within(const Piece& piece, Strength at_least) const {
  return piece.strength < at_least ? "(" + piece.text + ")" : piece.text;
}

CExprs::Piece CExprs::problem(const std::string& text) {
  problems_.insert(text);
  return {"0", Primary};
}

void CExprs::check_type(DType type, const std::string& where) {
  if (type == DType::F16 || type == DType::BF16)
    problems_.insert(where + " is " + suffix_of(type) + ", which C99 has no type for");
}

// Positive terms first, as a person would write it: N - i, not -i + N. What binds the text says
// whether it needs parentheses in a larger one: several summands, a product or a sign, or a single
// name.
CExprs::Piece CExprs::affine_piece(const ir::Affine& e) {
  std::string text;
  std::size_t summands = 0;
  bool product = false;
  const auto add = [&](bool negative, const std::string& part) {
    text += summands++ == 0 ? (negative ? "-" : "") : (negative ? " - " : " + ");
    text += part;
  };
  for (const bool negative : {false, true})
    for (const ir::Term& term : e.terms()) {
      if ((term.coefficient < 0) != negative) continue;
      const std::string atom = term.atom.div ? helpers_.use("floor_div") + "(" +
                                                   affine(term.atom.div->numerator) + ", " +
                                                   std::to_string(term.atom.div->denominator) + ")"
                                             : names_.of(term.atom.symbol);
      const std::string digits = std::to_string(term.coefficient).substr(negative ? 1 : 0);
      product = product || digits != "1" || negative;
      add(negative, digits == "1" ? atom : digits + " * " + atom);
    }
  if (e.constant() != 0 || summands == 0) {
    const bool negative = e.constant() < 0;
    product = product || negative;
    add(negative, std::to_string(e.constant()).substr(negative ? 1 : 0));
  }
  return {text, summands > 1 ? Sum : product ? Product : Primary};
}

std::string CExprs::access(const std::string& buffer, const std::vector<ir::Index>& indices) {
  std::string text = names_.of(buffer);
  if (indices.empty()) text += "[0]";
  for (const ir::Index& index : indices) {
    std::string inside = index.indirect ? operand(index.indirect, Sum) : affine(index.affine);
    if (index.indirect && index.affine != ir::Affine(0))
      inside += " + " + within(affine_piece(index.affine), Product);
    text += "[" + inside + "]";
  }
  return text;
}

// A constraint e >= 0 (or == 0) with its positive terms on the left and its negative ones on the
// right, so that nothing is negated: N - i - 1 >= 0 becomes N >= i + 1. Where the left is a number
// only, the sides change places.
std::string CExprs::comparison(const ir::Constraint& c) {
  ir::Affine left, right;
  for (const ir::Term& term : c.expr.terms()) {
    const ir::Affine atom = term.atom.div
                                ? floor_div(term.atom.div->numerator, term.atom.div->denominator)
                                : ir::Affine::symbol(term.atom.symbol);
    (term.coefficient > 0 ? left : right) =
        (term.coefficient > 0 ? left : right) +
        atom * (term.coefficient > 0 ? term.coefficient : -term.coefficient);
  }
  (c.expr.constant() > 0 ? left : right) =
      (c.expr.constant() > 0 ? left : right) +
      ir::Affine(c.expr.constant() > 0 ? c.expr.constant() : -c.expr.constant());
  if (left.is_constant()) return affine(right) + (c.equality ? " == " : " <= ") + affine(left);
  return affine(left) + (c.equality ? " == " : " >= ") + affine(right);
}

std::string CExprs::conditions(const std::vector<ir::Constraint>& conditions) {
  std::string text;
  for (const ir::Constraint& c : conditions) text += (text.empty() ? "" : " && ") + comparison(c);
  return text;
}

CExprs::Piece CExprs::piece(const ir::Expr& e) {
  if (e->lanes != 1) return problem("a vector of " + std::to_string(e->lanes) + " lanes");
  if (e->type == DType::F16 || e->type == DType::BF16) {
    check_type(e->type, "a value");
    return {"0", Primary};
  }
  return std::visit([&](const auto& o) { return write(*e, o); }, e->op);
}

CExprs::Piece CExprs::write(const ir::ExprNode& node, const ir::Literal& o) {
  const std::string text =
      is_float(node.type) ? real_literal(node.type, o.real) : integer_literal(node.type, o.integer);
  return {text, text[0] == '-' || text[0] == '(' ? Sign : Primary};
}

CExprs::Piece CExprs::write(const ir::ExprNode& node, const ir::IndexValue& o) {
  return {"(" + c_type(node.type) + ")" + within(affine_piece(o.value), Primary), Sign};
}

// A bool is a byte of which only the lowest bit counts, as in arithmetic.h. A guarded load becomes
// `conditions ? element : otherwise`: C does not evaluate the element where the conditions fail.
CExprs::Piece CExprs::write(const ir::ExprNode& node, const ir::Load& o) {
  Piece element{access(o.buffer, o.indices) + (node.type == DType::Bool ? " & 1" : ""),
                node.type == DType::Bool ? Weak : Primary};
  if (o.guard.empty()) return element;
  return {conditions(o.guard) + " ? " + within(element, Compare) + " : " +
              operand(o.otherwise, Conditional),
          Conditional};
}

// Integers wrap. In C signed overflow is undefined, so negation is done without a sign: (T)(0 -
// (U)a).
CExprs::Piece CExprs::integer_unary(const ir::ExprNode& node, const ir::Unary& o) {
  const std::string type = c_type(node.type);
  if (node.type == DType::Bool) return {"!" + operand(o.a, Sign), Sign};
  if (o.op == UnaryOp::Neg)
    return {"(" + type + ")(0 - (" + unsigned_type(node.type) + ")" + operand(o.a, Sign) + ")",
            Sign};
  if (o.op == UnaryOp::Not) return {"(" + type + ")~" + operand(o.a, Sign), Sign};
  return {helpers_.use("abs_" + suffix_of(node.type)) + "(" + value(o.a) + ")", Primary};
}

CExprs::Piece CExprs::write(const ir::ExprNode& node, const ir::Unary& o) {
  if (!is_float(node.type)) return integer_unary(node, o);
  const bool single = node.type == DType::F32;
  if (o.op == UnaryOp::Neg) return {"-" + operand(o.a, Primary), Sign};
  if (o.op == UnaryOp::Tf32) return {helpers_.use("to_tf32") + "(" + value(o.a) + ")", Primary};
  if (!is_library(o.op))
    return {exact_function(o.op) + (single ? "f(" : "(") + value(o.a) + ")", Primary};
  // Computed in double and rounded to float once: the error is hardly more than half a unit in the
  // last place.
  const std::string name = o.op == UnaryOp::Sigmoid ? helpers_.use("sigmoid") : to_string(o.op);
  if (single) return {"(float)" + name + "((double)" + operand(o.a, Sign) + ")", Sign};
  return {name + "(" + value(o.a) + ")", Primary};
}

// Sums and products in the unsigned type, where wrapping is defined. What C leaves undefined, a
// division by 0 or a shift by the width and more, has a helper each.
CExprs::Piece CExprs::integer_binary(const ir::ExprNode& node, const ir::Binary& o) {
  const std::string suffix = suffix_of(node.type), type = c_type(node.type);
  const std::string in = "(" + unsigned_type(node.type) + ")";
  switch (o.op) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul:
      return {"(" + type + ")(" + in + operand(o.a, Sign) + " " + infix(o.op) + " " + in +
                  operand(o.b, Sign) + ")",
              Sign};
    case BinaryOp::And:
    case BinaryOp::Or:
    case BinaryOp::Xor:
      return {operand(o.a, Sum) + " " + infix(o.op) + " " + operand(o.b, Sum), Weak};
    case BinaryOp::Within:
      return {helpers_.use("within") + "(" + value(o.a) + ", " + value(o.b) + ")", Primary};
    case BinaryOp::Min:
    case BinaryOp::Max:
      if (node.type == DType::Bool)
        return {operand(o.a, Sum) + (o.op == BinaryOp::Min ? " & " : " | ") + operand(o.b, Sum),
                Weak};
      break;
    default:
      break;
  }
  const std::string name = o.op == BinaryOp::Min   ? "min_"
                           : o.op == BinaryOp::Max ? "max_"
                           : o.op == BinaryOp::Div ? "div_"
                           : o.op == BinaryOp::Mod ? "mod_"
                           : o.op == BinaryOp::Shl ? "shl_"
                                                   : "shr_";
  if (!is_c_helper(name + suffix)) return problem("'" + to_string(o.op) + "' of " + suffix);
  return {helpers_.use(name + suffix) + "(" + value(o.a) + ", " + value(o.b) + ")", Primary};
}

CExprs::Piece CExprs::write(const ir::ExprNode& node, const ir::Binary& o) {
  const bool compares =
      o.op == BinaryOp::Eq || o.op == BinaryOp::Ne || o.op == BinaryOp::Lt || o.op == BinaryOp::Le;
  if (compares)
    return {operand(o.a, Sum) + " " + to_string(o.op) + " " + operand(o.b, Sum), Compare};
  if (!is_float(node.type)) return integer_binary(node, o);
  const bool single = node.type == DType::F32;
  switch (o.op) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
      return {operand(o.a, Sum) + " " + to_string(o.op) + " " + operand(o.b, Product), Sum};
    case BinaryOp::Mul:
    case BinaryOp::Div:
      return {operand(o.a, Product) + " " + to_string(o.op) + " " + operand(o.b, Sign), Product};
    case BinaryOp::Min:
    case BinaryOp::Max:
      return {helpers_.use(std::string(o.op == BinaryOp::Min ? "min_" : "max_") +
                           suffix_of(node.type)) +
                  "(" + value(o.a) + ", " + value(o.b) + ")",
              Primary};
    case BinaryOp::Pow:
      if (single)
        return {
            "(float)pow((double)" + operand(o.a, Sign) + ", (double)" + operand(o.b, Sign) + ")",
            Sign};
      return {"pow(" + value(o.a) + ", " + value(o.b) + ")", Primary};
    default:
      return problem("'" + to_string(o.op) + "' of " + suffix_of(node.type));
  }
}

CExprs::Piece CExprs::write(const ir::ExprNode& node, const ir::Fma& o) {
  if (is_float(node.type)) {
    const std::string name = node.type == DType::F32 ? "fmaf(" : "fma(";
    return {name + value(o.a) + ", " + value(o.b) + ", " + value(o.c) + ")", Primary};
  }
  const std::string in = "(" + unsigned_type(node.type) + ")";
  return {"(" + c_type(node.type) + ")(" + in + operand(o.a, Sign) + " * " + in +
              operand(o.b, Sign) + " + " + in + operand(o.c, Sign) + ")",
          Sign};
}

CExprs::Piece CExprs::write(const ir::ExprNode&, const ir::Select& o) {
  return {operand(o.condition, Compare) + " ? " + operand(o.a, Compare) + " : " +
              operand(o.b, Conditional),
          Conditional};
}

CExprs::Piece CExprs::write(const ir::ExprNode& node, const ir::Cast& o) {
  if (node.type == DType::Bool) return {operand(o.a, Sum) + " != 0", Compare};
  if (is_float(o.a->type) && !is_float(node.type))
    return {helpers_.use("to_" + suffix_of(node.type)) + "(" + value(o.a) + ")", Primary};
  return {"(" + c_type(node.type) + ")" + operand(o.a, Sign), Sign};
}

CExprs::Piece CExprs::write(const ir::ExprNode&, const ir::Broadcast& o) { return piece(o.a); }

CExprs::Piece CExprs::write(const ir::ExprNode&, const ir::LaneRead&) {
  return problem("a value of another lane");
}

}  // namespace polyte::codegen
