// atomic S:   par n > h.update
// makes reading, adding and writing one element a single step, as in h[bin[n]] += 1. The conflicts
// of S with itself through the element that it updates do not count between iterations of parallel
// loops. The order of the updates is then that of the threads: bits do not change for integers,
// minima and maxima; a sum or product of floating-point numbers needs a contract that lets its
// order change. What the value, the guard or a subscript reads of h is no part of the step,
// and refused.
#include "schedule/script/primitives/rewriting.h"

namespace polyte::schedule {

namespace {

// The refusal of an update that reads more of the tensor than the element that it updates: only the
// update itself is one step. Each loop above is tried as a parallel one, for two threads that show
// the race; where no loop shows one, the refusal has no counterexample.
Refusal no_single_step(const State& state, const std::string& statement, const std::string& tensor,
                       const PrimitiveContext& context) {
  for (const Loop* loop : path_to(state.tree, statement)) {
    State threads = state;
    statement_of(threads, statement).atomic = true;
    threads.tree = map_loops(state.tree, [&](Loop each) {
      if (each.id == loop->id) each.kind = LoopKind::Parallel;
      return each;
    });
    if (!context.prover) break;
    auto race = context.prover->check_independent(threads, loop->id);
    if (!race || race->kind != RefusalKind::Illegal) continue;
    race->headline = statement + " reads elements of " + tensor +
                     " besides the one that it updates, and these reads are " +
                     "no part of the atomic step";
    return *race;
  }
  return conservative(statement + " reads other elements of " + tensor);
}

}  // namespace

Applied atomic(const State& state, const Atomic& directive, const PrimitiveContext& context) {
  State next = state;
  for (const std::string& name : directive.statements) {
    const auto statement = the_statement(state, name);
    if (!statement) return statement.error();
    ScheduledStatement& s = statement_of(next, *statement);
    if (s.kind != StatementKind::Update)
      return malformed(*statement +
                       " does not update what it writes: only += and its kin are atomic");
    if (s.atomic) return malformed(*statement + " is atomic already");
    if (s.body.writes.size() > 1)
      return conservative(*statement + " updates a pair (" + ir::to_string(s.body.combiner) +
                          "): pairs are not atomic");
    const std::string& tensor = s.body.writes.front().buffer;
    if (!state.basis->find_buffer(tensor))
      return malformed(tensor + " is staged already: atomic comes before its stage");
    if (size_in_bytes(state.dtype_of(tensor)) < 4)
      return conservative(tensor + " has elements of " +
                          std::to_string(8 * size_in_bytes(state.dtype_of(tensor))) +
                          " bits: atomic updates need 32 or 64");
    const ir::Statement& update = state.basis->statement(s.reference);
    if (states_a_read(s, tensor)) return no_single_step(state, *statement, tensor, context);
    if (!state.may_reorder(update))
      return malformed("atomic updates of " + tensor +
                       " add up in the order of the threads, and the contract is " +
                       (state.contract == Contract::Exact ? "exact" : "reassoc of other loops") +
                       ": say `reassoc " + join_words(update.reductions) + "`");
    s.atomic = true;
  }
  return next;
}

}  // namespace polyte::schedule
