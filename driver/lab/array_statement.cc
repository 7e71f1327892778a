#include "driver/lab/array_statement.h"

#include <algorithm>

#include "driver/lab/array_scope.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::int64_t kMostUnrolled = 64;

const char* name_of(ir::UnaryOp op) {
  switch (op) {
    case ir::UnaryOp::Neg:
      return "neg";
    case ir::UnaryOp::Abs:
      return "abs";
    case ir::UnaryOp::Not:
      return "not";
    case ir::UnaryOp::Sqrt:
      return "sqrt";
    case ir::UnaryOp::Floor:
      return "floor";
    case ir::UnaryOp::Ceil:
      return "ceil";
    case ir::UnaryOp::Round:
      return "round";
    case ir::UnaryOp::Trunc:
      return "trunc";
    case ir::UnaryOp::Exp:
      return "exp";
    case ir::UnaryOp::Log:
      return "log";
    case ir::UnaryOp::Tanh:
      return "tanh";
    case ir::UnaryOp::Erf:
      return "erf";
    case ir::UnaryOp::Sigmoid:
      return "sigmoid";
    case ir::UnaryOp::Sin:
      return "sin";
    case ir::UnaryOp::Cos:
      return "cos";
    case ir::UnaryOp::Tf32:
      break;
  }
  throw NoForm{"no array library has the rounding tf32(..)"};
}

const char* name_of(ir::BinaryOp op, DType type) {
  switch (op) {
    case ir::BinaryOp::Add:
      return "add";
    case ir::BinaryOp::Sub:
      return "sub";
    case ir::BinaryOp::Mul:
      return "mul";
    case ir::BinaryOp::Div:
      if (is_float(type)) return "div";
      break;
    case ir::BinaryOp::Min:
      return "min";
    case ir::BinaryOp::Max:
      return "max";
    case ir::BinaryOp::Pow:
      return "pow";
    case ir::BinaryOp::And:
      return "and";
    case ir::BinaryOp::Or:
      return "or";
    case ir::BinaryOp::Xor:
      return "xor";
    case ir::BinaryOp::Eq:
      return "eq";
    case ir::BinaryOp::Ne:
      return "ne";
    case ir::BinaryOp::Lt:
      return "lt";
    case ir::BinaryOp::Le:
      return "le";
    default:
      break;
  }
  throw NoForm{"integers that are divided or shifted mean something else in each array library"};
}

std::string combine_of(ir::Combiner combiner) {
  switch (combiner) {
    case ir::Combiner::Sum:
      return "add";
    case ir::Combiner::Product:
      return "mul";
    case ir::Combiner::Min:
      return "min";
    case ir::Combiner::Max:
      return "max";
    case ir::Combiner::And:
      return "and";
    case ir::Combiner::Or:
      return "or";
    default:
      throw NoForm{"a pair of a value and its place that is updated"};
  }
}

std::string text_of(const ir::Literal& literal, DType type) {
  return is_float(type) ? number_text(literal.real) : std::to_string(literal.integer);
}

bool has(const std::vector<ir::Constraint>& list, const ir::Constraint& c) {
  return std::ranges::find(list, c) != list.end();
}

bool uses_any(const ir::Constraint& c, const std::vector<std::string>& symbols) {
  return std::ranges::any_of(symbols,
                             [&](const std::string& symbol) { return c.expr.uses(symbol); });
}

// The factors of a product, signs apart: -(a * b) * -c has a, b, c and is not negative.
void factors_of(const ir::Expr& e, std::vector<ir::Expr>& factors, bool& negative) {
  if (const auto* binary = std::get_if<ir::Binary>(&e->op);
      binary && binary->op == ir::BinaryOp::Mul) {
    factors_of(binary->a, factors, negative);
    return factors_of(binary->b, factors, negative);
  }
  if (const auto* unary = std::get_if<ir::Unary>(&e->op); unary && unary->op == ir::UnaryOp::Neg) {
    negative = !negative;
    return factors_of(unary->a, factors, negative);
  }
  factors.push_back(e);
}

