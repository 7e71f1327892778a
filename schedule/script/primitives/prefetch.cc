// prefetch B at L distance 4 level 2:   L > { .. B .. }
//   ->   L > { bring what iteration L + 4 reads of B; .. B .. }
// prefetch B at L distance 1 along M:   M > L > { .. B .. }
//   ->   M > L > { bring what this L reads of B one iteration of M later; .. B .. }
//
// One prefetch for each cache line of the box that an iteration reads, into the second level
// (1: the nearest). A hint: no value depends on it, and an address past the end of B does not
// fault. B has to exist before the iteration begins and to be read in it; its box has to be known
// (an affine origin over the loops outside, a constant extent).
#include <algorithm>

#include "schedule/script/hints.h"
#include "schedule/script/primitives/edit.h"

namespace polyte::schedule {

namespace {

// The buffer of the Program or a staged one, by its own name.
std::optional<Refusal> check_name(const State& state, const std::string& name) {
  std::vector<std::string> known;
  for (const ir::Buffer& b : state.basis->buffers) known.push_back(b.name);
  for (const StagedBuffer& b : state.staged) known.push_back(b.name);
  if (std::ranges::find(known, name) != known.end()) return std::nullopt;
  return malformed("no buffer is called " + name + " (they are " + join_words(known) + ")");
}

// The loop whose iterations the distance counts.
Result<const Loop*, Refusal> counted_loop(const State& state, const Loop& loop,
                                          const std::string& along) {
  if (along.empty() || along == loop.name) return &loop;
  Names outside;
  for (const Loop* outer : path_to(state.tree, leaves_of(loop.body).front()->statement)) {
    if (outer->id == loop.id) break;
    if (outer->name == along) return outer;
    outside.push_back(outer->name);
  }
  return malformed(
      along + " is no loop outside " + loop.name +
      (outside.empty() ? ": there is none" : " (these are " + join_words(outside) + ")"));
}

Result<PrefetchHint, Refusal> hint_of(const State& state, const Loop& loop,
                                      const Prefetch& directive, const PrimitiveContext& context) {
  const auto distance = evaluate(directive.distance, context, 1);
  if (!distance) return distance.error();
  if (*distance < 1)
    return malformed("prefetch at distance " + std::to_string(*distance) +
                     ": expected 1 or more iterations ahead");
  if (directive.level < 1 || directive.level > 3)
    return malformed("there is no cache level " + std::to_string(directive.level) +
                     ": expected 1, 2 or 3");
  const auto along = counted_loop(state, loop, directive.along);
  if (!along) return along.error();
  return PrefetchHint{directive.tensor, loop.id, (*along)->id, *distance, directive.level};
}

}  // namespace

Applied prefetch(const State& state, const Prefetch& directive, const PrimitiveContext& context) {
  if (auto refusal = check_name(state, directive.tensor)) return *refusal;
  const auto loop = the_loop(state, directive.at);
  if (!loop) return loop.error();
  const auto hint = hint_of(state, **loop, directive, context);
  if (!hint) return hint.error();
  for (const PrefetchHint& other : state.prefetches)
    if (other.buffer == hint->buffer && other.loop == hint->loop && other.along == hint->along)
      return malformed(hint->buffer + " is prefetched at " + directive.at.loop + " already, " +
                       std::to_string(other.distance) + " ahead");
  State next = state;
  next.prefetches.push_back(*hint);
  if (auto refusal = check_hints(next)) return *refusal;
  const auto box = ahead_of(next, *hint);
  if (!box)
    return conservative("what " + directive.at.loop + " reads of " + hint->buffer + ": " +
                        box.error().reason);
  return next;
}

// stream B:   B[..] = ..   ->   the same, past the caches (non-temporal)
// Refused where the nest that writes B reads it, too.
Applied stream(const State& state, const StoreNonTemporal& directive, const PrimitiveContext&) {
  if (auto refusal = check_name(state, directive.tensor)) return *refusal;
  bool is_written = false;
  for (const ScheduledStatement& s : state.statements)
    for (const ir::Access& write : s.body.writes)
      is_written = is_written || write.buffer == directive.tensor;
  if (!is_written) return malformed("nothing writes " + directive.tensor);
  if (state.nontemporal.count(directive.tensor))
    return malformed(directive.tensor + " is streamed already");
  State next = state;
  next.nontemporal.insert(directive.tensor);
  if (auto refusal = check_hints(next)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
