// Which elements a stage copies in (their first access there is a read) and out (written, and read
// later or results).
#include <algorithm>
#include <limits>

#include "schedule/proof/prover.h"
#include "schedule/script/primitives/stage_plan.h"

namespace polyte::schedule {

namespace {

using ir::Affine;
using ir::Constraint;
using Condition = std::vector<Constraint>;  // over the loops above the site

class TransferFinder {
 public:
  explicit TransferFinder(const StagePlan& plan) : plan_(plan) {}

  // By what is done with the elements below the site:
  //
  //   only read                     in: in every iteration
  //   made anew in every iteration  neither, where nothing outside reads them
  //   written                       in: where the first access is a read; out: in every iteration
  //                                 where they are read later or are results, else in all but the
  //                                 last one of the free loops, so that the next one finds them
  std::optional<Refusal> run(Transfers& transfers) const {
    if (plan_.writers.empty()) {
      transfers.in = {Condition{}};
      return std::nullopt;
    }
    Names free;
    const bool lives = is_live_after();
    const bool starts_fresh = !reads(plan_.before.at(plan_.users.front()), plan_.buffer);
    const bool recomputed = plan_.before.at(plan_.users.front()).lifted > 0;
    if (!lives && starts_fresh && recomputed) return std::nullopt;  // made anew in every iteration
    transfers.by_windows = plan_.box.rests() && !find_free_loops(moving_windows(), free);
    if (!transfers.by_windows)
      if (auto refusal = find_free_loops(box_windows(), free)) return refusal;
    transfers.in = copy_in_conditions(free, transfers.by_windows);
    if (lives) {
      transfers.out = {Condition{}};
      return std::nullopt;
    }
    if (transfers.in.empty()) return std::nullopt;
    std::vector<std::pair<std::string, Affine>> lasts;
    LoopNames above;
    ir::Bindings known;
    for (const std::string& loop : plan_.prefix) {
      if (has(free, loop)) {
        const auto last = value_over(plan_.before, owners_of(loop), loop, above, false, known);
        if (!last)
          return conservative("the last " + loop + " that touches " + plan_.buffer +
                              " is not one affine value");
        lasts.emplace_back(loop, *last);
        known[loop] = *last;
      }
      above.insert(loop);
    }
    transfers.out = beyond(lasts, -1);
    return std::nullopt;
  }

 private:
  const StagePlan& plan_;

  std::vector<Window> moving_windows() const {
    std::vector<Window> windows;
    for (std::size_t d = 0; d < plan_.box.origin.size(); ++d)
      windows.push_back(plan_.box.moving_window(d));
    return windows;
  }

  std::vector<Window> box_windows() const {
    std::vector<Window> windows;
    for (std::size_t d = 0; d < plan_.box.origin.size(); ++d)
      windows.push_back({plan_.box.origin[d], plan_.box.extent[d]});
    return windows;
  }

  // Free loops: those above the site that do not move the windows, so that several of their
  // iterations have the same box. The loops that do move a window must count through it like
  // digits, each by steps as long as all inside cover; else boxes of different iterations overlap,
  // and a written one would be copied back over another.
  std::optional<Refusal> find_free_loops(const std::vector<Window>& windows, Names& free) const {
    std::set<std::string> determined;
    for (const Window& window : windows) {
      std::vector<std::pair<std::int64_t, std::string>> radix;
      for (const ir::Term& term : window.origin.terms()) {
        if (term.atom.div)
          return conservative("the tiles of " + plan_.buffer + " lie at " +
                              ir::to_string(window.origin) + ": not a sum of loops");
        if (plan_.outer.count(term.atom.symbol) > 0)
          radix.emplace_back(std::abs(term.coefficient), term.atom.symbol);
      }
      std::ranges::sort(radix);
      std::int64_t covered = window.extent;
      for (const auto& [step, loop] : radix) {
        const auto extent = extent_of(plan_.before, plan_.users, loop);
        if (step < covered && extent != 1)
          return conservative("the tiles of " + plan_.buffer + " at " +
                              ir::to_string(window.origin) + " overlap, and it is written");
        determined.insert(loop);
        if (!extent) {
          covered = std::numeric_limits<std::int64_t>::max();
          continue;
        }
        covered = step * std::max<std::int64_t>(0, *extent - 1) + covered;
      }
    }
    for (const std::string& loop : plan_.prefix)
      if (determined.count(loop) == 0 && extent_of(plan_.before, plan_.users, loop) != 1)
        free.push_back(loop);
    return std::nullopt;
  }