// A statement's value is computed over the whole box of its iterators; what the domain leaves out
// is put right where it is stored, or holds the identity before it is reduced.
class StatementForm {
 public:
  StatementForm(const ir::Program& program, const ir::Statement& statement, bool fresh,
                ValueIds& ids)
      : scope_(program, statement, ids), statement_(statement), fresh_(fresh) {}

  std::vector<Json> steps() {
    if (scope_.is_empty()) return {};
    check_order();
    if (is_pair()) return pair_steps();
    const bool updates = statement_.combiner != ir::Combiner::None;
    Value value = updates ? reduced() : value_of(statement_.values[0]);
    if (updates && !fresh_)
      value = scope_.binary(combine_of(statement_.combiner), current(), value);
    // An update that keeps what was there has combined the identity outside of its domain, which
    // changes nothing. All others write where the domain reaches, and leave the rest as it is.
    std::optional<Value> where = updates && !fresh_ ? std::nullopt : scope_.mask(written_domain());
    if (statement_.guard) {
      if (updates && !statement_.reductions.empty())
        throw no("its condition is asked in each step of a reduction");
      const Value asked = value_of(statement_.guard);
      where = where ? scope_.binary("and", *where, asked) : asked;
    }
    if (where) value = scope_.select(*where, value, current());
    store(statement_.writes[0], value);
    return scope_.take();
  }

 private:
  ArrayScope scope_;
  const ir::Statement& statement_;
  bool fresh_;

  NoForm no(const std::string& why) const { return NoForm{"'" + statement_.name + "': " + why}; }
  bool is_pair() const { return statement_.writes.size() == 2; }
  const ir::Buffer& written(std::size_t i) const {
    return scope_.program().buffer(statement_.writes[i].buffer);
  }

  // Whole arrays at once are the reference order where no instance reads what another one writes,
  // and no two write the same element but to reduce it. An elementwise read of the very element
  // that is written (x[i] = f(x[i])) is neither.
  void check_order() const {
    for (const ir::Expr& value : statement_.values)
      for (const ir::Load* load : ir::loads_of(value))
        for (const ir::Access& write : statement_.writes)
          if (load->buffer == write.buffer &&
              (statement_.combiner != ir::Combiner::None || !same(load->indices, write)))
            throw no("each step reads what another one has written to '" + write.buffer + "'");
    std::set<std::string> used;
    for (const ir::Index& index : statement_.writes[0].indices) {
      if (index.indirect) throw no("it scatters into '" + statement_.writes[0].buffer + "'");
      if (index.affine.is_constant()) continue;
      if (index.affine.has_division() || index.affine.terms().size() > 1 ||
          !used.insert(index.affine.terms()[0].atom.symbol).second)
        throw no("it writes to '" + statement_.writes[0].buffer +
                 "' by subscripts that no slice has");
    }
    for (const Axis& axis : scope_.axes())
      if (!used.contains(axis.name) &&
          std::ranges::find(statement_.reductions, axis.name) == statement_.reductions.end())
        throw no("its steps write the same element one after another");
  }

  static bool same(const std::vector<ir::Index>& indices, const ir::Access& write) {
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (indices[d].indirect || indices[d].affine != write.indices[d].affine) return false;
    return true;
  }

  // Which elements are written, whatever is reduced.
  // Of a triangle `k <= i` that k is reduced over nothing is left: each i is written.
  std::vector<ir::Constraint> written_domain() const {
    std::vector<ir::Constraint> domain = statement_.domain;
    std::erase_if(domain,
                  [&](const ir::Constraint& c) { return uses_any(c, statement_.reductions); });
    return domain;
  }

  // ---- values

