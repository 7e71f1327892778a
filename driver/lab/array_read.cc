// Reads of tensors as views, padded views and gathers.
#include <algorithm>
#include <optional>

#include "driver/lab/array_scope.h"
#include "ir/domain.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

// A subscript over one axis at most: start + step * axis.
struct Line {
  std::optional<std::size_t> axis;  // none: a constant
  std::int64_t at = 0, step = 0;    // of the axis' first point
};

std::optional<Line> line_of(const ArrayScope& scope, const ir::Index& index) {
  if (index.indirect || index.affine.has_division() || index.affine.terms().size() > 1)
    return std::nullopt;
  if (index.affine.is_constant()) return Line{std::nullopt, index.affine.constant(), 0};
  const ir::Term& term = index.affine.terms()[0];
  const std::size_t axis = scope.axis(term.atom.symbol);
  return Line{axis, index.affine.constant() + term.coefficient * scope.axes()[axis].start,
              term.coefficient};
}

// Lines over axes that differ; none where there are others. A[i, i], a diagonal, is no slice.
std::optional<std::vector<Line>> lines_of(const ArrayScope& scope, const ir::Load& load) {
  std::vector<Line> lines;
  std::set<std::size_t> used;
  for (const ir::Index& index : load.indices) {
    const std::optional<Line> line = line_of(scope, index);
    if (!line || (line->axis && !used.insert(*line->axis).second)) return std::nullopt;
    lines.push_back(*line);
  }
  return lines;
}

// How far the subscripts of a box leave the tensor, per dimension and side: x[i + r - 1] with
// i in 0..8 and r in 0..3 of a tensor of 8 has one below and one above.
struct Rims {
  std::vector<std::int64_t> low, high;
  bool any = false;
};

Rims rims_of(const ArrayScope& scope, const ir::Load& load) {
  const std::vector<std::int64_t> shape = ir::constant_shape(scope.program().buffer(load.buffer));
  Rims rims;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const ir::Interval range = ir::range_of(load.indices[d].affine, scope.ranges());
    if (!range.min || !range.max)
      throw NoForm{"a subscript of '" + load.buffer + "' has no known range"};
    rims.low.push_back(std::max<std::int64_t>(0, -*range.min));
    rims.high.push_back(std::max<std::int64_t>(0, *range.max - (shape[d] - 1)));
    rims.any = rims.any || rims.low.back() > 0 || rims.high.back() > 0;
  }
  return rims;
}

const ir::Literal* literal_of(const ir::Expr& e) {
  return e ? std::get_if<ir::Literal>(&e->op) : nullptr;
}

// The tensor with a rim, where the box leaves it; else itself. The rim holds the value that the
// read has outside of the tensor. A guard that says more than that is a mask over the read (see
// read_array), and what the mask hides may lie in the rim, whose value is of no matter then.
Json padded(ArrayScope& scope, const ir::Load& load, DType type, const Rims& rims) {
  if (!rims.any) return load.buffer;
  const ir::Literal* value = literal_of(load.otherwise);
  const std::string text = !value           ? "0"
                           : is_float(type) ? number_text(value->real)
                                            : std::to_string(value->integer);
  return scope.emit({{"op", "pad"},
                     {"from", load.buffer},
                     {"low", rims.low},
                     {"high", rims.high},
                     {"value", text}});
}

// `at` is the subscript at the first point of the axis; the rim moves all of them up.
Value view(ArrayScope& scope, const std::vector<Line>& lines, const Json& from, const Rims& rims) {
  Json dims = Json::array();
  std::set<std::size_t> axes;
  for (std::size_t d = 0; d < lines.size(); ++d) {
    const std::int64_t at = lines[d].at + rims.low[d];
    if (!lines[d].axis) {
      dims.push_back({{"at", at}});
      continue;
    }
    axes.insert(*lines[d].axis);
    dims.push_back({{"axis", *lines[d].axis},
                    {"start", at},
                    {"step", lines[d].step},
                    {"count", scope.axes()[*lines[d].axis].count}});
  }
  return {scope.emit({{"op", "view"}, {"from", from}, {"dims", dims}}), axes};
}

// By arrays of subscripts. They are never negative, which libraries would count from the end: the
// rim has moved them up.
Value gather(ArrayScope& scope, const ir::Load& load, const Json& from, const Rims& rims,
             const std::function<Value(const ir::Expr&)>& value_of) {
  Json indices = Json::array();
  std::set<std::size_t> axes;
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    Value index = scope.affine(load.indices[d].affine + ir::Affine(rims.low[d]), DType::I64);
    if (load.indices[d].indirect)
      index =
          scope.binary("add", index, scope.cast(DType::I64, value_of(load.indices[d].indirect)));
    axes.insert(index.axes.begin(), index.axes.end());
    indices.push_back(index.id);
  }
  if (scope.points(axes) > (1 << 24))
    throw NoForm{"'" + scope.statement().name + "' reads '" + load.buffer +
                 "' by subscripts that no slice has"};
  return {scope.emit({{"op", "gather"}, {"from", from}, {"indices", indices}}), axes};
}

}  // namespace

bool is_padding(const ArrayScope& scope, const ir::Load& load) {
  const ir::Program& program = scope.program();
  const ir::DomainFacts facts(scope.statement().iterators, scope.statement().domain, program.params,
                              program.context);
  // Constraints that hold in the whole box are no difference; the rest are compared as sets.
  std::vector<ir::Constraint> implied =
      ir::implied_guard(program.buffer(load.buffer).shape, load.indices, facts);
  std::vector<ir::Constraint> guard = load.guard;
  const auto always = [&](const ir::Constraint& c) {
    return ir::truth_of(c, scope.ranges()) == ir::Truth::True;
  };
  std::erase_if(implied, always), std::erase_if(guard, always);
  std::ranges::sort(implied, std::less<>());
  std::ranges::sort(guard, std::less<>());
  return implied == guard;
}

Value read_array(ArrayScope& scope, const ir::Load& load, DType type,
                 const std::function<Value(const ir::Expr&)>& value_of) {
  const Rims rims = rims_of(scope, load);
  const bool padding = load.otherwise && literal_of(load.otherwise) && is_padding(scope, load);
  const Json from = padded(scope, load, type, rims);
  const auto lines = lines_of(scope, load);
  Value value = lines ? view(scope, *lines, from, rims) : gather(scope, load, from, rims, value_of);
  if (!load.otherwise || padding) return value;
  const std::optional<Value> inside = scope.mask(load.guard);
  return inside ? scope.select(*inside, value, value_of(load.otherwise)) : value;
}

// In x[2*i + r] both i and r; in A[i, k] none.
std::set<std::string> window_iterators(const ir::Expr& value) {
  std::set<std::string> found;
  for (const ir::Load* load : ir::loads_of(value))
    for (const ir::Index& index : load->indices)
      if (index.affine.terms().size() > 1) index.affine.collect_symbols(found);
  return found;
}

}  // namespace polyte::lab
