// Inlining, proved on its own: the Program after compute_inline against the one before (docs/proof.md, section 4). The
// same statements in the same order, but for the definition; every expression is walked beside the original, and where
// the original loads an element of the tensor, there stands the definition of exactly this element. What the definition
// reads must be at the reader what it was at the definition: nothing in between writes it.
#include <algorithm>
#include <set>

#include "schedule/proof/rewrites.h"

namespace polyte::schedule {
namespace {

Refusal illegal(const std::string& headline) {
  Refusal refusal;
  refusal.kind = RefusalKind::Illegal;
  refusal.headline = headline;
  return refusal;
}

// The one statement that gives the tensor its values, if every element has one plain definition by plain subscripts.
std::optional<std::size_t> definition_of(const ir::Program& program, const std::string& tensor) {
  std::optional<std::size_t> definition;
  for (std::size_t i = 0; i < program.statements.size(); ++i) {
    const ir::Statement& s = program.statements[i];
    if (std::ranges::none_of(s.writes, [&](const ir::Access& write) { return write.buffer == tensor; })) continue;
    if (definition || s.combiner != ir::Combiner::None || s.guard || s.region_depth > 0 || s.writes.size() != 1)
      return std::nullopt;
    const std::vector<const ir::Load*> loads = ir::loads_of(s.values[0]);
    if (std::ranges::any_of(loads, [&](const ir::Load* load) { return load->buffer == tensor; })) return std::nullopt;
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
    if (load && load->buffer == tensor_) return match_padded(now, *load) || match_definition(now, *load);
    if (load) return match_same_load(now, *load);
    if (same_operation(now, then, [&](const ir::Expr& a, const ir::Expr& b) { return match(a, b); })) return true;
    return ir::equal(now, then) && !reads(then);
  }

  bool match(const ir::Access& now, const ir::Access& then) {
    return now.buffer == then.buffer && match(now.indices, then.indices);
  }

 private:
  std::string tensor_;
  const ir::Statement& definition_;
  std::vector<ir::Constraint> assumed_;  // hold where `now` is used: the guards of the padded reads around it

  bool assumed(const ir::Constraint& c) const {
    return std::find(assumed_.begin(), assumed_.end(), c) != assumed_.end();
  }

  bool reads(const ir::Expr& e) const {
    return std::ranges::any_of(ir::loads_of(e), [&](const ir::Load* load) { return load->buffer == tensor_; });
  }

  bool match(const std::vector<ir::Index>& now, const std::vector<ir::Index>& then) {
    return std::ranges::equal(now, then, [&](const ir::Index& a, const ir::Index& b) {
      return a.affine == b.affine && match(a.indirect, b.indirect);
    });
  }

  // The same element, guarded further by what holds anyway: what it is otherwise does not matter then.
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

  // A padded read of what is inlined: select(guard, its definition, what it is otherwise).
  bool match_padded(const ir::Expr& now, const ir::Load& load) {
    const auto* choice = std::get_if<ir::Select>(&now->op);
    if (!choice || load.guard.empty() || !is_conjunction(choice->condition, load.guard)) return false;
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
           ir::equal(comparison.a, ir::make_index(0)) && ir::equal(comparison.b, ir::make_index(c.expr));
  }

  bool match_definition(const ir::Expr& now, const ir::Load& load) {
    if (!load.guard.empty()) return false;
    ir::Bindings bindings;
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
      const ir::Index& written = definition_.writes[0].indices[i];
      const std::int64_t offset = written.affine.constant();  // T[i + 2] = ..
      std::optional<std::string> iterator = (written.affine - offset).as_symbol();
      if (!iterator || written.indirect || load.indices[i].indirect || bindings.contains(*iterator)) return false;
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

bool matches(InlineMatcher& matcher, const ir::Statement& now, const ir::Statement& then) {
  return same_but_expressions(now, then) && matcher.match(now.guard, then.guard) &&
         std::ranges::equal(now.values, then.values,
                            [&](const ir::Expr& a, const ir::Expr& b) { return matcher.match(a, b); }) &&
         std::ranges::equal(now.writes, then.writes,
                            [&](const ir::Access& a, const ir::Access& b) { return matcher.match(a, b); });
}

std::vector<std::size_t> statements_of(const ir::Item& item) {
  if (const auto* index = std::get_if<std::size_t>(&item)) return {*index};
  std::vector<std::size_t> all;
  for (const ir::Item& inner : std::get<ir::Region>(item).body)
    for (const std::size_t index : statements_of(inner)) all.push_back(index);
  return all;
}

// The statement that may change, before a reader is done, what the definition reads; none: it reads the same there. A
// reader may run after all of the statements that stand with it in a region, and after other instances of its own.
std::optional<std::string> overwritten_by(const ir::Program& before, std::size_t definition) {
  std::set<std::string> inputs;
  for (const ir::Load* load : ir::loads_of(before.statements[definition].values[0])) inputs.insert(load->buffer);
  const std::string& tensor = before.statements[definition].writes[0].buffer;
  std::optional<std::string> writer;  // after the definition
  bool defined = false;
  for (const ir::Item& item : before.order) {
    const std::vector<std::size_t> members = statements_of(item);
    if (defined) {
      for (const std::size_t i : members)
        for (const ir::Access& write : before.statements[i].writes)
          if (!writer && inputs.contains(write.buffer)) writer = before.statements[i].name;
    }
    const bool reads = std::ranges::any_of(
        members, [&](std::size_t i) { return i != definition && touches(before.statements[i], tensor); });
    if (reads && !defined) return before.statements[members.front()].name;
    if (reads && writer) return writer;
    defined = defined || std::ranges::find(members, definition) != members.end();
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> check_inlining(const ir::Program& before, const Rewrite& rewrite) {
  const std::string& tensor = rewrite.tensor;
  const ir::Program& after = *rewrite.after;
  const auto fault = [&](const std::string& why) {
    return illegal("the Program without " + tensor + " is not the Program: " + why);
  };
  const ir::Buffer* buffer = before.find_buffer(tensor);
  const std::optional<std::size_t> definition = definition_of(before, tensor);
  if (!buffer || buffer->role != ir::Role::Temp || !definition) return fault(tensor + " has no single definition");
  if (const auto other = dropped_statement(before, after, *definition, tensor)) return fault(*other);
  if (const auto writer = overwritten_by(before, *definition))
    return illegal(tensor + " would be computed from other values: " + *writer +
                   " overwrites what its definition reads, before " + tensor + " is last used");
  InlineMatcher matcher(tensor, before.statements[*definition]);
  for (std::size_t i = 0; i < after.statements.size(); ++i) {
    const ir::Statement& then = before.statements[i < *definition ? i : i + 1];
    if (!matches(matcher, after.statements[i], then))
      return illegal("the inlined value of '" + then.name + "' is not what the Program computes");
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
