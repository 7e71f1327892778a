// Inlining, proved on its own: the Program after compute_inline against the one before
// (docs/proof.md, section 4). The same statements in the same order, but for the definition; every
// expression is walked beside the original, and where the original loads an element of the tensor,
// there stands the definition of exactly this element. What the definition reads must be at the
// reader what it was at the definition: nothing in between writes it.
#include <isl/map.h>

#include <algorithm>

#include "schedule/proof/rewrites.h"

namespace polyte::schedule {
namespace {

// The one statement that gives the tensor its values, if every element has one plain definition
// by plain subscripts.
std::optional<std::size_t> definition_of(const ir::Program& program, const std::string& tensor) {
  std::optional<std::size_t> definition;
  for (std::size_t i = 0; i < program.statements.size(); ++i) {
    const ir::Statement& s = program.statements[i];
    if (std::ranges::none_of(s.writes,
                             [&](const ir::Access& write) { return write.buffer == tensor; }))
      continue;
    if (definition || s.combiner != ir::Combiner::None || s.guard || s.region_depth > 0 ||
        s.writes.size() != 1)
      return std::nullopt;
    const std::vector<const ir::Load*> loads = ir::loads_of(s.values[0]);
    if (std::ranges::any_of(loads, [&](const ir::Load* load) { return load->buffer == tensor; }))
      return std::nullopt;
    definition = i;
  }
  return definition;
}

class InlineMatcher {
 public:
  InlineMatcher(std::string tensor, const ir::Statement& definition)
      : tensor_(std::move(tensor)), definition_(definition) {}

  // True where `now` is `then` with loads of the tensor replaced by their definitions.
  bool match(const ir::Expr& now, const ir::Expr& then) {
    if (!now || !then) return !now && !then;
    const auto* load = std::get_if<ir::Load>(&then->op);
    if (load && load->buffer == tensor_)
      return match_padded(now, *load) || match_definition(now, *load);
    if (load) return match_same_load(now, *load);
    if (same_operation(now, then,
                       [&](const ir::Expr& a, const ir::Expr& b) { return match(a, b); }))
      return true;
    // A leaf, or an expression that same_operation does not open: equal as it stands, and nothing
    // to replace.
    return ir::equal(now, then) && !reads(then);
  }

  bool match(const ir::Access& now, const ir::Access& then) {
    return now.buffer == then.buffer && match(now.indices, then.indices);
  }

 private:
  std::string tensor_;
  const ir::Statement& definition_;
  // Hold where `now` is used: the guards of the padded reads around it.
  std::vector<ir::Constraint> assumed_;

  bool assumed(const ir::Constraint& c) const {
    return std::ranges::find(assumed_, c) != assumed_.end();
  }

  bool reads(const ir::Expr& e) const {
    return std::ranges::any_of(ir::loads_of(e),
                               [&](const ir::Load* load) { return load->buffer == tensor_; });
  }

  bool match(const std::vector<ir::Index>& now, const std::vector<ir::Index>& then) {
    return std::ranges::equal(now, then, [&](const ir::Index& a, const ir::Index& b) {
      return a.affine == b.affine && match(a.indirect, b.indirect);
    });
  }

  // The same element, guarded further by what holds anyway: what it is otherwise does not
  // matter then.
  bool match_same_load(const ir::Expr& now, const ir::Load& then) {
    const auto* load = std::get_if<ir::Load>(&now->op);
    if (!load || load->buffer != then.buffer || !match(load->indices, then.indices)) return false;
    const auto beyond_assumed = [&](std::vector<ir::Constraint> guard) {
      std::erase_if(guard, [&](const ir::Constraint& c) { return assumed(c); });
      return guard;
    };
    const std::vector<ir::Constraint> wanted = beyond_assumed(then.guard);
    if (beyond_assumed(load->guard) != wanted) return false;
    return wanted.empty() || match(load->otherwise, then.otherwise);
  }

