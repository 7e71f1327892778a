#include "ir/loop_expr_parser.h"

#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "ir/loop_affine_parser.h"
#include "ir/loop_program_text.h"

namespace polyte::ir::loop_text {
namespace {

// By the printer's own names, so that the two agree for every operator.
std::optional<UnaryOp> unary_from(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(UnaryOp::Tf32); ++i)
    if (loop_text::function_name(static_cast<UnaryOp>(i)) == name) return static_cast<UnaryOp>(i);
  return std::nullopt;
}

std::optional<BinaryOp> binary_from(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(BinaryOp::Le); ++i)
    if (to_string(static_cast<BinaryOp>(i)) == name) return static_cast<BinaryOp>(i);
  return std::nullopt;
}

bool has_prefix(const std::string& text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// The lanes of a broadcast, `x8`; nullopt: the name of something else.
std::optional<int> lanes_of(const std::string& name) {
  const char *begin = name.data() + 1, *end = name.data() + name.size();
  int lanes = 0;
  const auto [at, error] = std::from_chars(begin, end, lanes);
  if (name[0] != 'x' || at == begin || at != end) return std::nullopt;
  if (error != std::errc() || lanes < 1)
    fail("'" + name + "' has " + name.substr(1) + " lanes, expected 1 to " +
         std::to_string(std::numeric_limits<int>::max()));
  return lanes;
}

}  // namespace

DType parse_type(const std::string& name) {
  const auto found = dtype_from_string(name);
  if (!found) fail("'" + name + "' is not a type");
  return *found;
}

// After the subscripts: `; 16 by 1` (lanes and strides), `; 16 by 1 if n` (lanes below n touch
// memory), `; 16 by 1 if s..n` (lanes from s on, below n, do).
void ExprParser::lanes(Cursor& c, Lanes& into) {
  if (!c.accept(";")) return;
  into.count = static_cast<int>(c.integer());
  if (!c.accept_word("by")) fail("expected 'by'");
  if (c.peek() != ']' && c.peek() != ')' && !c.next_is("if")) {
    do {
      into.strides.push_back(c.integer());
    } while (c.accept(","));
  }
  if (!c.accept_word("if")) return;
  into.active = parse_affine(c);
  if (!c.accept("..")) return;
  // The first number was where the mask begins; the one after `..` is where it ends.
  into.skipped = std::exchange(into.active, parse_affine(c));
  if (*into.active == Affine(into.count)) into.active = std::nullopt;
}

// `AFFINE`, `{EXPR}` or `AFFINE + {EXPR}`.
Index ExprParser::index(Cursor& c) {
  Index result;
  if (c.peek() != '{') result.affine = parse_affine(c);
  c.accept("+");
  if (!c.accept("{")) return result;
  result.indirect = expr(c);
  c.expect("}");
  return result;
}

void ExprParser::access(Cursor& c, std::vector<Index>& indices, Lanes& into) {
  c.expect("[");
  if (c.peek() != ']' && c.peek() != ';') {
    do {
      indices.push_back(index(c));
    } while (c.accept(","));
  }
  lanes(c, into);
  c.expect("]");
}

// Every operator has brackets of its own, so there is no precedence to know; types are written out
// wherever they do not follow from the operands:
//
//   EXPR  is  NAME[SUBSCRIPTS LANES]                               a load
//             (NAME[..] where CONDITION and .. else EXPR)          a guarded one
//             (EXPR OPERATOR EXPR)    NAME(EXPR, ..)
//             f32(1.5)    index_i64(AFFINE LANES)    cast_f64(EXPR)    x8(EXPR)
//             lane_read(LOAD, AFFINE)
Expr ExprParser::expr(Cursor& c) {
  c.enter();
  Expr result = bare_expr(c);
  c.leave();
  return result;
}

Expr ExprParser::bare_expr(Cursor& c) {
  if (c.accept("(")) return bracketed(c);
  const std::string name = c.name();
  if (c.peek() == '[') return load(c, name);
  c.expect("(");
  return call(c, name);
}

