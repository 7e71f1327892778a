// atomic S:   par n > h.update      h[bin[n]] += 1, reading, adding and writing one element being one step
// The conflicts of S with itself through the element that it updates do not count between iterations of parallel
// loops. The order of the updates is then that of the threads: bits do not change for integers, minima and maxima;
// a sum or product of floating-point numbers needs a contract that lets its order change.
#include <algorithm>

#include "schedule/language/primitives/edit.h"

namespace polyte::schedule {

Applied atomic(const State& state, const Atomic& directive, const PrimitiveContext&) {
  State next = state;
  for (const std::string& name : directive.statements) {
    const auto statement = the_statement(state, name);
    if (!statement) return statement.error();
    ScheduledStatement& s = statement_of(next, *statement);
    if (s.kind != StatementKind::Update)
      return malformed(*statement + " does not update what it writes: only += and its kin are atomic");
    if (s.atomic) return malformed(*statement + " is atomic already");
    if (s.body.writes.size() > 1)
      return conservative(*statement + " updates a pair (" + ir::to_string(s.body.combiner) +
                          "): pairs are not atomic");
    const std::string& tensor = s.body.writes.front().buffer;
    if (!state.basis->find_buffer(tensor))
      return malformed(tensor + " is staged already: atomic comes before its stage");
    if (size_in_bytes(state.dtype_of(tensor)) < 4)
      return conservative(tensor + " has elements of " + std::to_string(8 * size_in_bytes(state.dtype_of(tensor))) +
                          " bits: atomic updates need 32 or 64");
    for (const ir::Expr& value : s.body.values)
      for (const ir::Load* load : ir::loads_of(value))
        if (load->buffer == tensor) return conservative(*statement + " reads other elements of " + tensor);
    const ir::Statement& update = state.basis->statement(s.reference);
    if (!state.may_reorder(update))
      return malformed("atomic updates of " + tensor + " add up in the order of the threads, and the contract is " +
                       (state.contract == Contract::Exact ? "exact" : "reassoc of other loops") + ": say `reassoc " +
                       joined(update.reductions) + "`");
    s.atomic = true;
  }
  return next;
}

}  // namespace polyte::schedule