  // The value at which a `when` pins a loop of this statement.
  std::optional<Affine> pinned_value(const std::string& statement, const std::string& loop) const {
    if (!is_pinned(plan_.before, statement, loop)) return std::nullopt;
    for (const Constraint& c : plan_.before.at(statement).loop_domain)
      if (c.equality && c.expr.coefficient(loop) == 1) return Affine::symbol(loop) - c.expr;
    return std::nullopt;
  }

  // (f1, f2, ..) lexicographically beyond (v1, v2, ..), as a union of conjunctions, which
  // exclude each other: no element is copied twice.
  // For (k, j) beyond (3, 5), upwards with sign 1, downwards with -1:
  //
  //   k >= 4;   k == 3 and j >= 6
  static std::vector<Condition> beyond(const std::vector<std::pair<std::string, Affine>>& values,
                                       int sign) {
    std::vector<Condition> conditions;
    Condition equal_so_far;
    for (const auto& [loop, value] : values) {
      Condition condition = equal_so_far;
      condition.push_back({(Affine::symbol(loop) - value) * sign - 1, false});
      conditions.push_back(condition);
      equal_so_far.push_back(ir::equal(Affine::symbol(loop), value));
    }
    return conditions;
  }

  bool is_live_after() const {
    if (plan_.directive.updates_only) return true;  // terms read it where it is
    if (plan_.role() == ir::Role::Out || plan_.role() == ir::Role::InOut) return true;
    ValueEnds ends;
    for (const ScheduledStatement& s : plan_.before.statements)
      if (!has(plan_.users, s.body.name) && reads(s, plan_.buffer))
        ends.readers.insert(s.reference);
    return !ends.readers.empty() && are_taken(std::move(ends));
  }

  // Whether one of the readers, none of whom is below the site, takes a value from there.
  // Statements are those of the basis: of one that is in parts all of it counts, and so do values
  // that others write for a part of it.
  bool are_taken(ValueEnds ends) const {
    if (!plan_.is_reference() || ends.readers.contains("")) return true;
    for (const std::string& writer : plan_.writers)
      ends.writers.insert(plan_.before.at(writer).reference);
    if (ends.writers.contains("")) return true;
    if (plan_.context.prover)
      return plan_.context.prover->takes_values(plan_.before, plan_.buffer, ends);
    return Prover(plan_.before.reference).takes_values(plan_.before, plan_.buffer, ends);
  }

  // Iterations in which the first access is a read, so that elements have to be copied in: none,
  // all, or those after the one in which the first statement (the initial value) writes.
  std::vector<Condition> copy_in_conditions(const Names& free, bool by_windows) const {
    const std::string& starter = plan_.users.front();
    if (reads(plan_.before.at(starter), plan_.buffer)) return {Condition{}};
    if (plan_.box.rests() && !by_windows && plan_.role() == ir::Role::InOut)
      return {Condition{}};  // what an iteration does not write
    std::vector<std::pair<std::string, Affine>> pins;
    bool all_first = true, all_alike = true;
    for (const std::string& loop : free) {
      const auto value = pinned_value(starter, loop);
      if (!value) continue;
      pins.emplace_back(loop, *value);
      for (const When& when : leaf_said(leaf_of(plan_.before, starter), plan_.before.tree).when)
        if (when.loop == loop) all_first = all_first && when.first;
      for (const std::string& user : plan_.users)
        all_alike = all_alike && pinned_value(user, loop) == value;
    }
    if (pins.empty() || all_alike) return {};
    if (!all_first) return {Condition{}};
    return beyond(pins, 1);
  }

  // Users that have the loop for their own; its last value is theirs. None: all are placed in
  // it, and each has one value.
  Names owners_of(const std::string& loop) const {
    Names owners;
    for (const std::string& user : plan_.users)
      if (!is_pinned(plan_.before, user, loop) && !is_empty(plan_.before, plan_.before.at(user)))
        owners.push_back(user);
    return owners.empty() ? plan_.users : owners;
  }
};

}  // namespace

Result<Transfers, Refusal> find_transfers(const StagePlan& plan) {
  Transfers transfers;
  if (auto refusal = TransferFinder(plan).run(transfers)) return *refusal;
  return transfers;
}

}  // namespace polyte::schedule
