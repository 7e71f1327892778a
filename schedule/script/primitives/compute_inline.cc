// compute_inline T:   T[i, j] = f(i, j);  y = g(T[a, b])   ->   y = g(f(a, b))
// T is a temporary with one plain definition. The Program that the State schedules from here on,
// its basis, is the reference with the definition substituted; the reference itself stays what
// is proved against.
#include <algorithm>

#include "ir/relations.h"
#include "schedule/script/primitives/lift.h"
#include "schedule/script/primitives/rewriting.h"

namespace polyte::schedule {

namespace {

struct Definition {
  std::vector<std::string> iterators;  // one per dimension of T
  std::vector<std::int64_t> offsets;   // T[i + offset]
  ir::Expr value;
};

// T[i + 1, j] = f(i, j): each dimension has an iterator of its own, up to an offset, so that a
// read T[a, b] determines the instance (a - 1, b).
Result<Definition, Refusal> definition_of(const State& state, const std::string& tensor) {
  const ir::Buffer* buffer = state.basis->find_buffer(tensor);
  if (!buffer) return malformed("no tensor is called " + tensor + inlined_text(state, tensor));
  if (buffer->role != ir::Role::Temp)
    return malformed(tensor + " is an " + ir::to_string(buffer->role) +
                     " tensor: only temporaries are inlined");
  std::vector<const ScheduledStatement*> writers;
  for (const ScheduledStatement& s : state.statements)
    if (writes(s, tensor)) writers.push_back(&s);
  if (writers.empty())
    return malformed(tensor + " is staged already: compute_inline comes before its stage");
  const ScheduledStatement& s = *writers.front();
  if (writers.size() > 1 || s.kind != StatementKind::Plain || s.body.guard ||
      s.body.writes.size() != 1)
    return malformed(tensor + " is not one plain definition: it cannot be inlined");
  if (s.lifted > 0) return malformed(tensor + " is recomputed at a loop already");
  if (s.body.region_depth > 0)
    return conservative(s.body.name + " is in an ordered region: it is not inlined");
  Definition definition;
  for (const ir::Index& index : s.body.writes.front().indices) {
    const auto symbol = (index.affine - index.affine.constant()).as_symbol();
    const auto& known = definition.iterators;
    if (index.indirect || !symbol || std::ranges::find(known, *symbol) != known.end())
      return conservative(s.body.name + " does not write " + tensor +
                          " at one iterator a dimension");
    definition.iterators.push_back(*symbol);
    definition.offsets.push_back(index.affine.constant());
  }
  if (definition.iterators.size() != s.body.iterators.size())
    return conservative(s.body.name + " writes an element more than once");
  definition.value = s.body.values.front();
  for (const ir::Load* load : ir::loads_of(definition.value))
    if (!state.basis->find_buffer(load->buffer))
      return malformed(s.body.name + " reads the staged " + load->buffer +
                       ": compute_inline comes before that stage");
  return definition;
}

// A guard as an expression: the conjunction of its comparisons.
ir::Expr condition_of(const std::vector<ir::Constraint>& guard) {
  ir::Expr all;
  for (const ir::Constraint& c : guard) {
    const ir::BinaryOp op = c.equality ? ir::BinaryOp::Eq : ir::BinaryOp::Le;
    const ir::Expr one = ir::make_binary(op, ir::make_index(0), ir::make_index(c.expr));
    all = all ? ir::make_binary(ir::BinaryOp::And, all, one) : one;
  }
  return all;
}

// The value under a guard: all of its loads get the guard as well, since they would leave their
// buffers where it fails. What they give there is not used.
ir::Expr guarded(const ir::Expr& e, const std::vector<ir::Constraint>& guard) {
  return ir::rewrite(e, [&](const ir::Expr& leaf) {
    const ir::Load* load = std::get_if<ir::Load>(&leaf->op);
    if (!load) return leaf;
    std::vector<ir::Constraint> all = load->guard;
    all.insert(all.end(), guard.begin(), guard.end());
    const ir::Expr otherwise = load->otherwise ? load->otherwise : ir::make_literal(leaf->type, 0);
    return ir::make_guarded_load(leaf->type, load->buffer, load->indices, all, otherwise);
  });
}

class Inliner {
 public:
  Inliner(const std::string& tensor, const Definition& definition)
      : tensor_(tensor), definition_(definition) {}

  void into(ir::Statement& s) {
    const auto leaf = [&](const ir::Expr& e) { return replaced(e, s.name); };
    for (ir::Expr& value : s.values) {
      // A term that was a fused product stays one; what was rounded before it was added up still
      // is.
      const ir::Expr inlined = ir::rewrite(value, leaf);
      value =
          ir::is_fused_product(s.combiner, value) ? inlined : ir::rounded_term(s.combiner, inlined);
    }
    if (s.guard) s.guard = ir::rewrite(s.guard, leaf);
    for (ir::Access& write : s.writes)
      for (ir::Index& index : write.indices)
        if (index.indirect) index.indirect = ir::rewrite(index.indirect, leaf);
  }
  std::optional<Refusal> refusal;