  // A padded read of what is inlined becomes a choice:
  //
  //   t[i - 1] when 0 <= i - 1 else 0      select(0 <= i - 1, definition of t[i - 1], 0)
  //
  // Within the definition the guard holds, so that a guard there may have lost what it implies
  // (assumed_).
  bool match_padded(const ir::Expr& now, const ir::Load& load) {
    const auto* choice = std::get_if<ir::Select>(&now->op);
    if (!choice || load.guard.empty() || !is_conjunction(choice->condition, load.guard))
      return false;
    if (!match(choice->b, load.otherwise)) return false;
    const std::size_t before = assumed_.size();
    assumed_.insert(assumed_.end(), load.guard.begin(), load.guard.end());
    ir::Load plain = load;
    plain.guard.clear();
    plain.otherwise = nullptr;
    const bool same = match_definition(choice->a, plain);
    assumed_.resize(before);
    return same;
  }

  // c1 and c2 and .., each as 0 <= e or 0 == e.
  static bool is_conjunction(const ir::Expr& condition, std::vector<ir::Constraint> guard) {
    const ir::Constraint last = guard.back();
    guard.pop_back();
    const auto* both = std::get_if<ir::Binary>(&condition->op);
    if (!both) return false;
    if (guard.empty()) return is_comparison(*both, last);
    if (both->op != ir::BinaryOp::And) return false;
    const auto* right = std::get_if<ir::Binary>(&both->b->op);
    return right && is_comparison(*right, last) && is_conjunction(both->a, guard);
  }

  static bool is_comparison(const ir::Binary& comparison, const ir::Constraint& c) {
    return comparison.op == (c.equality ? ir::BinaryOp::Eq : ir::BinaryOp::Le) &&
           ir::equal(comparison.a, ir::make_index(0)) &&
           ir::equal(comparison.b, ir::make_index(c.expr));
  }

  // The definition writes t[i, j + 2]; a read of t[x, y] is its value at i = x, j = y - 2.
  bool match_definition(const ir::Expr& now, const ir::Load& load) {
    if (!load.guard.empty()) return false;
    ir::Bindings bindings;
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
      const ir::Index& written = definition_.writes[0].indices[i];
      const std::int64_t offset = written.affine.constant();  // T[i + 2] = ..
      std::optional<std::string> iterator = (written.affine - offset).as_symbol();
      if (!iterator || written.indirect || load.indices[i].indirect || bindings.contains(*iterator))
        return false;
      bindings[*iterator] = load.indices[i].affine - offset;
    }
    if (bindings.size() != definition_.iterators.size()) return false;
    const ir::Expr value = ir::substitute(definition_.values[0], bindings);
    return value->type == now->type && match(now, value);
  }
};

bool same_but_expressions(const ir::Statement& now, ir::Statement then) {
  then.values = now.values;
  then.guard = now.guard;
  then.writes = now.writes;
  return ir::equal(now, then);
}

// The term of a sum. A product that the tensor held was rounded when it was stored: it is
// 1 * product now, so that the multiplication that is done together with the addition, in one
// rounding, is the one by 1.
bool matches_term(InlineMatcher& matcher, ir::Combiner combiner, const ir::Expr& now,
                  const ir::Expr& then) {
  if (!ir::is_fused_product(combiner, now) || ir::is_fused_product(combiner, then))
    return matcher.match(now, then);
  const auto& product = std::get<ir::Binary>(now->op);
  return ir::equal(product.a, ir::make_literal(now->type, 1)) && matcher.match(product.b, then);
}

bool matches(InlineMatcher& matcher, const ir::Statement& now, const ir::Statement& then) {
  return same_but_expressions(now, then) && matcher.match(now.guard, then.guard) &&
         std::ranges::equal(now.values, then.values,
                            [&](const ir::Expr& a, const ir::Expr& b) {
                              return matches_term(matcher, now.combiner, a, b);
                            }) &&
         std::ranges::equal(now.writes, then.writes, [&](const ir::Access& a, const ir::Access& b) {
           return matcher.match(a, b);
         });
}

// What the definition reads must not be overwritten after it and before a use of the tensor.
class OverwrittenInputs {
 public:
  OverwrittenInputs(const Basis& before, std::size_t definition, const std::string& tensor)
      : model_(before.model),
        definition_(static_cast<int>(definition)),
        tensor_(buffer_index(model_, tensor)),
        defined_(access_of(model_, definition, tensor, true).cells) {}

