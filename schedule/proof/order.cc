// Which dependences run backwards in a State, and the words that a refusal has for it.
#include <isl/map.h>
#include <isl/space.h>

#include <algorithm>
#include <functional>

#include "schedule/proof/isl_faults.h"
#include "schedule/proof/prover_impl.h"
#include "schedule/state/contract.h"

namespace polyte::schedule {

// phi is the identity: each instance of the reference runs once, and not as a copy or in padding.
// Only of such statements does the order of dependences decide; all others are asked for sources.
bool keeps_instances(const ScheduledStatement& s) {
  if (s.kind == StatementKind::Copy || s.lifted > 0 || s.padded ||
      s.phi.size() != s.body.iterators.size())
    return false;
  for (std::size_t i = 0; i < s.phi.size(); ++i) {
    if (s.phi[i].as_symbol() != s.body.iterators[i]) return false;
  }
  return true;
}

isl::map between(const isl::map& pairs, const IslModel& model, int source, int sink) {
  isl_map* map = pairs.copy();
  isl_ctx* ctx = isl_map_get_ctx(map);
  map = isl_map_set_tuple_id(map, isl_dim_in,
                             isl_id_alloc(ctx, ("S" + std::to_string(source)).c_str(), nullptr));
  map = isl_map_set_tuple_id(map, isl_dim_out,
                             isl_id_alloc(ctx, ("S" + std::to_string(sink)).c_str(), nullptr));
  const auto is_part = [&](int statement) {
    const ScheduledStatement& s = *model.statements[static_cast<std::size_t>(statement)].statement;
    return s.body.name != s.reference;
  };
  const auto domain = [&](int statement) {
    return model.statements[static_cast<std::size_t>(statement)].domain.copy();
  };
  if (is_part(source)) map = isl_map_intersect_domain(map, domain(source));
  if (is_part(sink)) map = isl_map_intersect_range(map, domain(sink));
  return isl::manage(map);
}

namespace {

// For each statement of the basis, those of the model that run its instances: itself, or the parts
// that a cut has made of it; none where the order walk does not decide.
std::vector<std::vector<int>> parts_in(const Basis& basis, const IslModel& model) {
  std::vector<std::vector<int>> parts(basis.model.statements.size());
  for (std::size_t i = 0; i < model.statements.size(); ++i) {
    const ScheduledStatement& s = *model.statements[i].statement;
    if (!keeps_instances(s)) continue;
    int at = statement_index(basis.model, s.reference);
    if (at >= 0) parts[static_cast<std::size_t>(at)].push_back(static_cast<int>(i));
  }
  return parts;
}

// The pairs of a dependence, carried over to two statements that run its instances. Where both run
// them again in every iteration of a site, only pairs of one iteration count.
isl::map between_any(const isl::map& pairs, const Basis& basis, const IslModel& model, int source,
                     int sink) {
  const ScheduledStatement& s = *model.statements[static_cast<std::size_t>(source)].statement;
  const ScheduledStatement& t = *model.statements[static_cast<std::size_t>(sink)].statement;
  if (keeps_instances(s) && keeps_instances(t)) return between(pairs, model, source, sink);
  const isl::map phi = *phi_of(model, source, basis.model), to = *phi_of(model, sink, basis.model);
  isl_map* mapped = phi.apply_range(pairs).apply_range(to.reverse()).release();
  for (int d = 0; d < std::min(s.lifted, t.lifted); ++d)
    mapped = isl_map_equate(mapped, isl_dim_in, d, isl_dim_out, d);
  return isl::manage(mapped);
}

// Whether the dependence runs backwards between any statement that runs instances of its source and
// any that runs instances of its sink.
bool is_backwards(const Dependence& d, const Basis& basis, const IslModel& model) {
  const auto runs = [&](std::size_t i, int of) {
    const ScheduledStatement& s = *model.statements[i].statement;
    return s.kind != StatementKind::Copy && statement_index(basis.model, s.reference) == of;
  };
  for (std::size_t source = 0; source < model.statements.size(); ++source)
    for (std::size_t sink = 0; runs(source, d.source) && sink < model.statements.size(); ++sink) {
      const int from = static_cast<int>(source), to = static_cast<int>(sink);
      if (runs(sink, d.sink) &&
          find_backwards(model, from, to, between_any(d.pairs, basis, model, from, to)))
        return true;
    }
  return false;
}

bool has_staged(const IslModel& model, const std::string& buffer) {
  return std::ranges::any_of(model.buffers,
                             [&](const IslBuffer& b) { return b.name != b.of && b.of == buffer; });
}

// Reuse of storage is not a constraint where each scope has its own cells: sources decide there.
bool concerns_order(const Dependence& d, const IslModel& model) {
  if (d.kind == DependenceKind::Flow) return true;
  return !has_staged(model, model.buffers[static_cast<std::size_t>(d.buffer)].name);
}

OrderViolation locate(const Dependence& d, const BackwardPairs& wrong, const IslModel& model) {
  const isl::set pairs = isl::manage(isl_map_wrap(wrong.pairs.copy()));
  return {&d, wrong.depth, "", first_point(pairs, model.params)};
}

// A time vector has one dimension per node on the path from the root (isl_model.cc), so that a
// depth names a node: a loop, or a sequence (empty).
std::string loop_at(const IslModel& model, const std::string& statement, int depth) {
  int position = 0;
  std::string found;
  std::function<bool(const Tree&)> visit = [&](const Tree& tree) -> bool {
    if (const auto* leaf = std::get_if<Leaf>(&tree->op)) return leaf->statement == statement;
    ++position;
    const int here = position - 1;
    if (const auto* loop = std::get_if<Loop>(&tree->op)) {
      if (visit(loop->body)) {
        if (here == depth) found = loop->name;
        return true;
      }
    } else {
      for (const Tree& child : std::get<Sequence>(tree->op).children) {
        if (visit(child)) return true;
      }
    }
    --position;
    return false;
  };
  visit(model.state->tree);
  return found;
}

bool involves(const IslModel& model, int source, int sink, const std::vector<std::string>& moved) {
  auto named = [&](int i) {
    const std::string& name = model.statements[static_cast<std::size_t>(i)].statement->body.name;
    return std::ranges::find(moved, name) != moved.end();
  };
  return moved.empty() || named(source) || named(sink);
}

// Outermost first, then the smallest sizes, compared one after the other by name.
bool smaller(const OrderViolation& a, const OrderViolation& b) {
  if (a.depth != b.depth) return a.depth < b.depth;
  return a.point.params < b.point.params;
}

}  // namespace

bool runs_forwards(const Basis& basis, const IslModel& model, const std::string& tensor) {
  const std::vector<std::vector<int>> parts = parts_in(basis, model);
  const int buffer = buffer_index(basis.model, tensor);
  return std::ranges::all_of(basis.dependences, [&](const Dependence& d) {
    if (d.buffer != buffer) return true;
    const isl::map pairs = ordered_pairs(d, basis.model, *model.state);
    return std::ranges::all_of(parts[static_cast<std::size_t>(d.source)], [&](int source) {
      return std::ranges::none_of(parts[static_cast<std::size_t>(d.sink)], [&](int sink) {
        return basis.known.find_backwards(model, source, sink, pairs).has_value();
      });
    });
  });
}

// The order walk: each dependence of the basis, carried over to the statements that run its ends,
// must run forwards. Of all that fail the outermost is reported, with the smallest sizes: it is the
// one that a person can see in the nest.
std::optional<OrderViolation> find_order_violation(const Basis& basis, const IslModel& model,
                                                   const std::vector<std::string>& moved) {
  const std::vector<std::vector<int>> parts = parts_in(basis, model);
  std::optional<OrderViolation> worst;
  for (const Dependence& d : basis.dependences) {
    if (!concerns_order(d, model)) continue;
    const isl::map pairs = ordered_pairs(d, basis.model, *model.state);
    for (const int source : parts[static_cast<std::size_t>(d.source)]) {
      for (const int sink : parts[static_cast<std::size_t>(d.sink)]) {
        if (!involves(model, source, sink, moved)) continue;
        const auto wrong = basis.known.find_backwards(model, source, sink, pairs);
        if (!wrong) continue;
        OrderViolation found = locate(d, *wrong, model);
        found.loop =
            loop_at(model, model.statements[static_cast<std::size_t>(sink)].statement->body.name,
                    found.depth);
        if (!worst || smaller(found, *worst)) worst = found;
      }
    }
  }
  return worst;
}

namespace {

// Updates of one sum, by one statement or by two with the same combiner. Not so for argmax: a value
// with its position, of two statements, are two results.
bool is_one_sum(const Basis& basis, const Dependence& d) {
  const ir::Statement& first =
      basis.model.statements[static_cast<std::size_t>(d.source)].statement->body;
  const ir::Statement& second =
      basis.model.statements[static_cast<std::size_t>(d.sink)].statement->body;
  return is_reduction(d) ||
         (d.updates && first.combiner == second.combiner && first.writes.size() == 1);
}

}  // namespace

std::string headline_of(const Basis& basis, const Dependence& d) {
  if (is_one_sum(basis, d))
    return "the updates of one element would change their order, and the contract is exact";
  switch (d.kind) {
    case DependenceKind::Flow:
      return "a value would be read before it is written";
    case DependenceKind::Anti:
      return "a value would be overwritten before it is read";
    case DependenceKind::Output:
      return "two writes of one element would change places";
  }
  return "";
}

Counterexample counterexample_of(const Basis& basis, const Dependence& d, const Point& point) {
  const ir::Statement& source =
      basis.model.statements[static_cast<std::size_t>(d.source)].statement->body;
  const ir::Statement& sink =
      basis.model.statements[static_cast<std::size_t>(d.sink)].statement->body;
  const auto split = static_cast<std::ptrdiff_t>(source.iterators.size());
  Counterexample c;
  c.source = make_instance(source, {point.values.begin(), point.values.begin() + split});
  c.sink = make_instance(sink, {point.values.begin() + split, point.values.end()});
  c.sizes = point.params;
  c.size_names = basis.model.params;
  c.watch = cell_text(d.source_access, source, point, 0);
  c.dependence = to_string(d.kind) + " of " +
                 access_pattern(d.kind == DependenceKind::Anti ? d.sink_access : d.source_access) +
                 ", from " + source.name + " to " + sink.name;
  c.reference = to_string(c.source) + (d.kind == DependenceKind::Anti ? " reads " : " writes ") +
                c.watch + ", then " + to_string(c.sink) +
                (d.kind == DependenceKind::Flow ? " reads it" : " writes it");
  return c;
}

namespace {

Counterexample explain(const Basis& basis, const OrderViolation& v) {
  Counterexample c = counterexample_of(basis, *v.dependence, v.point);
  c.scheduled = to_string(c.sink) + " comes first";
  return c;
}

}  // namespace

std::optional<Refusal> check_order(Prover::Impl& impl, const IslModel& model,
                                   const std::vector<std::string>& moved) {
  const State& state = *model.state;
  const Basis& basis = impl.basis_of(state);
  std::optional<OrderViolation> violation = find_order_violation(basis, model, moved);
  if (!violation) return std::nullopt;
  Refusal refusal;
  refusal.kind = RefusalKind::Illegal;
  refusal.headline = headline_of(basis, *violation->dependence);
  refusal.counterexamples.push_back(explain(basis, *violation));
  refusal.advice = order_advice(basis, state, *violation, impl.context);
  return refusal;
}

std::vector<std::string> reordered_updates(Prover::Impl& impl, const IslModel& model) {
  const Basis& basis = impl.basis_of(*model.state);
  const auto body = [&](int i) -> const ir::Statement& {
    return basis.model.statements[static_cast<std::size_t>(i)].statement->body;
  };
  std::vector<std::string> names;
  const auto is_known = [&](int i) {
    return std::ranges::find(names, body(i).name) != names.end();
  };
  bool spent = false;  // what is not decided counts as reordered
  for (const Dependence& d : basis.dependences) {
    if (!d.updates || (is_known(d.source) && is_known(d.sink))) continue;
    const std::optional<UpdateClass> one = class_of(*model.state, body(d.source));
    if (!is_reduction(d) && (!one || one != class_of(*model.state, body(d.sink)))) continue;
    bool is_reordered = false;
    try {
      is_reordered = spent || is_backwards(d, basis, model);
    } catch (const isl::exception& e) {
      if (!is_quota(impl.context, e)) throw;
      is_reordered = spent = true;
    }
    if (!is_reordered) continue;
    for (const int i : {d.source, d.sink})
      if (!is_known(i)) names.push_back(body(i).name);
  }
  return names;
}

}  // namespace polyte::schedule