  Value value_of(const ir::Expr& e) {
    const DType type = e->type;
    if (const auto* literal = std::get_if<ir::Literal>(&e->op))
      return scope_.literal(type, text_of(*literal, type));
    if (const auto* index = std::get_if<ir::IndexValue>(&e->op))
      return scope_.affine(index->value, type);
    if (const auto* load = std::get_if<ir::Load>(&e->op))
      return read_array(scope_, *load, type,
                        [this](const ir::Expr& part) { return value_of(part); });
    if (const auto* unary = std::get_if<ir::Unary>(&e->op))
      return scope_.unary(name_of(unary->op), value_of(unary->a));
    if (const auto* binary = std::get_if<ir::Binary>(&e->op)) {
      if (binary->op == ir::BinaryOp::Within) return value_of(binary->a);
      const char* name = name_of(binary->op, binary->a->type);
      const Value a = value_of(binary->a);
      return scope_.binary(name, a, value_of(binary->b));
    }
    if (const auto* fma = std::get_if<ir::Fma>(&e->op)) {
      // Libraries round the product, too: the comparison of outputs allows for that.
      const Value product = scope_.binary("mul", value_of(fma->a), value_of(fma->b));
      return scope_.binary("add", product, value_of(fma->c));
    }
    if (const auto* select = std::get_if<ir::Select>(&e->op)) {
      const Value condition = value_of(select->condition), a = value_of(select->a);
      return scope_.select(condition, a, value_of(select->b));
    }
    if (const auto* cast = std::get_if<ir::Cast>(&e->op))
      return scope_.cast(type, value_of(cast->a));
    throw no("an expression of vectors");
  }

  // ---- reductions

  // Windows of a few points become a sum of shifted slices, as a person would write it:
  //   sum[r] x[i + r], r in 0..3   ->   x[0:n] + x[1:n+1] + x[2:n+2]
  // Each element of the result binds the windows' iterators to one of their points.
  std::vector<ir::Bindings> unrolled() const {
    std::vector<ir::Bindings> all{{}};
    const std::set<std::string> windows = window_iterators(statement_.values[0]);
    for (const std::string& name : statement_.reductions) {
      if (!windows.contains(name)) continue;
      const Axis& axis = scope_.axes()[scope_.axis(name)];
      if (static_cast<std::int64_t>(all.size()) * axis.count > kMostUnrolled)
        throw no("a window of more than 64 points that is no convolution");
      std::vector<ir::Bindings> longer;
      for (const ir::Bindings& one : all)
        for (std::int64_t i = 0; i < axis.count; ++i) {
          longer.push_back(one);
          longer.back()[name] = ir::Affine(axis.start + i);
        }
      all = std::move(longer);
    }
    return all;
  }

  // The library's own operation where it has one: only over a full box, for a convolution or pool
  // has no mask.
  Value reduced() {
    const bool box = !scope_.mask(statement_.domain).has_value();
    if (box && !statement_.guard) {
      if (const std::optional<Value> found = convolution(scope_)) return *found;
      if (const std::optional<Value> found = pool(scope_)) return *found;
    }
    std::optional<Value> sum;
    for (const ir::Bindings& bindings : unrolled()) {
      const Value part = reduced_at(bindings);
      sum = sum ? scope_.binary(combine_of(statement_.combiner), *sum, part) : part;
    }
    return *sum;
  }

  Value reduced_at(const ir::Bindings& bindings) {
    const ir::Expr value = ir::substitute(statement_.values[0], bindings);
    std::vector<ir::Constraint> domain;
    for (const ir::Constraint& c : statement_.domain) domain.push_back(ir::substitute(c, bindings));
    std::set<std::size_t> over;
    for (const std::string& name : statement_.reductions)
      if (!bindings.contains(name)) over.insert(scope_.axis(name));
    const std::optional<Value> mask = scope_.mask(domain);
    if (statement_.combiner == ir::Combiner::Sum && is_float(value->type) && !over.empty()) {
      const std::size_t before = scope_.step_count();
      if (const std::optional<Value> found = contraction(value, over, mask)) return *found;
      scope_.drop_after(before);
    }
    Value all = value_of(value);
    if (mask) all = scope_.select(*mask, all, identity(value->type));
    return reduce(all, over);
  }

