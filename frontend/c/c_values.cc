#include "frontend/c/c_values.h"

#include <algorithm>
#include <array>

namespace polyte::frontend::c {
namespace {

std::string in_brackets(const Value& value) {
  return value.compound ? "(" + value.text + ")" : value.text;
}

// C's conversion rank, of which only the order among integers matters.
int rank(DType type) { return size_in_bytes(type); }

// What C computes a small integer in: the integer promotions (C11, 6.3.1.1).
DType promoted(DType type) {
  return type == DType::Bool || (is_integer(type) && rank(type) < 4) ? DType::I32 : type;
}

bool is_comparison(const std::string& sign) {
  return sign == "<" || sign == "<=" || sign == ">" || sign == ">=" || sign == "==" || sign == "!=";
}

struct Function {
  std::string_view c, program;
  std::size_t count;
};
constexpr std::array<Function, 21> kFunctions{
    {{"sqrt", "sqrt", 1},   {"SQRT_FUN", "sqrt", 1}, {"exp", "exp", 1},
     {"EXP_FUN", "exp", 1}, {"log", "log", 1},       {"tanh", "tanh", 1},
     {"erf", "erf", 1},     {"sin", "sin", 1},       {"cos", "cos", 1},
     {"fabs", "abs", 1},    {"floor", "floor", 1},   {"ceil", "ceil", 1},
     {"trunc", "trunc", 1}, {"rint", "round", 1},    {"nearbyint", "round", 1},
     {"pow", "pow", 2},     {"POW_FUN", "pow", 2},   {"fmin", "min", 2},
     {"fmax", "max", 2},    {"fma", "fma", 3},       {"abs", "abs", 1}}};

const Function* find_function(const std::string& name) {
  for (const Function& f : kFunctions)
    if (f.c == name) return &f;
  return nullptr;
}

std::string known_functions() {
  std::string text;
  for (const Function& f : kFunctions) text += (text.empty() ? "" : " ") + std::string(f.c);
  return text;
}

// The usual arithmetic conversions (C11, 6.3.1.8): the wider type, and of two integers as wide as
// each other the unsigned one.
DType common_type(const Value& a, const Value& b) {
  const DType s = promoted(a.type), t = promoted(b.type);
  if (s == DType::F64 || t == DType::F64) return DType::F64;
  if (s == DType::F32 || t == DType::F32) return DType::F32;
  if (rank(s) != rank(t)) return rank(s) > rank(t) ? s : t;
  return is_signed_integer(s) ? t : s;
}

}  // namespace

// A number takes the type that its place in Program text asks for, so it stays as it is. Another
// affine value gets a cast even to its own type, since next to a value that adapts it would
// adapt as well.
std::string Values::as(const Value& value, DType type) const {
  if (value.affine && value.affine->is_constant()) return value.text;
  if (value.adapts && !value.affine) return value.text;
  if (value.affine) return name_of(type) + "(" + value.text + ")";
  if (value.type == type) return value.text;
  return name_of(type) + "(" + value.text + ")";
}

// A cast brings brackets of its own.
std::string Values::operand(const Value& value, DType type) const {
  const std::string text = as(value, type);
  return text == value.text && value.compound ? "(" + text + ")" : text;
}

Variable& Values::variable(const Token& at) {
  Variable* found = names_.find(at.text);
  if (!found) fail(at, "'" + at.text + "' is not declared as an array or a variable");
  if (found->is_long_double)
    fail(at, "'" + at.text + "' is a long double, which is not read: expected double or float");
  return *found;
}

DType Values::type_of_access(const TreePtr& tree) { return variable(tree->at).type; }

std::string Values::access(const TreePtr& tree, bool write) {
  if (names_.loop_value(tree->at.text))
    fail(tree->at, "'" + tree->at.text + "' is the variable of a loop around");
  Variable& found = variable(tree->at);
  if (write && names_.is_size(tree->at.text))
    fail(tree->at, "'" + tree->at.text + "' is used as a size before it");
  if (write && (found.literal || !found.constant.empty()))
    fail(tree->at, "'" + tree->at.text + "' is a constant");
  if (tree->parts.size() != found.extents.size())
    fail(tree->at, "'" + tree->at.text + "' has " + std::to_string(found.extents.size()) +
                       " dimensions, got " + std::to_string(tree->parts.size()) + " subscripts");
  std::string text;
  for (const TreePtr& part : tree->parts) {
    const auto index = affine(part);
    const Value gathered = index ? Value{} : value(part);
    if (!index && !is_integer(gathered.type))
      fail(part->at, "a subscript is " + name_of(gathered.type));
    text += (text.empty() ? "" : ", ") + (index ? to_string(*index) : gathered.text);
  }
  // Read before anything in the scop has written it: the value comes from outside.
  if (!write && !found.written && !found.read) found.read_first = true;
  if (!write) ++reads_;
  (write ? found.written : found.read) = true;
  return found.name + "[" + text + "]";
}

// What is affine as a whole stays one affine value; only otherwise are its parts converted.
Value Values::value(const TreePtr& tree) {
  if (const auto whole = affine(tree)) {
    const std::string text = to_string(*whole);
    return {text, DType::I32, true, text.find_first_of(" -*/%") != std::string::npos, whole};
  }
  switch (tree->kind) {
    case TreeKind::Number:
      return number(tree);
    case TreeKind::Name:
    case TreeKind::Element:
      return name(tree);
    case TreeKind::Cast: {
      // A cast of a number only changes its type: (float)2 is the literal 2 that counts as an
      // f32 in what follows. An affine value with symbols, and a real number that is cut to an
      // integer, need a cast.
      const auto type = frontend::c::type_of(tree->type, names_.real());
      if (!type) fail(tree->at, "a cast to '" + tree->at.text + "'");
      const Value inner = value(tree->parts[0]);
      if (inner.adapts && (is_float(*type) || is_integer(inner.type)) &&
          (!inner.affine || inner.affine->is_constant()))
        return {inner.text, *type, true, inner.compound, std::nullopt};
      return {as(inner, *type), *type, false, inner.type == *type && inner.compound, std::nullopt};
    }
    case TreeKind::Unary:
      return unary(tree);
    case TreeKind::Binary:
      return binary(tree);
    case TreeKind::Choice:
      return choice(tree);
    default:
      return call(tree);
  }
}

Value Values::number(const TreePtr& tree) const {
  std::string text = tree->at.text;
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const bool single = !hex && (text.back() == 'f' || text.back() == 'F');
  // 1.5f is a float, 1.5L is read as a double; Program text has no suffixes.
  if (single || text.back() == 'l' || text.back() == 'L') text.pop_back();
  const bool digits = text.find_first_not_of("0123456789.eE+-") == std::string::npos;
  if (hex || !digits || text.find_first_of(".eE") == std::string::npos)
    fail(tree->at, "'" + tree->at.text + "' is no number that is read: expected 12, 1.5 or 1e-3");
  // `1.` would be followed by another dot in a range, `1...n`.
  if (text.back() == '.') text += "0";
  return {text, single ? DType::F32 : DType::F64, true, false, std::nullopt};
}

Value Values::name(const TreePtr& tree) {
  Variable* found = names_.find(tree->at.text);
  // `const int n = 3` is written out as 3, `const double a = 1.5` by its name, which is
  // declared.
  if (found && found->literal) {
    found->read = true;
    const Value number = value(found->literal);
    const bool whole = number.affine.has_value();
    return {whole ? number.text : found->name, found->type, true, false, std::nullopt};
  }
  if (found && !found->constant.empty()) {
    found->read = true;
    return {found->name, found->type, false, false, std::nullopt};
  }
  const std::string text = access(tree, false);
  return {text, type_of_access(tree), false, false, std::nullopt};
}

Value Values::unary(const TreePtr& tree) {
  if (tree->at.text == "!")
    return {"not(" + condition(tree->parts[0]) + ")", DType::Bool, false, false, std::nullopt};
  const Value inner = value(tree->parts[0]);
  const DType type = promoted(inner.type);
  if (tree->at.text == "~")
    return {"not(" + as(inner, type) + ")", type, false, false, std::nullopt};
  return {"-" + operand(inner, type), type, inner.adapts && !inner.affine, true, std::nullopt};
}

// C tests any number: `if (x)` is `x != 0`.
std::string Values::condition(const TreePtr& tree) {
  const Value inner = value(tree);
  if (inner.type == DType::Bool) return inner.text;
  return operand(inner, inner.type) + " != 0";
}

Value Values::logical(const TreePtr& tree) {
  const std::string left = condition(tree->parts[0]), right = condition(tree->parts[1]);
  return {"(" + left + ") " + (tree->at.text == "&&" ? "and" : "or") + " (" + right + ")",
          DType::Bool, false, true, std::nullopt};
}

// With double x[N] and short s[N]:
// x[i] * s[i]     x[i] * f64(s[i])       the wider type
// s[i] + s[j]     i32(s[i]) + i32(s[j])  promoted
// s[i] < x[i]     f64(s[i]) < x[i]       compared in double, a bool
Value Values::binary(const TreePtr& tree) {
  const std::string& sign = tree->at.text;
  if (sign == "&&" || sign == "||") return logical(tree);
  const Value a = value(tree->parts[0]), b = value(tree->parts[1]);
  DType type = common_type(a, b);
  // A shift has the type of its left operand.
  if (sign == "<<" || sign == ">>") type = promoted(a.type);
  const bool comparison = is_comparison(sign);
  const bool integral =
      sign == "%" || sign == "&" || sign == "|" || sign == "^" || sign == "<<" || sign == ">>";
  if (integral && is_float(type)) fail(tree->at, "'" + sign + "' of " + name_of(type));
  if (comparison && a.affine && b.affine)  // of whole numbers alone
    return {in_brackets(a) + " " + sign + " " + in_brackets(b), DType::Bool, false, true,
            std::nullopt};
  // Operands that both adapt leave the type open; of numbers alone (2.5 * 3) the result adapts
  // too. If one is affine the left one gets its type, so that the text does not read as another
  // type's.
  const bool numbers = a.adapts && b.adapts && !a.affine && !b.affine;
  std::string left = operand(a, type), right = operand(b, type);
  if (a.adapts && b.adapts && !numbers && left == in_brackets(a))
    left = name_of(type) + "(" + a.text + ")";
  return {left + " " + sign + " " + right, comparison ? DType::Bool : type, numbers && !comparison,
          true, std::nullopt};
}

// Of integers `a < b ? a : b` is a minimum. Of floats it is not: it gives b where a or b is a NaN,
// and Program's min keeps the NaN.
Value Values::choice(const TreePtr& tree) {
  const TreePtr& test = tree->parts[0];
  const std::string condition = this->condition(test);
  const Value a = value(tree->parts[1]), b = value(tree->parts[2]);
  const DType type = common_type(a, b);
  const std::string yes = as(a, type), no = as(b, type);
  if (is_integer(type) && test->kind == TreeKind::Binary && !test->at.text.empty()) {
    const char sign = test->at.text[0];
    const bool compares =
        (sign == '<' || sign == '>') && test->at.text != "<<" && test->at.text != ">>";
    // The comparison is put into words once more; its reads are counted already.
    const int before = reads_;
    const Value left = compares ? value(test->parts[0]) : Value{},
                right = compares ? value(test->parts[1]) : Value{};
    reads_ = before;
    const bool straight = compares && left.text == a.text && right.text == b.text;
    const bool turned = compares && left.text == b.text && right.text == a.text;
    const bool adaptive = a.adapts && b.adapts;
    if ((straight || turned) && !adaptive)
      return {std::string((sign == '<') == straight ? "min(" : "max(") + yes + ", " + no + ")",
              type, false, false, std::nullopt};
  }
  return {"select(" + condition + ", " + yes + ", " + no + ")", type, a.adapts && b.adapts, false,
          std::nullopt};
}

Value Values::call(const TreePtr& tree) {
  std::string name = tree->at.text;
  if (name == "SCALAR_VAL" && tree->parts.size() == 1) {
    Value number = value(tree->parts[0]);
    if (number.adapts) number.type = names_.real();
    return number;
  }
  const Function* function = find_function(name);
  // sqrtf computes in float.
  const bool single = !function && name.ends_with("f");
  if (single) function = find_function(name.substr(0, name.size() - 1));
  if (!function)
    fail(tree->at, "'" + name + "' is no function that is read; there are " + known_functions());
  if (tree->parts.size() != function->count)
    fail(tree->at, "'" + name + "' takes " + std::to_string(function->count) + " values, got " +
                       std::to_string(tree->parts.size()));
  std::vector<Value> values;
  for (const TreePtr& part : tree->parts) values.push_back(value(part));
  DType type = promoted(values[0].type);
  for (const Value& v : values)
    type = common_type(values[0].type == type ? values[0] : Value{"", type, false, false, {}}, v);
  const bool whole = name == "abs";
  // sqrt(n) of an int converts it to double, as the prototype in math.h does.
  if (!whole && !is_float(type)) type = DType::F64;
  if (single) type = DType::F32;
  std::string text = std::string(function->program) + "(";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + as(values[i], type);
  return {text + ")", type, std::ranges::all_of(values, [](const Value& v) { return v.adapts; }),
          false, std::nullopt};
}

}  // namespace polyte::frontend::c
