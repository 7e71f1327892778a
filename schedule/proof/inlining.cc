// Inlining, proved on its own: the Program after compute_inline against the one before. Every value
// expression is walked beside the original; where the original loads an element and the basis has an
// expression instead, that expression must be the definition of exactly this element, at this instance, and
// what the definition reads must not change between the definition and its use.
#include <algorithm>

#include "schedule/proof/prover_impl.h"

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

  // True where `now` is `then` with loads replaced by their definitions; `bind` maps then's iterators to now's.
  bool match(const ir::Expr& now, const ir::Expr& then) {
    if (ir::equal(now, then)) return true;
    if (const auto* load = std::get_if<ir::Load>(&then->op)) return match_definition(now, *load);
    if (now->op.index() != then->op.index() || now->type != then->type) return false;
    return match_children(now, then);
  }

 private:
  const ir::Program& reference_;
  const ir::Program& basis_;

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
    if (!load.guard.empty() || basis_.find_buffer(load.buffer) != nullptr) {
      bool still_written = std::any_of(basis_.statements.begin(), basis_.statements.end(),
                                       [&](const ir::Statement& s) { return s.writes[0].buffer == load.buffer; });
      if (!load.guard.empty() || still_written) return false;
    }
    const ir::Statement* definition = definition_of(load.buffer);
    if (!definition || definition->writes.size() != 1 || !stable(definition->values[0])) return false;
    ir::Bindings bindings;
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
      std::optional<std::string> iterator = definition->writes[0].indices[i].affine.as_symbol();
      if (!iterator || load.indices[i].indirect || bindings.contains(*iterator)) return false;
      bindings[*iterator] = load.indices[i].affine;
    }
    if (bindings.size() != definition->iterators.size()) return false;
    return match(now, ir::substitute(definition->values[0], bindings));
  }

  bool match_children(const ir::Expr& now, const ir::Expr& then) {
    if (const auto* a = std::get_if<ir::Unary>(&now->op)) {
      const auto& b = std::get<ir::Unary>(then->op);
      return a->op == b.op && match(a->a, b.a);
    }
    if (const auto* a = std::get_if<ir::Binary>(&now->op)) {
      const auto& b = std::get<ir::Binary>(then->op);
      return a->op == b.op && match(a->a, b.a) && match(a->b, b.b);
    }
    if (const auto* a = std::get_if<ir::Fma>(&now->op)) {
      const auto& b = std::get<ir::Fma>(then->op);
      return match(a->a, b.a) && match(a->b, b.b) && match(a->c, b.c);
    }
    if (const auto* a = std::get_if<ir::Select>(&now->op)) {
      const auto& b = std::get<ir::Select>(then->op);
      return match(a->condition, b.condition) && match(a->a, b.a) && match(a->b, b.b);
    }
    if (const auto* a = std::get_if<ir::Cast>(&now->op)) return match(a->a, std::get<ir::Cast>(then->op).a);
    return false;
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