Expr ExprParser::bracketed(Cursor& c) {
  Expr left = expr(c);
  if (c.accept_word("where")) {
    left = guard(c, left);
  } else {
    const std::string token = c.operator_token();
    const auto op = binary_from(token);
    if (!op) fail("'" + token + "' is not an operator");
    left = make_binary(*op, left, expr(c));
  }
  c.expect(")");
  return left;
}

Expr ExprParser::guard(Cursor& c, const Expr& access) {
  ExprNode node = *access;
  auto* load = std::get_if<Load>(&node.op);
  if (!load) fail("'where' after something else than a load");
  do {
    load->guard.push_back(parse_constraint(c));
  } while (c.accept_word("and"));
  if (!c.accept_word("else")) fail("expected 'else'");
  load->otherwise = expr(c);
  return std::make_shared<const ExprNode>(std::move(node));
}

Expr ExprParser::load(Cursor& c, const std::string& name) {
  const auto known = types_.find(name);
  if (known == types_.end()) fail("no buffer '" + name + "'");
  Load result;
  result.buffer = name;
  access(c, result.indices, result.lanes);
  const int count = result.lanes.count;
  return std::make_shared<const ExprNode>(ExprNode{known->second, count, std::move(result)});
}

Expr ExprParser::literal(Cursor& c, DType dtype) {
  ExprNode node{dtype, 1, Literal{}};
  auto& value = std::get<Literal>(node.op);
  if (is_float(dtype)) {
    value.real = c.real();
  } else {
    value.integer = c.integer();
  }
  return std::make_shared<const ExprNode>(std::move(node));
}

Expr ExprParser::index_value(Cursor& c, DType dtype) {
  IndexValue result;
  result.value = parse_affine(c);
  lanes(c, result.lanes);
  const int count = result.lanes.count;
  return std::make_shared<const ExprNode>(ExprNode{dtype, count, std::move(result)});
}

Expr ExprParser::lane_read(Cursor& c) {
  Expr load = expr(c);
  if (!std::holds_alternative<Load>(load->op) || load->lanes != 1)
    fail("'lane_read' of something else than a load");
  c.expect(",");
  return make_lane_read(std::move(load), parse_affine(c));
}

Expr ExprParser::call(Cursor& c, const std::string& name) {
  Expr result = call_body(c, name);
  c.expect(")");
  return result;
}

Expr ExprParser::call_body(Cursor& c, const std::string& name) {
  if (const auto dtype = dtype_from_string(name)) return literal(c, *dtype);
  if (name == "lane_read") return lane_read(c);
  if (has_prefix(name, "index_")) return index_value(c, parse_type(name.substr(6)));
  if (has_prefix(name, "cast_")) {
    const DType to = parse_type(name.substr(5));
    Expr operand = expr(c);
    return std::make_shared<const ExprNode>(ExprNode{to, operand->lanes, Cast{operand}});
  }
  if (const auto lanes = lanes_of(name)) {
    const Expr operand = expr(c);
    if (operand->lanes != 1)
      fail("'" + name + "' of " + std::to_string(operand->lanes) + " lanes, expected one");
    return make_broadcast(operand, *lanes);
  }
  const std::vector<Expr> operands = arguments(c);
  if (name == "fma" && operands.size() == 3) return make_fma(operands[0], operands[1], operands[2]);
  if (name == "select" && operands.size() == 3)
    return make_select(operands[0], operands[1], operands[2]);
  if (const auto op = unary_from(name); op && operands.size() == 1)
    return make_unary(*op, operands[0]);
  if (const auto op = binary_from(name); op && operands.size() == 2)
    return make_binary(*op, operands[0], operands[1]);
  fail("no function '" + name + "' of " + std::to_string(operands.size()) + " operands");
}

std::vector<Expr> ExprParser::arguments(Cursor& c) {
  std::vector<Expr> operands;
  do {
    operands.push_back(expr(c));
  } while (c.accept(","));
  return operands;
}

}  // namespace polyte::ir::loop_text
