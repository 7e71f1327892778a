// Hints: prefetches and stores past the caches. They change no value, so nothing about them needs a
// proof; what they need is that they still mean something, which is checked after every directive.
#pragma once

#include <optional>

#include "schedule/state/refusal.h"
#include "schedule/state/state.h"
#include "support/result.h"

namespace polyte::schedule {

inline constexpr std::int64_t kCacheLine = 64;  // bytes

// What the hint's loop touches of the buffer `distance` iterations of the counted loop later:
// the box of elements, over the loops that run one iteration at a time (those of vector lanes are
// inside the box). Without what the iteration before, of either loop or one between them, touches
// too and has brought: of windows that overlap, what is new.
struct AheadBox {
  std::vector<ir::Affine> origin;
  std::vector<std::int64_t> extent;
};
Result<AheadBox> ahead_of(const State& state, const PrefetchHint& hint);
std::int64_t lines_of(const AheadBox& box, DType dtype);  // prefetches, one per cache line

// The first hint that has lost its meaning; nothing where all stand.
std::optional<Refusal> check_hints(const State& state);

}  // namespace polyte::schedule