 private:
  const std::string& tensor_;
  const Definition& definition_;

  ir::Expr replaced(const ir::Expr& e, const std::string& reader) {
    const ir::Load* load = std::get_if<ir::Load>(&e->op);
    if (!load || load->buffer != tensor_) return e;
    // T[i + 1] = f(i) read as T[a]: i = a - 1.
    ir::Bindings point;
    for (std::size_t d = 0; d < load->indices.size(); ++d) {
      if (load->indices[d].indirect) {
        refusal =
            conservative(reader + " reads " + tensor_ + " at an index known at run time only");
        return e;
      }
      point[definition_.iterators[d]] = load->indices[d].affine - definition_.offsets[d];
    }
    ir::Expr value = ir::substitute(definition_.value, point);
    if (!load->otherwise) return value;
    return ir::make_select(condition_of(load->guard), guarded(value, load->guard), load->otherwise);
  }
};

// An atomic update must not read what it updates besides its element; the inlined definition may.
std::optional<Refusal> check_single_step(const ScheduledStatement& s) {
  const std::string& updated = s.body.writes.front().buffer;
  if (!s.atomic || !states_a_read(s, updated)) return std::nullopt;
  return conservative(
      "inlined, " + s.body.name + " reads " + updated +
      " besides the element that it updates, and it is atomic: such a read is no part of its step");
}

// Without T and its definition; the statements scheduled so far get the same rewrite
// (compute_inline below).
std::shared_ptr<const ir::Program> inlined_program(const ir::Program& program,
                                                   const std::string& tensor, Inliner& inliner) {
  auto result = std::make_shared<ir::Program>(ir::with_statements(
      program, [&](const ir::Statement& s) { return s.writes.front().buffer != tensor; }));
  for (ir::Statement& s : result->statements) inliner.into(s);
  std::erase_if(result->buffers, [&](const ir::Buffer& buffer) { return buffer.name == tensor; });
  return result;
}

}  // namespace

Applied compute_inline(const State& state, const ComputeInline& directive,
                       const PrimitiveContext& context) {
  const std::string& tensor = directive.tensor;
  const auto definition = definition_of(state, tensor);
  if (!definition) return definition.error();
  for (const StagedBuffer& buffer : state.staged)
    if (buffer.of == tensor)
      return malformed(tensor + " is staged already: compute_inline comes before its stage");
  State next = state;
  Inliner inliner(tensor, *definition);
  // The basis and the scheduled statements get the same substitution, as each of these stays a
  // statement of the basis in other loops.
  next.basis = inlined_program(*state.basis, tensor, inliner);
  next.rewrites.push_back({.kind = Rewrite::Kind::Inline, .tensor = tensor, .after = next.basis});
  std::vector<std::string> changed;
  for (ScheduledStatement& s : next.statements) {
    if (writes(s, tensor) || !reads(s, tensor)) continue;
    inliner.into(s.body);
    changed.push_back(s.body.name);
    if (auto refusal = check_single_step(s)) return *refusal;
  }
  if (inliner.refusal) return *inliner.refusal;
  if (changed.empty()) return malformed("nothing reads " + tensor);
  std::string writer;
  for (const ScheduledStatement& s : state.statements)
    if (writes(s, tensor)) writer = s.body.name;
  next.tree = without_statement(next.tree, writer);
  std::erase_if(next.statements,
                [&](const ScheduledStatement& s) { return s.body.name == writer; });
  if (auto refusal = settle(next)) return *refusal;
  if (!context.prover) return next;
  if (auto refusal = context.prover->check_bounds(next, changed)) return *refusal;
  if (auto refusal = context.prover->check_order(next, changed)) return *refusal;
  return next;
}

// compute_inline all: every temporary with one plain definition, first to last; the others stay.
Applied inline_all(const State& state, const InlineAll&, const PrimitiveContext& context) {
  State next = state;
  std::string reasons;
  for (const ir::Buffer& buffer : state.basis->buffers) {
    if (buffer.role != ir::Role::Temp) continue;
    Applied applied = compute_inline(next, {buffer.name}, context);
    if (applied)
      next = std::move(*applied);
    else if (applied.error().kind == RefusalKind::Illegal ||
             applied.error().kind == RefusalKind::Unknown)
      return applied.error();
    else
      reasons += (reasons.empty() ? "" : "; ") + applied.error().headline;
  }
  if (next.basis == state.basis)
    return malformed("nothing can be inlined: " +
                     (reasons.empty() ? "there are no temporaries" : reasons));
  return next;
}

}  // namespace polyte::schedule