  Value identity(DType type) {
    return scope_.literal(
        type, text_of(std::get<ir::Literal>(ir::identity_of(statement_.combiner, type)->op), type));
  }

  // Along axes that the value does not vary over, each element is there `count` times.
  Value reduce(const Value& value, const std::set<std::size_t>& over) {
    if (over.empty()) return value;
    Json axes = Json::array();
    Value result = value;
    for (const std::size_t axis : over) {
      axes.push_back(axis);
      if (!value.axes.contains(axis) && statement_.combiner != ir::Combiner::Min &&
          statement_.combiner != ir::Combiner::Max)
        throw no("it adds up what does not vary");
      result.axes.erase(axis);
    }
    result.id = scope_.emit({{"op", "reduce"},
                             {"kind", combine_of(statement_.combiner)},
                             {"arg", value.id},
                             {"axes", axes}});
    return result;
  }

  // A sum of a product whose factors vary over fewer axes than the product does, as one einsum:
  //   sum[k] 2 * A[m, k] * -B[k, n]   ->   neg(einsum("mk,kn->mn", A, B) * 2)
  // Factors without axes come out of the sum as its scale. Nothing where an axis that is summed
  // over is in no factor, or where no factor can take the mask.
  std::optional<Value> contraction(const ir::Expr& value, const std::set<std::size_t>& over,
                                   const std::optional<Value>& mask) {
    std::vector<ir::Expr> parts;
    bool negative = false;
    factors_of(value, parts, negative);
    if (parts.size() < 2) return std::nullopt;
    std::vector<Value> factors;
    std::optional<Value> scale;
    for (const ir::Expr& part : parts) {
      const Value factor = value_of(part);
      if (!factor.axes.empty())
        factors.push_back(factor);
      else
        scale = scale ? scope_.binary("mul", *scale, factor) : factor;
    }
    std::set<std::size_t> all;
    for (const Value& factor : factors) all.insert(factor.axes.begin(), factor.axes.end());
    if (!std::ranges::includes(all, over)) return std::nullopt;
    if (mask && !put_in(*mask, factors, value->type)) return std::nullopt;
    Value result = einsum(factors, all, over);
    if (scale) result = scope_.binary("mul", result, *scale);
    return negative ? scope_.unary("neg", result) : result;
  }

  // Zeros where the domain does not reach, in a factor that varies over all axes of the mask: one
  // zero makes the product zero, so that the others need none.
  bool put_in(const Value& mask, std::vector<Value>& factors, DType type) {
    for (Value& factor : factors)
      if (std::ranges::includes(factor.axes, mask.axes)) {
        factor = scope_.select(mask, factor, scope_.literal(type, "0"));
        return true;
      }
    return false;
  }

  Value einsum(const std::vector<Value>& factors, const std::set<std::size_t>& all,
               const std::set<std::size_t>& over) {
    Json args = Json::array(), axes = Json::array();
    for (const Value& factor : factors) args.push_back(factor.id), axes.push_back(factor.axes);
    Value result;
    for (const std::size_t axis : all)
      if (!over.contains(axis)) result.axes.insert(axis);
    result.id =
        scope_.emit({{"op", "einsum"}, {"args", args}, {"axes", axes}, {"result", result.axes}});
    return result;
  }

  // ---- the largest with its place
  //
  // Two writes, of the value and of the iterator at which it was found. Libraries give the place as
  // a number from 0, to which the start of the axis is added.