  // Every read of the definition against every read of the tensor, and all writers in between:
  //
  //   D: t[i] = x[i];   W: x[i] = ..;   R: .. t[i] ..      R would take W's x[i]
  std::optional<Refusal> find() const {
    for (const IslAccess& input :
         model_.statements[static_cast<std::size_t>(definition_)].accesses) {
      if (input.write) continue;
      for (std::size_t reader = 0; reader < model_.statements.size(); ++reader)
        for (const IslAccess& use : model_.statements[reader].accesses) {
          if (use.write || use.buffer != tensor_) continue;
          if (auto refusal = between(input, static_cast<int>(reader), use)) return refusal;
        }
    }
    return std::nullopt;
  }

 private:
  const IslModel& model_;
  int definition_, tensor_;
  isl::map defined_;  // definition -> element

  const ir::Statement& body(int statement) const {
    return model_.statements[static_cast<std::size_t>(statement)].statement->body;
  }

  // The definition stands outside all regions: a statement is before all of its instances,
  // or after all.
  std::optional<Refusal> between(const IslAccess& input, int reader, const IslAccess& use) const {
    const isl::map needed = use.cells.apply_range(defined_.reverse()).apply_range(input.cells);
    for (std::size_t i = 0; i < model_.statements.size(); ++i) {
      const int writer = static_cast<int>(i);
      if (is_never_before(model_, definition_, writer)) continue;
      for (const IslAccess& write : model_.statements[i].accesses) {
        if (!write.write || write.buffer != input.buffer) continue;
        const isl::map late =
            forward_pairs(model_, writer, reader, write.cells.apply_range(needed.reverse()));
        if (!late.is_empty())
          return refusal(writer, write, reader, late, write.exact && input.exact && use.exact);
      }
    }
    return std::nullopt;
  }

  Refusal refusal(int writer, const IslAccess& write, int reader, const isl::map& late,
                  bool is_exact) const {
    const std::string& tensor = model_.buffers[static_cast<std::size_t>(tensor_)].name;
    const Point point = first_point(isl::manage(isl_map_wrap(late.copy())), model_.params);
    const auto split = static_cast<std::ptrdiff_t>(body(writer).iterators.size());
    Counterexample c;
    c.sizes = point.params;
    c.size_names = model_.params;
    c.source = make_instance(body(writer), {point.values.begin(), point.values.begin() + split});
    c.sink = make_instance(body(reader), {point.values.begin() + split, point.values.end()});
    c.watch = cell_text(write.text, body(writer), point, 0);
    c.reference = body(definition_).name + " reads " + c.watch + ", then " + to_string(c.source) +
                  " overwrites it, then " + to_string(c.sink) + " takes what " +
                  body(definition_).name + " made of it";
    c.scheduled =
        to_string(c.sink) + " makes it of what " + to_string(c.source) + " has left in " + c.watch;
    Refusal refusal;
    refusal.kind = is_exact ? RefusalKind::Illegal : RefusalKind::Unknown;
    refusal.headline =
        "'" + tensor + "' would be computed from other values" +
        (is_exact ? "" : std::string(": which elements are overwritten is known at run time only"));
    if (is_exact) refusal.counterexamples.push_back(std::move(c));
    return refusal;
  }
};

}  // namespace

std::optional<Refusal> check_inlining(const Basis& basis, const Rewrite& rewrite) {
  const std::string& tensor = rewrite.tensor;
  const ir::Program& before = *basis.program;
  const ir::Program& after = *rewrite.after;
  const auto fault = [&](const std::string& why) {
    return Refusal(RefusalKind::Illegal,
                   "the Program without " + tensor + " is not the Program: " + why);
  };
  const ir::Buffer* buffer = before.find_buffer(tensor);
  const std::optional<std::size_t> definition = definition_of(before, tensor);
  if (!buffer || buffer->role != ir::Role::Temp || !definition)
    return fault(tensor + " has no single definition");
  if (const auto other = dropped_statement(before, after, *definition, tensor))
    return fault(*other);
  if (auto refusal = OverwrittenInputs(basis, *definition, tensor).find()) return refusal;
  InlineMatcher matcher(tensor, before.statements[*definition]);
  for (std::size_t i = 0; i < after.statements.size(); ++i) {
    const ir::Statement& then = before.statements[i < *definition ? i : i + 1];
    if (!matches(matcher, after.statements[i], then))
      return Refusal(RefusalKind::Illegal,
                     "the inlined value of '" + then.name + "' is not what the Program computes");
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
