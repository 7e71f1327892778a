// Inlining, proved on its own: the Program after compute_inline against the one before. Every value
// expression is walked beside the original; where the original loads an element and the basis has an
// expression instead, that expression must be the definition of exactly this element, at this instance, and
// what the definition reads must not change between the definition and its use.
#include <algorithm>

#include "schedule/proof/rewrites.h"

namespace polyte::schedule {
namespace {

Refusal illegal(const std::string& headline) {
  Refusal refusal;
  refusal.kind = RefusalKind::Illegal;
  refusal.headline = headline;
  return refusal;
}

class InlineMatcher {
 public:
  InlineMatcher(const ir::Program& reference, const ir::Program& basis) : reference_(reference), basis_(basis) {}

  // True where `now` is `then` with loads replaced by their definitions.
  bool match(const ir::Expr& now, const ir::Expr& then) {
    if (ir::equal(now, then)) return true;
    if (const auto* load = std::get_if<ir::Load>(&then->op))
      return match_same_load(now, *load) || match_padded(now, *load) || match_definition(now, *load);
    return same_operation(now, then, [&](const ir::Expr& a, const ir::Expr& b) { return match(a, b); });
  }

 private:
  const ir::Program& reference_;
  const ir::Program& basis_;
  std::vector<ir::Constraint> assumed_;  // hold where `now` is used: the guards of the padded reads around it

  bool assumed(const ir::Constraint& c) const {
    return std::find(assumed_.begin(), assumed_.end(), c) != assumed_.end();
  }

  // The same element, guarded further by what holds anyway: what it is otherwise does not matter then.
  bool match_same_load(const ir::Expr& now, const ir::Load& then) {
    const auto* load = std::get_if<ir::Load>(&now->op);
    if (!load || assumed_.empty()) return false;
    std::vector<ir::Constraint> guard;
    for (const ir::Constraint& c : load->guard)
      if (!assumed(c)) guard.push_back(c);
    std::vector<ir::Constraint> wanted;
    for (const ir::Constraint& c : then.guard)
      if (!assumed(c)) wanted.push_back(c);
    if (guard != wanted || (!wanted.empty() && !ir::equal(load->otherwise, then.otherwise))) return false;
    const ir::Expr plain = ir::make_load(now->type, load->buffer, load->indices);
    return ir::equal(plain, ir::make_load(now->type, then.buffer, then.indices));
  }

  // A padded read of what is inlined: select(guard, its definition, what it is otherwise).
  bool match_padded(const ir::Expr& now, const ir::Load& load) {
    const auto* choice = std::get_if<ir::Select>(&now->op);
    if (!choice || load.guard.empty() || !is_conjunction(choice->condition, load.guard)) return false;
    if (!ir::equal(choice->b, load.otherwise)) return false;
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

  // The only statement that writes the tensor, if it defines every element once by plain subscripts.
  const ir::Statement* definition_of(const std::string& tensor) const {
    const ir::Statement* definition = nullptr;
    for (const ir::Statement& s : reference_.statements) {
      for (const ir::Access& write : s.writes) {
        if (write.buffer != tensor) continue;
        if (definition || s.combiner != ir::Combiner::None || s.guard) return nullptr;
        definition = &s;
      }
    }
    return definition;
  }

  // A temporary input of the definition must itself be written once, before the definition: then its value at
  // the use is its value at the definition.
  bool stable(const ir::Expr& value) const {
    for (const ir::Load* load : ir::loads_of(value)) {
      const ir::Buffer& buffer = reference_.buffer(load->buffer);
      bool constant = buffer.role == ir::Role::In || buffer.role == ir::Role::Const;
      if (!constant && !written_before_use(load->buffer)) return false;
    }
    return true;
  }
  // No statement writes the buffer after its first reader.
  bool written_before_use(const std::string& tensor) const {
    bool read = false;
    for (const ir::Statement& s : reference_.statements) {
      if (s.region_depth > 0) return false;
      for (const ir::Expr& value : s.values) {
        for (const ir::Load* load : ir::loads_of(value)) read = read || load->buffer == tensor;
      }
      for (const ir::Access& write : s.writes) {
        if (write.buffer == tensor && read) return false;
      }
    }
    return true;
  }

  bool match_definition(const ir::Expr& now, const ir::Load& load) {
    if (!load.guard.empty()) return false;
    for (const ir::Statement& s : basis_.statements)
      for (const ir::Access& write : s.writes)
        if (write.buffer == load.buffer) return false;  // still there: it is read, not inlined
    const ir::Statement* definition = definition_of(load.buffer);
    if (!definition || definition->writes.size() != 1 || !stable(definition->values[0])) return false;
    ir::Bindings bindings;
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
      const ir::Index& written = definition->writes[0].indices[i];
      const std::int64_t offset = written.affine.constant();  // T[i + 2] = ..
      std::optional<std::string> iterator = (written.affine - offset).as_symbol();
      if (!iterator || written.indirect || load.indices[i].indirect || bindings.contains(*iterator)) return false;
      bindings[*iterator] = load.indices[i].affine - offset;
    }
    if (bindings.size() != definition->iterators.size()) return false;
    return match(now, ir::substitute(definition->values[0], bindings));
  }
};

// Everything of a statement but its values.
bool same_but_values(const ir::Statement& now, const ir::Statement& then) {
  ir::Statement other = then;
  other.values = now.values;
  other.guard = now.guard;
  return ir::equal(now, other);
}

}  // namespace

std::optional<Refusal> check_inlining(const ir::Program& before, const ir::Program& after) {
  InlineMatcher matcher(before, after);
  for (const ir::Statement& now : after.statements) {
    const ir::Statement* then = before.find_statement(now.name);
    if (!then || then->values.size() != now.values.size() || !same_but_values(now, *then) ||
        !then->guard != !now.guard) {
      return illegal("statement '" + now.name + "' is not one of the Program's");
    }
    bool same = !now.guard || matcher.match(now.guard, then->guard);
    for (std::size_t i = 0; i < now.values.size(); ++i) same = same && matcher.match(now.values[i], then->values[i]);
    if (!same) return illegal("the inlined value of '" + now.name + "' is not what the Program computes");
  }
  for (const ir::Statement& then : before.statements) {
    bool gone = after.find_statement(then.name) == nullptr;
    bool interface = before.buffer(then.writes[0].buffer).role != ir::Role::Temp;
    if (gone && interface) return illegal("statement '" + then.name + "' writes an output and was inlined away");
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
