#include "driver/lab/array_scope.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ir/domain.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

// 2 GiB in double precision: more than a peer on arrays could sensibly be given.
constexpr std::int64_t kMostPoints = std::int64_t{1} << 28;

}  // namespace

// 17 digits give back every double; Python's float() reads these names.
std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

ArrayScope::ArrayScope(const ir::Program& program, const ir::Statement& statement, ValueIds& ids)
    // The box around the domain, from the outermost iterator in: bounds of an inner one are over
    // outer ones, whose ranges are known by then. A triangle 0 <= j <= i < 8 becomes 8 x 8, and
    // mask() says which of its points are in the domain. Counters of enclosing loops get a range,
    // but no axis.
    : program_(program), statement_(statement), ids_(ids) {
  const ir::DomainBounds bounds = ir::bounds_of(statement.domain, statement.iterators);
  for (std::size_t i = 0; i < statement.iterators.size(); ++i) {
    ir::Interval range;
    for (const ir::Affine& e : bounds.of[i].lower)
      if (const auto least = ir::range_of(e, ranges_).min;
          least && (!range.min || *least > *range.min))
        range.min = least;
    for (const ir::Affine& e : bounds.of[i].upper)
      if (const auto most = ir::range_of(e, ranges_).max;
          most && (!range.max || *most < *range.max))
        range.max = most;
    const std::string& name = statement.iterators[i];
    if (!range.min || !range.max)
      throw NoForm{"'" + statement.name + "': the range of '" + name + "' is not known"};
    ranges_[name] = range;
    if (static_cast<int>(i) >= statement.region_depth)
      axes_.push_back({name, *range.min, std::max<std::int64_t>(*range.max - *range.min + 1, 0)});
  }
}

std::size_t ArrayScope::axis(const std::string& name) const {
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (axes_[i].name == name) return i;
  throw InternalError("'" + name + "' is no axis of '" + statement_.name + "'");
}

bool ArrayScope::is_empty() const {
  return std::ranges::any_of(axes_, [](const Axis& axis) { return axis.count == 0; });
}

std::int64_t ArrayScope::points(const std::set<std::size_t>& axes) const {
  std::int64_t count = 1;
  for (const std::size_t i : axes) {
    if (count > kMostPoints) break;
    // Cut off, so that the product fits in 64 bits: one axis may be as long as 2^40.
    count *= std::min(axes_[i].count, kMostPoints + 1);
  }
  return count;
}

// For an expression over axes only; counters of loops have none (InternalError).
std::set<std::size_t> ArrayScope::axes_of(const ir::Affine& e) const {
  std::set<std::string> symbols;
  e.collect_symbols(symbols);
  std::set<std::size_t> axes;
  for (const std::string& symbol : symbols) axes.insert(axis(symbol));
  return axes;
}

// Every step has the rank of the whole scope, with extent 1 along axes that it does not depend
// on: libraries broadcast them.
int ArrayScope::emit(Json operation) {
  operation["out"] = ids_.next();
  operation["rank"] = rank();
  steps_.push_back(std::move(operation));
  return steps_.back()["out"];
}

Value ArrayScope::literal(DType type, const std::string& text) {
  return {emit({{"op", "literal"}, {"dtype", std::string(to_string(type))}, {"value", text}}), {}};
}

Value ArrayScope::unary(const std::string& op, const Value& a) {
  return {emit({{"op", "unary"}, {"kind", op}, {"arg", a.id}}), a.axes};
}

// The result depends on the axes of both; an outer product of two small arrays may be too
// large.
Value ArrayScope::binary(const std::string& op, const Value& a, const Value& b) {
  std::set<std::size_t> axes = a.axes;
  axes.insert(b.axes.begin(), b.axes.end());
  if (points(axes) > kMostPoints)
    throw NoForm{"'" + statement_.name + "' would need an array of more than 2^28 elements"};
  return {emit({{"op", "binary"}, {"kind", op}, {"args", {a.id, b.id}}}), axes};
}

Value ArrayScope::select(const Value& condition, const Value& a, const Value& b) {
  std::set<std::size_t> axes = condition.axes;
  axes.insert(a.axes.begin(), a.axes.end());
  axes.insert(b.axes.begin(), b.axes.end());
  return {emit({{"op", "select"}, {"args", {condition.id, a.id, b.id}}}), axes};
}

Value ArrayScope::cast(DType type, const Value& a) {
  return {emit({{"op", "cast"}, {"dtype", std::string(to_string(type))}, {"arg", a.id}}), a.axes};
}

// Whole numbers first, the asked type at the end.
Value ArrayScope::affine(const ir::Affine& e, DType type) {
  Value sum = literal(DType::I64, std::to_string(e.constant()));
  for (const ir::Term& term : e.terms()) {
    Value part = atom(term.atom);
    if (term.coefficient != 1)
      part = binary("mul", part, literal(DType::I64, std::to_string(term.coefficient)));
    sum = binary("add", sum, part);
  }
  return type == DType::I64 ? sum : cast(type, sum);
}

// An iterator is a range along its axis; a division is floored, as ir::Affine's is.
Value ArrayScope::atom(const ir::Atom& atom) {
  if (!atom.div) {
    const std::size_t at = axis(atom.symbol);
    return {emit({{"op", "range"},
                  {"axis", at},
                  {"start", axes_[at].start},
                  {"count", axes_[at].count}}),
            {at}};
  }
  const Value numerator = affine(atom.div->numerator, DType::I64);
  return binary("floor_div", numerator, literal(DType::I64, std::to_string(atom.div->denominator)));
}

// Which points of the box are in the domain: nothing where all are. Conditions that hold
// everywhere are left out.
std::optional<Value> ArrayScope::mask(const std::vector<ir::Constraint>& constraints) {
  std::optional<Value> all;
  for (const ir::Constraint& c : constraints) {
    if (ir::truth_of(c, ranges_) == ir::Truth::True) continue;
    const Value zero = literal(DType::I64, "0"), e = affine(c.expr, DType::I64);
    const Value holds = c.equality ? binary("eq", e, zero) : binary("le", zero, e);
    all = all ? binary("and", *all, holds) : holds;
  }
  return all;
}

}  // namespace polyte::lab
