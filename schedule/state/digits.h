// Digits: what the rows of a statement say of its loops and of the elements it touches,
// by ir/facts.h and intervals alone. A split-only schedule is a mixed-radix number system,
// iterator = F * outer + inner, in which bounds, boxes and projections are read off digit by digit;
// that serves placement, compute_at and stage:
//
//   acc[m, n] with m = 12*m.o + m.i, site m.o   offset 12*m.o, extent 12
//   loop k.o of acc.update, nothing fixed       first value 0, last value (K - 1) // Kc
//
// Sound, not always exact: what is not expressible comes back empty, and the prover looks at
// the result anyway.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schedule/state/state.h"

namespace polyte::schedule {

using LoopNames = std::set<std::string>;

// Domain and loop_domain as constraints over loops and parameters.
std::vector<ir::Constraint> loop_constraints(const ScheduledStatement& s);
// Intervals of the iterators and parameters, and of the loops and parameters.
ir::Ranges iterator_ranges(const State& state, const ScheduledStatement& s);
ir::Ranges loop_ranges(const State& state, const ScheduledStatement& s);
// Intervals of loops over several statements: the union of theirs.
ir::Ranges loop_ranges(const State& state, const std::vector<std::string>& statements);
// Number of values a loop may take over the statements; nullopt where it has no constant bound.
std::optional<std::int64_t> extent_of(const State& state,
                                      const std::vector<std::string>& statements,
                                      const std::string& loop);

// Constraints over the loops of `outer` that hold for the instances of all the statements.
std::vector<ir::Constraint> project_all(const State& state,
                                        const std::vector<std::string>& statements,
                                        const LoopNames& outer);
// The first of the loops that such constraints leave without a lower or an upper bound; empty:
// none. Where a statement is pinned to an iteration, `when first t`, and t may have none, all
// iterations together are not one range.
std::string unbounded_loop(const std::vector<ir::Constraint>& constraints,
                           const std::vector<std::string>& loops);

// First and last value of `loop` (inclusive) over the statement's instances with the loops of
// `outer` fixed, as affines over these; nullopt where there is no single affine. `known`: values
// of some outer loops.
std::optional<ir::Affine> first_value(const State& state, const ScheduledStatement& s,
                                      const std::string& loop, const LoopNames& outer,
                                      const ir::Bindings& known = {});
std::optional<ir::Affine> last_value(const State& state, const ScheduledStatement& s,
                                     const std::string& loop, const LoopNames& outer,
                                     const ir::Bindings& known = {});
// Proves a constraint over the loops of `outer` wherever the statement has an instance.
bool proves(const State& state, const ScheduledStatement& s, const LoopNames& outer,
            const ir::Constraint& c);
// Iterators whose value over the loops is not what the rows say, with what comes out instead.
ir::Bindings wrong_inverses(const State& state, const ScheduledStatement& s);
// True where intervals show that the statement has no instance at all.
bool is_empty(const State& state, const ScheduledStatement& s);

// An index as offset over the outer loops + a rest in a constant interval.
struct OffsetPart {
  ir::Affine offset;
  std::int64_t min = 0, max = 0;  // of the rest
};
// nullopt where an atom mixes loops of both sides or the rest has no constant interval; `why`
// says which.
std::optional<OffsetPart> split_offset(const State& state, const ScheduledStatement& s,
                                       const ir::Affine& index, const LoopNames& outer,
                                       std::string& why);

}  // namespace polyte::schedule
