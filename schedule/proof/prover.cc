#include "schedule/proof/prover.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>

#include <algorithm>

#include "schedule/proof/cell_iteration.h"
#include "schedule/proof/isl_faults.h"
#include "schedule/proof/prover_impl.h"
#include "schedule/state/contract.h"

namespace polyte::schedule {
namespace {

Refusal undecided(const std::string& reason) {
  Refusal refusal;
  refusal.kind = RefusalKind::Unknown;
  refusal.headline = reason;
  return refusal;
}

std::string headline_of(const Dependence& d) {
  if (d.reduction) return "the updates of one element would change their order, and the contract is exact";
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

std::string kind_text(DependenceKind kind) {
  switch (kind) {
    case DependenceKind::Flow:
      return "flow";
    case DependenceKind::Anti:
      return "anti";
    case DependenceKind::Output:
      return "output";
  }
  return "";
}

Counterexample explain(const Basis& basis, const OrderViolation& v) {
  const Dependence& d = *v.dependence;
  const ir::Statement& source = basis.model.statements[static_cast<std::size_t>(d.source)].statement->body;
  const ir::Statement& sink = basis.model.statements[static_cast<std::size_t>(d.sink)].statement->body;
  const auto split = static_cast<std::ptrdiff_t>(source.iterators.size());
  Counterexample c;
  c.source = make_instance(source, {v.point.values.begin(), v.point.values.begin() + split});
  c.sink = make_instance(sink, {v.point.values.begin() + split, v.point.values.end()});
  c.sizes = v.point.params;
  c.size_names = basis.model.params;
  c.watch = cell_text(d.source_access, source, v.point, 0);
  c.dependence = kind_text(d.kind) + " of " +
                 access_pattern(d.kind == DependenceKind::Anti ? d.sink_access : d.source_access) + ", from " +
                 source.name + " to " + sink.name;
  c.reference = to_string(c.source) + (d.kind == DependenceKind::Anti ? " reads " : " writes ") + c.watch + ", then " +
                to_string(c.sink) + (d.kind == DependenceKind::Flow ? " reads it" : " writes it");
  c.scheduled = to_string(c.sink) + " comes first";
  return c;
}

}  // namespace

const Basis& Prover::Impl::basis_of(const std::shared_ptr<const ir::Program>& program) {
  std::unique_ptr<Basis>& slot = bases[program.get()];
  if (!slot) {  // kept only when it is whole: a basis without its dependences would allow everything
    auto basis = std::make_unique<Basis>();
    basis->program = program;
    basis->state = reference_state(program);
    basis->model = make_model(context, basis->state);
    basis->dependences = compute_dependences(basis->model);
    slot = std::move(basis);
  }
  return *slot;
}

bool keeps_instances(const ScheduledStatement& s) {
  if (s.kind == StatementKind::Copy || s.lifted > 0 || s.padded || s.phi.size() != s.body.iterators.size())
    return false;
  for (std::size_t i = 0; i < s.phi.size(); ++i) {
    if (s.phi[i].as_symbol() != s.body.iterators[i]) return false;
  }
  return true;
}

Instance make_instance(const ir::Statement& statement, const std::vector<std::int64_t>& values) {
  Instance instance{statement.name, {}};
  for (std::size_t i = 0; i < statement.iterators.size(); ++i) {
    instance.iterators.emplace_back(statement.iterators[i], values.at(i));
  }
  return instance;
}

std::string cell_text(const ir::Access& access, const ir::Statement& statement, const Point& point,
                      std::size_t first_value) {
  ir::Values values = point.params;
  for (std::size_t i = 0; i < statement.iterators.size(); ++i) {
    values[statement.iterators[i]] = point.values.at(first_value + i);
  }
  std::string text = access.buffer + "[";
  for (std::size_t i = 0; i < access.indices.size(); ++i) {
    text += i ? ", " : "";
    text += access.indices[i].indirect ? "*" : std::to_string(ir::evaluate(access.indices[i].affine, values));
  }
  return text + "]";
}

isl::map ordered_pairs(const Dependence& d, const Basis& basis, const IslModel& model) {
  if (!d.reduction) return d.pairs;
  const ir::Statement& update = basis.model.statements[static_cast<std::size_t>(d.source)].statement->body;
  isl_map* pairs = d.pairs.copy();
  for (const std::string& iterator : reorderable_iterators(*model.state, update)) {
    const auto at = std::find(update.iterators.begin(), update.iterators.end(), iterator) - update.iterators.begin();
    pairs = isl_map_equate(pairs, isl_dim_in, static_cast<int>(at), isl_dim_out, static_cast<int>(at));
  }
  return isl::manage(pairs);
}

std::string access_pattern(const ir::Access& access) {
  std::string text = access.buffer + "[";
  for (std::size_t i = 0; i < access.indices.size(); ++i) {
    text += (i ? ", " : "");
    text += access.indices[i].indirect ? "*" : ir::to_string(access.indices[i].affine);
  }
  return text + "]";
}

namespace {

// For each statement of the basis, those of the model that run its instances: itself, or the parts that a cut has made
// of it; none where the order walk does not decide.
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

// Pairs of two statements of the basis as those of two of their parts.
isl::map between(const isl::map& pairs, const IslModel& model, int source, int sink) {
  isl_map* map = pairs.copy();
  isl_ctx* ctx = isl_map_get_ctx(map);
  map = isl_map_set_tuple_id(map, isl_dim_in, isl_id_alloc(ctx, ("S" + std::to_string(source)).c_str(), nullptr));
  map = isl_map_set_tuple_id(map, isl_dim_out, isl_id_alloc(ctx, ("S" + std::to_string(sink)).c_str(), nullptr));
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

bool has_staged(const IslModel& model, const std::string& buffer) {
  return std::any_of(model.buffers.begin(), model.buffers.end(),
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
    return std::find(moved.begin(), moved.end(), name) != moved.end();
  };
  return moved.empty() || named(source) || named(sink);
}

bool smaller(const OrderViolation& a, const OrderViolation& b) {
  if (a.depth != b.depth) return a.depth < b.depth;
  return a.point.params < b.point.params;
}

}  // namespace

std::optional<OrderViolation> find_order_violation(const Basis& basis, const IslModel& model,
                                                   const std::vector<std::string>& moved) {
  const std::vector<std::vector<int>> parts = parts_in(basis, model);
  std::optional<OrderViolation> worst;
  for (const Dependence& d : basis.dependences) {
    if (!concerns_order(d, model)) continue;
    const isl::map pairs = ordered_pairs(d, basis, model);
    for (const int source : parts[static_cast<std::size_t>(d.source)]) {
      for (const int sink : parts[static_cast<std::size_t>(d.sink)]) {
        if (!involves(model, source, sink, moved)) continue;
        const auto wrong = find_backwards(model, source, sink, between(pairs, model, source, sink));
        if (!wrong) continue;
        OrderViolation found = locate(d, *wrong, model);
        found.loop = loop_at(model, model.statements[static_cast<std::size_t>(sink)].statement->body.name, found.depth);
        if (!worst || smaller(found, *worst)) worst = found;
      }
    }
  }
  return worst;
}

namespace {

std::optional<Refusal> order_refusal(Prover::Impl& impl, const IslModel& model, const std::vector<std::string>& moved) {
  const State& state = *model.state;
  const Basis& basis = impl.basis_of(state);
  std::optional<OrderViolation> violation = find_order_violation(basis, model, moved);
  if (!violation) return std::nullopt;
  Refusal refusal;
  refusal.kind = RefusalKind::Illegal;
  refusal.headline = headline_of(*violation->dependence);
  refusal.counterexamples.push_back(explain(basis, *violation));
  refusal.advice = order_advice(basis, state, *violation, impl.context);
  return refusal;
}

std::optional<Refusal> bounds_refusal(const IslModel& model, const std::vector<std::string>& names) {
  for (const IslStatement& s : model.statements) {
    const ir::Statement& body = s.statement->body;
    if (!names.empty() && std::find(names.begin(), names.end(), body.name) == names.end()) continue;
    for (const IslAccess& access : s.accesses) {
      const IslBuffer& buffer = model.buffers[static_cast<std::size_t>(access.buffer)];
      for (std::size_t i = 0; i < access.text.indices.size(); ++i) {
        if (access.text.indices[i].indirect) continue;
        const ir::Affine& index = access.text.indices[i].affine;
        isl::set active = access.cells.domain();
        isl::space space = active.get_space();
        isl::set low = to_set(space, body.iterators, model.params, {ir::less_than(index, 0)});
        isl::set high = to_set(space, body.iterators, model.params, {ir::at_least(index, buffer.shape[i])});
        isl::set outside = active.intersect(low.unite(high));
        if (outside.is_empty()) continue;
        Point point = first_point(outside, model.params);
        Refusal refusal;
        refusal.kind = RefusalKind::Illegal;
        refusal.headline = "an access would leave its buffer";
        Counterexample c;
        c.sizes = point.params;
        c.size_names = model.params;
        c.sink = make_instance(body, point.values);
        c.watch = cell_text(access.text, body, point, 0);
        c.scheduled = to_string(c.sink) + (access.write ? " writes " : " reads ") + c.watch + ", and '" + buffer.name +
                      "' has " + ir::to_string(buffer.shape[i]) + " elements in dimension " + std::to_string(i);
        refusal.counterexamples.push_back(std::move(c));
        return refusal;
      }
    }
  }
  return std::nullopt;
}

bool private_to(const State& state, const IslBuffer& buffer, int loop_id) {
  if (buffer.alloc_loop < 0) return false;
  const Loop* loop = find_loop(state.tree, loop_id);
  POLYTE_CHECK(loop != nullptr, "loop " + std::to_string(loop_id) + " is not in the tree");
  return buffer.alloc_loop == loop_id || find_loop(loop->body, buffer.alloc_loop) != nullptr;
}

const IslBuffer& buffer_of(const IslModel& model, const IslAccess& access) {
  return model.buffers[static_cast<std::size_t>(access.buffer)];
}

// Places in memory: the cells of a buffer that is allocated outside its scope, without the iterations of the scope;
// those of the tensor in whose memory it lies.
isl::map places(const IslModel& model, int statement, const IslAccess& access) {
  const IslBuffer& buffer = buffer_of(model, access);
  if (buffer.place != access.buffer) {
    isl_map* cells = access.cells.copy();
    const std::string tuple = "B" + std::to_string(buffer.place);
    return isl::manage(
        isl_map_set_tuple_id(cells, isl_dim_out, isl_id_alloc(isl_map_get_ctx(cells), tuple.c_str(), nullptr)));
  }
  if (buffer.alloc_loop == buffer.scope_loop) return access.cells;
  const isl::multi_aff rows = rows_down_to(model, statement, buffer.scope_loop, true);
  const auto scoped = static_cast<unsigned>(isl_multi_aff_dim(rows.get(), isl_dim_out));
  return isl::manage(isl_map_project_out(access.cells.copy(), isl_dim_out, 0, scoped));
}

// Pairs of instances of a and b in different iterations of the loop (same outer iterations), touching one cell.
isl::map conflict(const IslModel& model, int a, const IslAccess& x, int b, const IslAccess& y, int loop_id) {
  isl::multi_aff outer_a = rows_down_to(model, a, loop_id, false), outer_b = rows_down_to(model, b, loop_id, false);
  isl::multi_aff all_a = rows_down_to(model, a, loop_id, true), all_b = rows_down_to(model, b, loop_id, true);
  auto same = [](const isl::multi_aff& p, const isl::multi_aff& q) {
    isl_map* left = isl_map_from_multi_aff(p.copy());
    return isl::manage(isl_map_apply_range(left, isl_map_reverse(isl_map_from_multi_aff(q.copy()))));
  };
  isl::map cells = places(model, a, x).apply_range(places(model, b, y).reverse());
  return cells.intersect(same(outer_a, outer_b)).subtract(same(all_a, all_b));
}

struct RaceSite {
  int a = 0, b = 0;
  const IslAccess* x = nullptr;
  const IslAccess* y = nullptr;
  isl::map pairs;
};

// The update is one step, and its order does not count.
bool state_permits(const IslModel& model, const ScheduledStatement& s) {
  return s.body.writes.size() == 1 && model.state->may_reorder(model.state->basis->statement(s.reference));
}

// Both accesses are the one read and write of an atomic update, by two threads.
bool is_atomic(const IslModel& model, int a, int b, const IslAccess& x, const IslAccess& y, LoopKind kind) {
  const ScheduledStatement& s = *model.statements[static_cast<std::size_t>(a)].statement;
  if (a != b || !s.atomic || kind != LoopKind::Parallel) return false;
  const auto is_own = [](const IslAccess& access) { return access.write || access.own; };
  return is_own(x) && is_own(y) && state_permits(model, s);
}

std::optional<RaceSite> find_race(const IslModel& model, const State& state, int loop_id) {
  std::vector<std::string> below = statements_below(state.tree, loop_id);
  const LoopKind loop_kind = find_loop(state.tree, loop_id)->kind;
  for (const std::string& first : below) {
    int a = statement_index(model, first);
    for (const IslAccess& x : model.statements[static_cast<std::size_t>(a)].accesses) {
      const IslBuffer& buffer = buffer_of(model, x);
      if (!x.write || private_to(state, buffer, loop_id)) continue;
      const bool is_hoisted = buffer.alloc_loop != buffer.scope_loop;
      if (!is_hoisted && state.reused.empty() && cell_fixes_iteration(model, x.buffer, loop_id)) continue;
      for (const std::string& second : below) {
        int b = statement_index(model, second);
        for (const IslAccess& y : model.statements[static_cast<std::size_t>(b)].accesses) {
          if (buffer_of(model, y).place != buffer.place || is_atomic(model, a, b, x, y, loop_kind)) continue;
          isl::map pairs = conflict(model, a, x, b, y, loop_id);
          if (!pairs.is_empty()) return RaceSite{a, b, &x, &y, pairs};
        }
      }
    }
  }
  return std::nullopt;
}

std::int64_t row_value(const ScheduledStatement& s, const std::string& loop, const Instance& instance,
                       const ir::Values& sizes) {
  ir::Values values = sizes;
  for (const auto& [name, value] : instance.iterators) values[name] = value;
  for (const LoopRow& row : s.rows) {
    if (row.loop == loop) return ir::evaluate(row.value, values);
  }
  return 0;
}

Refusal race_refusal(const IslModel& model, const State& state, int loop_id, const RaceSite& race) {
  const Loop& loop = *find_loop(state.tree, loop_id);
  const ScheduledStatement& s = *model.statements[static_cast<std::size_t>(race.a)].statement;
  const ScheduledStatement& t = *model.statements[static_cast<std::size_t>(race.b)].statement;
  Point point = first_point(isl::manage(isl_map_wrap(race.pairs.copy())), model.params);
  const auto split = static_cast<std::ptrdiff_t>(s.body.iterators.size());
  Counterexample c;
  c.sizes = point.params;
  c.size_names = model.params;
  c.source = make_instance(s.body, {point.values.begin(), point.values.begin() + split});
  c.sink = make_instance(t.body, {point.values.begin() + split, point.values.end()});
  c.watch = cell_text(race.x->text, s.body, point, 0);
  c.scheduled = to_string(c.source) + " in iteration " + std::to_string(row_value(s, loop.name, c.source, c.sizes)) +
                " writes " + c.watch + ", " + to_string(c.sink) + " in iteration " +
                std::to_string(row_value(t, loop.name, c.sink, c.sizes)) + (race.y->write ? " writes it" : " reads it");
  Refusal refusal;
  refusal.kind = RefusalKind::Illegal;
  refusal.headline = std::string(loop.kind == LoopKind::Vector ? "vector" : "parallel") + " loop " + loop.name +
                     " carries a dependence through " + c.watch;
  refusal.counterexamples.push_back(std::move(c));
  return refusal;
}

std::optional<Refusal> independence_refusal(const IslModel& model, int loop_id) {
  const State& state = *model.state;
  std::optional<RaceSite> race = find_race(model, state, loop_id);
  if (!race) return std::nullopt;
  return race_refusal(model, state, loop_id, *race);
}

std::vector<int> concurrent_loops(const Tree& tree) {
  std::vector<int> ids;
  map_loops(tree, [&](const Loop& loop) {
    if (is_concurrent(loop.kind)) ids.push_back(loop.id);
    return loop;
  });
  return ids;
}

// Padding may hold anything; statements that run there have to stand that.
std::optional<Refusal> padding_refusal(const State& state) {
  for (const ScheduledStatement& s : state.statements) {
    if (!s.padded || (s.kind != StatementKind::Copy && is_total(s.body))) continue;
    Refusal refusal;
    refusal.kind = RefusalKind::Illegal;
    refusal.headline = s.body.name + " runs in padding, and what it computes there may fail";
    return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> end_to_end_refusal(Prover::Impl& impl, const State& state) {
  if (auto refusal = padding_refusal(state)) return refusal;
  const IslModel model = make_model(impl.context, state);
  if (auto refusal = bounds_refusal(model, {})) return refusal;
  if (auto refusal = order_refusal(impl, model, {})) return refusal;
  if (auto refusal = check_loop_points(impl.context, model)) return refusal;
  if (auto refusal = check_rewrites(impl, state)) return refusal;
  if (auto refusal = check_sources(impl.basis_of(state), model, "")) return refusal;
  if (auto refusal = check_reuse(model)) return refusal;
  for (int loop : concurrent_loops(state.tree)) {
    if (auto refusal = independence_refusal(model, loop)) return refusal;
  }
  return std::nullopt;
}

constexpr const char* kLibrary = "integer set library";

// Runs a test under the quota; a spent quota becomes an undecided answer, never a legal one.
template <class Test>
std::optional<Refusal> guarded(Prover::Impl& impl, Test test) {
  impl.context.limit(impl.options.quota);
  try {
    return test();
  } catch (const isl::exception& e) {
    if (is_quota(impl.context, e))
      return undecided("the proof took more than its budget of " + std::to_string(impl.options.quota) + " operations");
    throw_isl_fault(impl.context, e, kLibrary);
  }
}

}  // namespace

Prover::Prover(std::shared_ptr<const ir::Program> reference, ProverOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  impl_->reference = std::move(reference);
}
Prover::~Prover() = default;
Prover::Prover(Prover&&) noexcept = default;
Prover& Prover::operator=(Prover&&) noexcept = default;

std::optional<Refusal> Prover::check_order(const State& state, const std::vector<std::string>& moved) {
  return guarded(*impl_, [&] { return order_refusal(*impl_, make_model(impl_->context, state), moved); });
}
std::optional<Refusal> Prover::check_independent(const State& state, int loop_id) {
  return guarded(*impl_, [&] { return independence_refusal(make_model(impl_->context, state), loop_id); });
}
std::optional<Refusal> Prover::check_bounds(const State& state, const std::vector<std::string>& statements) {
  return guarded(*impl_, [&] { return bounds_refusal(make_model(impl_->context, state), statements); });
}
std::optional<Refusal> Prover::check_storage(const State& state, const std::string& buffer) {
  return guarded(*impl_, [&] {
    const Basis& basis = impl_->basis_of(state);
    return check_sources(basis, make_model(impl_->context, state), buffer);
  });
}
std::optional<Refusal> Prover::check_reuse(const State& state) {
  return guarded(*impl_, [&] { return schedule::check_reuse(make_model(impl_->context, state)); });
}
std::vector<std::string> Prover::reordered(const State& state) try {
  impl_->context.limit(impl_->options.quota);
  const Basis& basis = impl_->basis_of(state);
  const IslModel model = make_model(impl_->context, state);
  const std::vector<std::vector<int>> parts = parts_in(basis, model);
  const auto is_backwards = [&](const Dependence& d) {
    const std::vector<int>& own = parts[static_cast<std::size_t>(d.source)];
    return std::ranges::any_of(own, [&](int source) {
      return std::ranges::any_of(own, [&](int sink) {
        return find_backwards(model, source, sink, between(d.pairs, model, source, sink)).has_value();
      });
    });
  };
  std::vector<std::string> names;
  bool spent = false;  // what is not decided counts as reordered
  for (const Dependence& d : basis.dependences) {
    const std::string& name = basis.model.statements[static_cast<std::size_t>(d.source)].statement->body.name;
    if (!d.reduction || parts[static_cast<std::size_t>(d.source)].empty() ||
        std::ranges::find(names, name) != names.end())
      continue;
    try {
      if (spent || is_backwards(d)) names.push_back(name);
    } catch (const isl::exception& e) {
      if (!is_quota(impl_->context, e)) throw;
      spent = true;
      names.push_back(name);
    }
  }
  return names;
} catch (const isl::exception& e) {
  if (!is_quota(impl_->context, e)) throw_isl_fault(impl_->context, e, kLibrary);
  std::vector<std::string> all;
  for (const ir::Statement& s : state.basis->statements)
    if (s.combiner != ir::Combiner::None) all.push_back(s.name);
  return all;
}
std::optional<Refusal> Prover::check_rewrites(const State& state) {
  return guarded(*impl_, [&] { return schedule::check_rewrites(*impl_, state); });
}
std::optional<Refusal> Prover::check_end_to_end(const State& state) {
  return guarded(*impl_, [&] { return end_to_end_refusal(*impl_, state); });
}

}  // namespace polyte::schedule
