// The second half of ir/expr_parser.h: trees to affine forms and typed expressions.
#include "ir/expr_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "ir/arithmetic.h"
#include "ir/expr_text.h"
#include "ir/foreign_notation.h"
#include "ir/power.h"
#include "support/is_among.h"
#include "support/nearest_word.h"

namespace polyte::ir::text {
namespace {

[[noreturn]] void fail(const Tree& tree, const std::string& message) {
  throw Fault{tree.line, message};
}

// Every unary operator but Neg, the first enumerator, which is written as a sign.
const std::map<std::string, UnaryOp>& unary_calls() {
  static const std::map<std::string, UnaryOp> calls = [] {
    std::map<std::string, UnaryOp> result;
    for (int op = static_cast<int>(UnaryOp::Abs); op <= static_cast<int>(UnaryOp::Tf32); ++op)
      result.emplace(to_string(static_cast<UnaryOp>(op)), static_cast<UnaryOp>(op));
    return result;
  }();
  return calls;
}

const std::map<std::string, BinaryOp>& binary_calls() {
  static const std::map<std::string, BinaryOp> calls{{"min", BinaryOp::Min},
                                                     {"max", BinaryOp::Max},
                                                     {"pow", BinaryOp::Pow},
                                                     {"within", BinaryOp::Within}};
  return calls;
}

const std::map<std::string, BinaryOp>& infix_signs() {
  static const std::map<std::string, BinaryOp> signs{
      {"+", BinaryOp::Add},  {"-", BinaryOp::Sub},  {"*", BinaryOp::Mul},   {"/", BinaryOp::Div},
      {"%", BinaryOp::Mod},  {"&", BinaryOp::And},  {"|", BinaryOp::Or},    {"^", BinaryOp::Xor},
      {"<<", BinaryOp::Shl}, {">>", BinaryOp::Shr}, {"and", BinaryOp::And}, {"or", BinaryOp::Or},
      {"==", BinaryOp::Eq},  {"!=", BinaryOp::Ne},  {"<", BinaryOp::Lt},    {"<=", BinaryOp::Le}};
  return signs;
}

// nullopt beyond 63 bits: an affine form cannot hold such a number; a float or u64 literal can.
std::optional<std::int64_t> integer_of(const Tree& tree) {
  std::int64_t value = 0;
  const char* end = tree.text.data() + tree.text.size();
  const auto [at, error] = std::from_chars(tree.text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

}  // namespace

// --- affine forms --------------------------------------------------------------------------------

namespace {

std::optional<Affine> affine_product(const Affine& a, const Affine& b) {
  if (b.is_constant()) return a * b.constant();
  if (a.is_constant()) return b * a.constant();
  return std::nullopt;
}

// `//` and `%` round towards minus infinity, as affine divisions do; `/` truncates and is defined
// for values only, so it is never affine.
std::optional<Affine> affine_infix(const Tree& tree, const Affine& a, const Affine& b) {
  if (tree.text == "+") return a + b;
  if (tree.text == "-") return a - b;
  if (tree.text == "*") return affine_product(a, b);
  if (tree.text != "//" && tree.text != "%") return std::nullopt;
  if (!b.is_constant() || b.constant() <= 0)
    fail(tree, "'" + tree.text + "' of iterators takes a positive constant, got " + to_string(b));
  return tree.text == "%" ? mod(a, b.constant()) : floor_div(a, b.constant());
}

// nullopt where it is not affine
std::optional<Affine> to_affine(const TreePtr& tree, const Scope& scope) {
  switch (tree->kind) {
    case TreeKind::Integer:
      if (const auto value = integer_of(*tree)) return Affine(*value);
      return std::nullopt;
    case TreeKind::Name:
      if (is_among(tree->text, scope.iterators) || is_among(tree->text, scope.program->params))
        return Affine::symbol(tree->text);
      return std::nullopt;
    case TreeKind::Negate:
      if (const auto a = to_affine(tree->parts[0], scope)) return -*a;
      return std::nullopt;
    case TreeKind::Brackets:
      return to_affine(tree->parts[0], scope);
    case TreeKind::Infix: {
      const auto a = to_affine(tree->parts[0], scope);
      const auto b = a ? to_affine(tree->parts[1], scope) : std::nullopt;
      return b ? affine_infix(*tree, *a, *b) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

namespace {

// Of a name that may be meant as an iterator of a sum.
std::string not_summed(const std::string& name) {
  return "; a sum over " + name + " is written sum[" + name + "] ...";
}

// Before types are looked for, so that a misspelt name is reported as unknown.
void check_names_known(const TreePtr& tree, const Scope& scope) {
  std::vector<std::string> names;
  collect_names(tree, names);
  for (const std::string& name : names) {
    const bool known = is_among(name, scope.iterators) || is_among(name, scope.program->params);
    if (!known && !scope.program->find_buffer(name))
      fail(*tree,
           "'" + name + "' is no " +
               (scope.iterators.empty() ? "parameter" + did_you_mean(name, scope.program->params)
                                        : "iterator, parameter or tensor" + not_summed(name)));
  }
}

}  // namespace

namespace {

bool reads_elements(const TreePtr& tree) {
  bool found = false;
  for_each_tree(tree, [&](const Tree& t) { found = found || t.kind == TreeKind::Element; });
  return found;
}

}  // namespace

Affine expect_affine(const TreePtr& tree, const Scope& scope, const std::string& what) {
  if (auto e = to_affine(tree, scope)) return *e;
  check_names_known(tree, scope);
  const bool on_data = reads_elements(tree);
  fail(*tree, what +
                  " is not affine: sums of iterators and parameters times constants, // and % by "
                  "constants" +
                  (on_data ? "; a choice by data is select(x[i] > 0, a, b), a statement by data "
                             "ends in 'when x[i] > 0'"
                           : ""));
}

std::vector<Constraint> to_constraints(const std::vector<TreePtr>& comparisons,
                                       const Scope& scope) {
  std::vector<Constraint> result;
  for (const TreePtr& c : comparisons) {
    const std::string& sign = c->text;
    // Among infix signs these characters occur in == != < <= > >= and in the shifts only.
    const bool is_comparison = c->kind == TreeKind::Infix &&
                               sign.find_first_of("=<>") != std::string::npos && sign != "<<" &&
                               sign != ">>";
    if (!is_comparison) fail(*c, "expected an affine comparison such as i >= 1");
    if (sign == "!=")
      fail(*c,
           "'!=' splits a domain: a predicate is one conjunction of <, <=, ==, >=, >; use 'when'");
    const Affine a = expect_affine(c->parts[0], scope, "the predicate");
    const Affine b = expect_affine(c->parts[1], scope, "the predicate");
    if (sign == "==") result.push_back(equal(a, b));
    if (sign == "<") result.push_back(less_than(a, b));
    if (sign == "<=") result.push_back(at_least(b, a));
    if (sign == ">") result.push_back(less_than(b, a));
    if (sign == ">=") result.push_back(at_least(a, b));
  }
  return result;
}

// --- typed expressions ---------------------------------------------------------------------------

namespace {

// Types go in two directions. `type_of` looks upwards from tensors, casts and comparisons, which
// have a type of their own; `build` passes the type that is expected downwards, to literals and
// affine values, which have none. There are no implicit conversions: where the two differ, a cast
// is asked for.
class Typer {
 public:
  explicit Typer(const Scope& scope) : scope_(scope) {}

  // The type that the text itself says; nullopt for literals and affine values.
  std::optional<DType> type_of(const TreePtr& t) const {
    switch (t->kind) {
      case TreeKind::Element:
        return buffer(*t).dtype;
      case TreeKind::Name:
        return type_of_name(*t);
      case TreeKind::Negate:
      case TreeKind::Brackets:
        return type_of(t->parts[0]);
      case TreeKind::Call:
        return type_of_call(*t);
      case TreeKind::Infix: {
        if (t->text == "//") return first_type(t->parts);  // affine, or refused where it is built
        // `>` and `>=` have no operator of their own: build_infix() exchanges their operands.
        const bool logical =
            t->text == "and" || t->text == "or" || t->text == ">" || t->text == ">=";
        if (logical || is_comparison(operator_of(*t))) return DType::Bool;
        return first_type(t->parts);
      }
      default:
        return std::nullopt;
    }
  }

  Expr build(const TreePtr& t, DType type) const {
    // The largest affine subtree becomes one IndexValue, not a tree of additions: `2*i + 1`.
    if (const auto e = to_affine(t, scope_)) return build_affine(*t, *e, type);
    Expr e = build_any(t, type);
    if (e->type != type)
      fail(*t, "got " + name_of(e->type) + ", expected " + name_of(type) + ": write a cast, " +
                   name_of(type) + "(...)");
    return e;
  }

  // A subscript is a sum: summands that are affine go to the affine part, which analyses
  // understand, the others to the indirect part. x[idx[j] + 2*i - 1] has 2*i - 1 and idx[j].
  Index build_index(const TreePtr& t) const {
    Index index;
    for (const auto& [part, negative] : summands(t)) {
      if (const auto e = to_affine(part, scope_)) {
        index.affine = negative ? index.affine - *e : index.affine + *e;
        continue;
      }
      check_names_known(part, scope_);
      const DType type = index.indirect ? index.indirect->type : type_of(part).value_or(DType::I64);
      if (!is_integer(type))
        fail(*part, "a subscript is " + name_of(type) + ", expected an integer");
      const Expr e = build(part, type);
      if (index.indirect) {
        index.indirect = make_binary(negative ? BinaryOp::Sub : BinaryOp::Add, index.indirect, e);
      } else {
        index.indirect = negative ? make_unary(UnaryOp::Neg, e) : e;
      }
    }
    return index;
  }

 private:
  const Scope& scope_;

  const Buffer& buffer(const Tree& t) const {
    const Buffer* b = scope_.program->find_buffer(t.text);
    if (!b) {
      std::vector<std::string> names;
      for (const Buffer& known : scope_.program->buffers) names.push_back(known.name);
      fail(t, "tensor '" + t.text + "' is not declared, and nothing before writes it" +
                  did_you_mean(t.text, names));
    }
    return *b;
  }

  std::optional<DType> type_of_name(const Tree& t) const {
    if (t.text == "true" || t.text == "false") return DType::Bool;
    if (is_among(t.text, scope_.iterators) || is_among(t.text, scope_.program->params))
      return std::nullopt;
    const Buffer* b = scope_.program->find_buffer(t.text);
    if (!b) fail(t, "'" + t.text + "' is no iterator, parameter or tensor" + not_summed(t.text));
    if (!b->shape.empty())
      fail(t, "tensor '" + t.text + "' has " + print_count(b->shape.size(), "dimension") +
                  ", but no subscripts");
    return b->dtype;
  }

  // A cast has its own type, a select that of its branches, all else that of its first typed
  // argument.
  std::optional<DType> type_of_call(const Tree& t) const {
    if (const auto type = dtype_from_string(t.text)) return type;
    if (t.text == "select" && t.parts.size() == 3) return first_type({t.parts[1], t.parts[2]});
    return first_type(t.parts);
  }

  std::optional<DType> first_type(const std::vector<TreePtr>& parts) const {
    for (const TreePtr& part : parts)
      if (const auto type = type_of(part)) return type;
    return std::nullopt;
  }

  static BinaryOp operator_of(const Tree& t) {
    const auto at = infix_signs().find(t.text);
    if (at == infix_signs().end())
      fail(t, "'" + t.text +
                  "' takes an iterator and a positive constant; of values write / and floor");
    return at->second;
  }

  Expr build_affine(const Tree& t, const Affine& e, DType type) const {
    if (type == DType::Bool) fail(t, "got the number " + to_string(e) + ", expected bool");
    if (!e.is_constant() || is_float(type)) return make_index(e, type);
    // make_index() wraps: a number that comes out changed, or negative as a u64, does not fit.
    Expr literal = make_index(e, type);
    const std::int64_t kept = std::get<Literal>(literal->op).integer;
    if (kept != e.constant() || (type == DType::U64 && kept < 0))
      fail(t, "the literal " + to_string(e) + " does not fit " + name_of(type));
    return literal;
  }

  // A part that has a type of its own is built in it; where that is not `type`, build() asks for
  // a cast. Only a part without one takes `type`.
  Expr build_any(const TreePtr& t, DType type) const {
    switch (t->kind) {
      case TreeKind::Integer:
        return build_wide_integer(*t, type);
      case TreeKind::Real:
        if (!is_float(type)) fail(*t, "the literal " + t->text + " is no " + name_of(type));
        return make_float(type, std::strtod(t->text.c_str(), nullptr));
      case TreeKind::Name:
        return build_name(*t);
      case TreeKind::Element:
        return build_element(*t);
      case TreeKind::Call:
        return build_call(*t, type);
      case TreeKind::Negate:
        return unary(*t, UnaryOp::Neg, build(t->parts[0], type_of(t->parts[0]).value_or(type)));
      case TreeKind::Brackets:
        return build(t->parts[0], type_of(t->parts[0]).value_or(type));
      default:
        return build_infix(*t, type);
    }
  }

  // An integer beyond 63 bits: a float, or the upper half of u64.
  static Expr build_wide_integer(const Tree& t, DType type) {
    if (is_float(type)) return make_float(type, std::strtod(t.text.c_str(), nullptr));
    std::uint64_t value = 0;
    const char* end = t.text.data() + t.text.size();
    const auto [at, error] = std::from_chars(t.text.data(), end, value);
    if (type != DType::U64 || error != std::errc() || at != end)
      fail(t, "the literal " + t.text + " does not fit " + name_of(type));
    return make_int(type, static_cast<std::int64_t>(value));
  }

  Expr build_name(const Tree& t) const {
    if (t.text == "true" || t.text == "false") return make_int(DType::Bool, t.text == "true");
    return make_load(*type_of_name(t), t.text, {});
  }

  Expr build_element(const Tree& t) const {
    const Buffer& b = buffer(t);
    if (t.parts.size() != b.shape.size())
      fail(t, "tensor '" + t.text + "' has " + print_count(b.shape.size(), "dimension") + ", but " +
                  print_count(t.parts.size(), "subscript"));
    std::vector<Index> indices = to_indices(t.parts, scope_);
    if (!t.otherwise) return make_load(b.dtype, t.text, std::move(indices));
    std::vector<Constraint> guard;
    // `if c else v` states the guard. With `else v` alone it is the bounds that the subscripts can
    // violate, given the facts about the domain; where there are no facts yet, it stays empty.
    if (t.explicit_guard) {
      guard = to_constraints(t.guard, scope_);
    } else if (scope_.facts) {
      guard = implied_guard(b.shape, indices, *scope_.facts);
    }
    return make_guarded_load(b.dtype, t.text, std::move(indices), std::move(guard),
                             build(t.otherwise, b.dtype));
  }

  static Expr unary(const Tree& t, UnaryOp op, Expr a) {
    if (!is_defined(op, a->type))
      fail(t, "'" + to_string(op) + "' of " + name_of(a->type) + " is not defined");
    return make_unary(op, std::move(a));
  }

  static Expr binary(const Tree& t, BinaryOp op, Expr a, Expr b) {
    const bool is_power = t.text == "^" && is_float(a->type);
    if (!is_defined(op, a->type))
      fail(t, "'" + t.text + "' of " + name_of(a->type) + " is not defined" +
                  (is_power ? "; a power is pow(x, 2)" : ""));
    if (op == BinaryOp::Pow) return make_power(std::move(a), std::move(b));
    return make_binary(op, std::move(a), std::move(b));
  }

  // Of a + b both have the type of the result; of a < b the result is Bool, and the operands
  // agree among themselves.
  Expr build_infix(const Tree& t, DType type) const {
    const TreePtr &a = t.parts[0], &b = t.parts[1];
    if (t.text == ">" || t.text == ">=") {  // written from the other side
      const DType operands = type_of_operands(t);
      return binary(t, t.text == ">" ? BinaryOp::Lt : BinaryOp::Le, build(b, operands),
                    build(a, operands));
    }
    const BinaryOp op = operator_of(t);
    DType operands = first_type(t.parts).value_or(type);
    if (is_comparison(op)) operands = type_of_operands(t);
    if (t.text == "and" || t.text == "or") operands = DType::Bool;
    return binary(t, op, build(a, operands), build(b, operands));
  }

  // Of a comparison, where no type comes from outside.
  DType type_of_operands(const Tree& t) const {
    if (const auto type = first_type(t.parts)) return *type;
    bool real = false;
    for (const TreePtr& part : t.parts)
      for_each_tree(part, [&](const Tree& p) { real = real || p.kind == TreeKind::Real; });
    return real ? DType::F64 : DType::I64;
  }

  static void check_count(const Tree& t, std::size_t count) {
    if (t.parts.size() != count)
      fail(t, "'" + t.text + "' takes " + print_count(count, "value") + ", got " +
                  std::to_string(t.parts.size()));
  }

  Expr build_call(const Tree& t, DType type) const {
    if (const auto to = dtype_from_string(t.text)) {
      check_count(t, 1);
      return make_cast(*to, build(t.parts[0], type_of(t.parts[0]).value_or(*to)));
    }
    const DType operands = type_of_call(t).value_or(type);
    if (const auto at = unary_calls().find(t.text); at != unary_calls().end()) {
      check_count(t, 1);
      return unary(t, at->second, build(t.parts[0], operands));
    }
    if (const auto at = binary_calls().find(t.text); at != binary_calls().end()) {
      check_count(t, 2);
      return binary(t, at->second, build(t.parts[0], operands), build(t.parts[1], operands));
    }
    if (t.text != "fma" && t.text != "select")
      fail(t, "'" + t.text + "' is no function; " + known_functions() + in_ours(t));
    check_count(t, 3);
    const Expr a = build(t.parts[0], t.text == "fma" ? operands : DType::Bool);
    const Expr b = build(t.parts[1], operands), c = build(t.parts[2], operands);
    if (t.text == "select") return make_select(a, b, c);
    if (operands == DType::Bool) fail(t, "'fma' of bool is not defined");
    return make_fma(a, b, c);
  }

  // How a function of other libraries is written, or a near name.
  static std::string in_ours(const Tree& call) {
    const std::string& name = call.text;
    if (const std::string hint = foreign_function_hint(name); !hint.empty()) return hint;
    std::vector<std::string> known = {"fma", "max", "min", "pow", "select"};
    for (const auto& [function, op] : unary_calls()) known.push_back(function);
    std::string near = did_you_mean(name, known);
    return near.empty() ? element_in_ours(call) : near;
  }

  // A(m, k): an element of a tensor, as Fortran and mathematics write it.
  static std::string element_in_ours(const Tree& call) {
    std::string names;
    for (const TreePtr& part : call.parts) {
      if (part->kind != TreeKind::Name) return "";
      names += (names.empty() ? "" : ", ") + part->text;
    }
    return names.empty() ? "" : "; an element is written " + call.text + "[" + names + "]";
  }

  static std::string known_functions() {
    std::string text = "there are fma max min pow select";
    for (const auto& [name, op] : unary_calls()) text += " " + name;
    return text + " and the types";
  }

  // The summands of a sum, with their signs; brackets keep theirs together.
  static std::vector<std::pair<TreePtr, bool>> summands(const TreePtr& t) {
    if (t->kind != TreeKind::Infix || (t->text != "+" && t->text != "-")) return {{t, false}};
    std::vector<std::pair<TreePtr, bool>> result = summands(t->parts[0]);
    result.emplace_back(t->parts[1], t->text == "-");
    return result;
  }
};

}  // namespace

Expr to_expr(const TreePtr& tree, DType type, const Scope& scope) {
  check_names_known(tree, scope);
  return Typer(scope).build(tree, type);
}

std::optional<DType> natural_type(const TreePtr& tree, const Scope& scope) {
  return Typer(scope).type_of(tree);
}

std::vector<Index> to_indices(const std::vector<TreePtr>& subscripts, const Scope& scope) {
  std::vector<Index> indices;
  for (const TreePtr& t : subscripts) indices.push_back(Typer(scope).build_index(t));
  return indices;
}

}  // namespace polyte::ir::text
