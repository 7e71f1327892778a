// The table of primitives: each a pure function State -> State | Refusal in the file of its name. A primitive does
// the structural edit, then asks the Prover, if there is one, for the obligation of what it touched. `apply`
// (replay.h) adds the directive's text and line to a refusal.
#pragma once

#include "schedule/language/replay.h"

namespace polyte::schedule {

using Applied = Result<State, Refusal>;

struct PrimitiveContext {
  const ScriptEnvironment& environment;
  Prover* prover = nullptr;  // null: structure only
};

Applied split(const State& state, const Split& directive, const PrimitiveContext& context);
Applied tile(const State& state, const Tile& directive, const PrimitiveContext& context);
Applied reorder(const State& state, const Reorder& directive, const PrimitiveContext& context);
Applied order(const State& state, const Order& directive, const PrimitiveContext& context);
Applied fuse(const State& state, const Fuse& directive, const PrimitiveContext& context);
Applied merge(const State& state, const Merge& directive, const PrimitiveContext& context);
Applied distribute(const State& state, const Distribute& directive, const PrimitiveContext& context);
Applied set_kind(const State& state, const LoopName& loop, LoopKind kind, const PrimitiveContext& context);
Applied set_kinds(const State& state, const LoopName& loops, LoopKind kind, const PrimitiveContext& context);
Applied compute_inline(const State& state, const ComputeInline& directive, const PrimitiveContext& context);
Applied compute_at(const State& state, const ComputeAt& directive, const PrimitiveContext& context);
Applied reverse_compute_at(const State& state, const ReverseComputeAt& directive, const PrimitiveContext& context);
Applied place(const State& state, const Place& directive, const PrimitiveContext& context);
Applied nest(const State& state, const Nest& directive, const PrimitiveContext& context);
Applied stage(const State& state, const Stage& directive, const PrimitiveContext& context);
Applied transaction(const State& state, const Transaction& directive, const PrimitiveContext& context);

}  // namespace polyte::schedule