  std::vector<Json> pair_steps() {
    if (!fresh_ || statement_.reductions.size() != 1 || statement_.guard ||
        scope_.mask(statement_.domain))
      throw no("a pair of a value and its place that is updated");
    const std::size_t over = scope_.axis(statement_.reductions[0]);
    const auto* place = std::get_if<ir::IndexValue>(&statement_.values[1]->op);
    if (!place || place->value != ir::Affine::symbol(statement_.reductions[0]))
      throw no("the place is not the iterator itself");
    const Value value = value_of(statement_.values[0]);
    if (!value.axes.contains(over)) throw no("it compares what does not vary");
    const bool largest = statement_.combiner == ir::Combiner::ArgMax;
    Value best = value, where = value;
    best.axes.erase(over), where.axes.erase(over);
    best.id = scope_.emit(
        {{"op", "reduce"}, {"kind", largest ? "max" : "min"}, {"arg", value.id}, {"axes", {over}}});
    where.id = scope_.emit(
        {{"op", "place"}, {"kind", largest ? "max" : "min"}, {"arg", value.id}, {"axis", over}});
    where = scope_.binary("add", where,
                          scope_.literal(DType::I64, std::to_string(scope_.axes()[over].start)));
    store(statement_.writes[0], best);
    store(statement_.writes[1], scope_.cast(written(1).dtype, where));
    return scope_.take();
  }

  // ---- what is written

  // check_order has made sure that each subscript is a constant or a multiple of one axis.
  Json dims_of(const ir::Access& write) const {
    Json dims = Json::array();
    for (const ir::Index& index : write.indices) {
      if (index.affine.is_constant()) {
        dims.push_back({{"at", index.affine.constant()}});
        continue;
      }
      const ir::Term& term = index.affine.terms()[0];
      const std::size_t axis = scope_.axis(term.atom.symbol);
      const std::int64_t start =
          index.affine.constant() + term.coefficient * scope_.axes()[axis].start;
      dims.push_back({{"axis", axis},
                      {"start", start},
                      {"step", term.coefficient},
                      {"count", scope_.axes()[axis].count}});
    }
    return dims;
  }

  // The elements that the statement writes, as they are before it.
  Value current() {
    const ir::Access& write = statement_.writes[0];
    std::set<std::size_t> axes;
    for (const ir::Index& index : write.indices)
      for (const std::size_t axis : scope_.axes_of(index.affine)) axes.insert(axis);
    return {scope_.emit({{"op", "view"}, {"from", write.buffer}, {"dims", dims_of(write)}}), axes};
  }

  void store(const ir::Access& write, const Value& value) {
    scope_.emit(
        {{"op", "store"}, {"buffer", write.buffer}, {"arg", value.id}, {"dims", dims_of(write)}});
  }
};

}  // namespace

bool is_initialised_by(const ir::Statement& update, const ir::Statement& init) {
  if (update.combiner == ir::Combiner::None || init.combiner != ir::Combiner::None) return false;
  if (init.guard || update.guard) return false;
  if (init.writes.size() != update.writes.size() || init.region_depth != update.region_depth)
    return false;
  for (std::size_t i = 0; i < init.writes.size(); ++i) {
    if (init.writes[i].buffer != update.writes[i].buffer) return false;
    for (std::size_t d = 0; d < init.writes[i].indices.size(); ++d) {
      const ir::Index &begun = init.writes[i].indices[d], &added = update.writes[i].indices[d];
      if (begun.indirect || added.indirect || begun.affine != added.affine) return false;
    }
  }
  if (!ir::equal(init.values[0], ir::identity_of(update.combiner, init.values[0]->type)))
    return false;
  // The same elements.
  return std::ranges::all_of(init.domain,
                             [&](const ir::Constraint& c) { return has(update.domain, c); }) &&
         std::ranges::all_of(update.domain, [&](const ir::Constraint& c) {
           return uses_any(c, update.reductions) || has(init.domain, c);
         });
}

std::vector<nlohmann::ordered_json> statement_steps(const ir::Program& program,
                                                    const ir::Statement& statement, bool fresh,
                                                    ValueIds& ids) {
  return StatementForm(program, statement, fresh, ids).steps();
}

}  // namespace polyte::lab
