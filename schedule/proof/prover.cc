#include "schedule/proof/prover.h"

#include "schedule/proof/isl_faults.h"
#include "schedule/proof/prover_impl.h"
#include "schedule/state/fragments.h"

namespace polyte::schedule {

const Basis& Prover::Impl::basis_of(const std::shared_ptr<const ir::Program>& program) {
  std::unique_ptr<Basis>& slot = bases[program.get()];
  // Kept only when it is whole: a basis without its dependences would allow everything.
  if (!slot) {
    auto basis = std::make_unique<Basis>();
    basis->program = program;
    basis->state = reference_state(program);
    basis->model = make_model(context, basis->state);
    basis->dependences = compute_dependences(basis->model);
    slot = std::move(basis);
  }
  return *slot;
}

namespace {

Refusal undecided(const std::string& reason) {
  Refusal refusal;
  refusal.kind = RefusalKind::Unknown;
  refusal.headline = reason;
  return refusal;
}

std::vector<LoopId> concurrent_loops(const State& state) {
  std::vector<LoopId> ids = loops_of_lanes(state);
  map_loops(state.tree, [&](const Loop& loop) {
    if (is_concurrent(loop.kind)) ids.push_back(loop.id);
    return loop;
  });
  return ids;
}

// Padding may hold anything; a statement that runs there must be able to compute something of any
// value: a subscript read from padding could be any address.
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

// Order: bounds first, since the cells of joined coordinates are right only within bounds
// (CellDigits), then what is quick to decide and easiest to explain. Sources compare the State
// with the last Program of the chain, which the rewrites connect with the reference.
std::optional<Refusal> end_to_end_refusal(Prover::Impl& impl, const State& state) {
  if (auto refusal = padding_refusal(state)) return refusal;
  const IslModel model = make_model(impl.context, state);
  if (auto refusal = check_bounds(model, {})) return refusal;
  if (auto refusal = check_order(impl, model, {})) return refusal;
  if (auto refusal = check_loop_points(impl.context, model)) return refusal;
  if (auto refusal = check_rewrites(impl, state)) return refusal;
  if (auto refusal = check_sources(impl.basis_of(state), model, "")) return refusal;
  if (auto refusal = check_reuse(model)) return refusal;
  for (LoopId loop : concurrent_loops(state)) {
    if (auto refusal = check_independent(model, loop)) return refusal;
  }
  return check_owners(model);
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
      return undecided("the proof took more than its budget of " +
                       std::to_string(impl.options.quota) + " operations");
    throw_isl_fault(impl.context, e, kLibrary);
  }
}

}  // namespace

Prover::Prover(std::shared_ptr<const ir::Program> reference, ProverOptions options)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  impl_->reference = std::move(reference);
}
Prover::~Prover() = default;
Prover::Prover(Prover&&) noexcept = default;
Prover& Prover::operator=(Prover&&) noexcept = default;

std::optional<Refusal> Prover::check_order(const State& state,
                                           const std::vector<std::string>& moved) {
  return guarded(*impl_, [&] {
    return schedule::check_order(*impl_, make_model(impl_->context, state), moved);
  });
}
std::optional<Refusal> Prover::check_independent(const State& state, LoopId loop_id) {
  return check_independent(state, std::vector{loop_id});
}
std::optional<Refusal> Prover::check_independent(const State& state,
                                                 const std::vector<LoopId>& loops) {
  std::optional<IslModel> model;
  for (const LoopId loop : loops) {
    const auto refusal = guarded(*impl_, [&] {
      if (!model) model = make_model(impl_->context, state);
      return schedule::check_independent(*model, loop);
    });
    if (refusal) return refusal;
  }
  return std::nullopt;
}
std::optional<Refusal> Prover::check_owners(const State& state) {
  return guarded(*impl_, [&] { return schedule::check_owners(make_model(impl_->context, state)); });
}
std::optional<Refusal> Prover::check_bounds(const State& state,
                                            const std::vector<std::string>& statements) {
  return guarded(*impl_, [&] {
    return schedule::check_bounds(make_model(impl_->context, state), statements);
  });
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
// An answer here leads a scheduler, not a verdict: undecided counts as yes.
bool Prover::takes_values(const State& state, const std::string& tensor,
                          const ValueEnds& ends) try {
  impl_->context.limit(impl_->options.quota);
  return schedule::takes_values(impl_->basis_of(state), tensor, ends);
} catch (const isl::exception& e) {
  if (!is_quota(impl_->context, e)) throw_isl_fault(impl_->context, e, kLibrary);
  return true;
}
// Undecided: every update counts as reordered, so that a note may say too much but never too
// little.
std::vector<std::string> Prover::reordered(const State& state) try {
  impl_->context.limit(impl_->options.quota);
  return reordered_updates(*impl_, make_model(impl_->context, state));
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
