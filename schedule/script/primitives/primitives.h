// The table of primitives: each a pure function State -> State | Refusal in the file of its name. A
// primitive does the structural edit, then asks the Prover, if there is one, for the obligation of
// what it touched. `apply` (replay.h) adds the directive's text and line to a refusal.
#pragma once

#include "schedule/script/replay.h"

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
Applied distribute(const State& state, const Distribute& directive,
                   const PrimitiveContext& context);
Applied map(const State& state, const Map& directive, const PrimitiveContext& context);
Applied remap(const State& state, const Remap& directive, const PrimitiveContext& context);
Applied skew(const State& state, const Skew& directive, const PrimitiveContext& context);
Applied shift(const State& state, const Shift& directive, const PrimitiveContext& context);
Applied reverse(const State& state, const Reverse& directive, const PrimitiveContext& context);
Applied rename(const State& state, const Rename& directive, const PrimitiveContext& context);
Applied affine_map(const State& state, const AffineMap& directive, const PrimitiveContext& context);
Applied interchange(const State& state, const Interchange& directive,
                    const PrimitiveContext& context);
Applied wavefront(const State& state, const Wavefront& directive, const PrimitiveContext& context);
Applied unroll(const State& state, const Unroll& directive, const PrimitiveContext& context);
Applied unroll_and_jam(const State& state, const UnrollAndJam& directive,
                       const PrimitiveContext& context);
Applied cut(const State& state, const Cut& directive, const PrimitiveContext& context);
Applied peel(const State& state, const Peel& directive, const PrimitiveContext& context);
Applied set_kind(const State& state, const LoopName& loop, LoopKind kind,
                 const PrimitiveContext& context);
Applied set_kinds(const State& state, const LoopName& loops, LoopKind kind,
                  const PrimitiveContext& context);
Applied gpu_tile(const State& state, const DeviceTile& directive, const PrimitiveContext& context);
Applied compute_inline(const State& state, const ComputeInline& directive,
                       const PrimitiveContext& context);
Applied precompute(const State& state, const Precompute& directive,
                   const PrimitiveContext& context);
Applied rfactor(const State& state, const Rfactor& directive, const PrimitiveContext& context);
Applied split_reduction(const State& state, const SplitReduction& directive,
                        const PrimitiveContext& context);
Applied reassociate(const State& state, const Reassociate& directive,
                    const PrimitiveContext& context);
Applied reciprocal(const State& state, const Reciprocal& directive,
                   const PrimitiveContext& context);
Applied defer_division(const State& state, const DeferDivision& directive,
                       const PrimitiveContext& context);
Applied online(const State& state, const Online& directive, const PrimitiveContext& context);
Applied atomic(const State& state, const Atomic& directive, const PrimitiveContext& context);
Applied inline_all(const State& state, const InlineAll& directive, const PrimitiveContext& context);
Applied compute_at(const State& state, const ComputeAt& directive, const PrimitiveContext& context);
Applied compute_root(const State& state, const ComputeRoot& directive,
                     const PrimitiveContext& context);
Applied store_at(const State& state, const StoreAt& directive, const PrimitiveContext& context);
Applied reverse_compute_at(const State& state, const ReverseComputeAt& directive,
                           const PrimitiveContext& context);
Applied place(const State& state, const Place& directive, const PrimitiveContext& context);
Applied nest(const State& state, const Nest& directive, const PrimitiveContext& context);
Applied stage(const State& state, const Stage& directive, const PrimitiveContext& context);
Applied fold_storage(const State& state, const FoldStorage& directive,
                     const PrimitiveContext& context);
Applied bound_storage(const State& state, const BoundStorage& directive,
                      const PrimitiveContext& context);
Applied swizzle(const State& state, const Swizzle& directive, const PrimitiveContext& context);
Applied storage_align(const State& state, const StorageAlign& directive,
                      const PrimitiveContext& context);
Applied hoist_storage(const State& state, const HoistStorage& directive,
                      const PrimitiveContext& context);
Applied reuse(const State& state, const Reuse& directive, const PrimitiveContext& context);
Applied set_scope(const State& state, const SetScope& directive, const PrimitiveContext& context);
Applied transform_layout(const State& state, const TransformLayout& directive,
                         const PrimitiveContext& context);
Applied view(const State& state, const View& directive, const PrimitiveContext& context);
Applied double_buffer(const State& state, const DoubleBuffer& directive,
                      const PrimitiveContext& context);
Applied compute_with(const State& state, const ComputeWith& directive,
                     const PrimitiveContext& context);
Applied prefetch(const State& state, const Prefetch& directive, const PrimitiveContext& context);
Applied stream(const State& state, const StoreNonTemporal& directive,
               const PrimitiveContext& context);
Applied set_tail(const State& state, const SetTail& directive, const PrimitiveContext& context);
Applied pad(const State& state, const Pad& directive, const PrimitiveContext& context);
Applied tensorize(const State& state, const Tensorize& directive, const PrimitiveContext& context);
Applied transaction(const State& state, const Transaction& directive,
                    const PrimitiveContext& context);

}  // namespace polyte::schedule
