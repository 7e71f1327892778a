// The directives of the Script language, one type each; docs/script-text.md says what each
// line means.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schedule/state/nest_tree.h"
#include "schedule/state/state.h"
#include "support/out_of_line.h"

namespace polyte::schedule {

// An integer expression of the script's language, kept as written: `2*L`, `(Mr + 1) * Nr/L`, `384`.
struct Size {
  std::string text;
};

// One type per primitive. A bare loop is that of every statement that owns such a loop (split), or
// of the only one (elsewhere; ambiguity is an error that lists the candidates). unroll, vectorize
// and parallel take selectors too: `all` for the statement, a pattern (`*.i`, `*`), `innermost` or
// `outermost` for the loop.
struct SetParam {
  std::string name;
  Size value;                     // "?": a hole, filled by name before the script is used
  std::vector<Size> domain = {};  // `in {8, 12, 14}`; empty: any
};
// where (Mr + 1) * Nr/L <= registers: a condition on sizes, checked at this line.
struct Where {
  Size condition;
};
struct Let {
  std::string name;
  std::string text;
};  // a size or a fragment of a path
// split m by 12 tail cut: m = 12 * m.o + m.i. `into`: the factor is the number of outer iterations.
// `from`: where the tiles count from; empty: 0.
struct Split {
  LoopName loop;
  Size factor;
  bool into = false;
  Size from;
  Tail tail = Tail::Guard;
};
// tile y (i, j) by (8, 8): the splits of several loops, a factor per loop.
struct Tile {
  std::string statement;
  std::vector<std::string> loops;
  std::vector<Size> factors;
  Tail tail = Tail::Guard;
};
struct Reorder {
  std::string statement;
  std::vector<std::string> loops;
};  // these loops, in this order, in their places
struct Order {
  std::string statement;
  std::vector<std::string> loops;
};  // the whole path of the statement
struct Fuse {
  LoopName outer, inner;
  std::string name;
};  // collapse two perfectly nested loops
struct Merge {
  // with i-2+3: the loop becomes i-2+3 first.
  struct Shift {
    std::string loop;
    Size by;  // what stands behind the loop, with its sign: -2+3
  };
  std::vector<std::string> statements;
  std::string through;
  std::vector<Shift> with = {};  // of the second of two statements, before
};  // loop fusion down to this loop
// map S (t, 2*t + i), T (t, 2*t + i + 1) as (t, I): all rows of the statements, by their iterators.
struct Map {
  // A statement's new loops, outermost first, over its iterators; as many as `loops`.
  struct Item {
    std::string statement;
    std::vector<Size> values;
  };
  std::vector<Item> items;
  std::vector<std::string> loops;
};
// map S, T: w = t.o + i.o for t.o: these loops replaced by expressions over current ones,
// in their places.
struct Remap {
  std::vector<std::string> statements;  // empty: every statement that owns the loops
  std::vector<std::string> loops;
  std::vector<Size> values;
  std::vector<std::string> replaced;  // as many
};
// The small forms of Remap; `name` is the new loop's, empty: the old one's.
struct Skew {
  LoopName loop;
  Size by;  // over loops: j becomes j + by
  std::string name;
};
// shift S: i by 2: a number of iterations later.
struct Shift {
  LoopName loop;
  Size by;
  std::string name;
};
// reverse i: runs downwards.
struct Reverse {
  LoopName loop;
  std::string name;
};
// rename i as x: nothing moves.
struct Rename {
  LoopName loop;
  std::string name;
};
// affine S: (i, j) by [[1, 1], [0, 1]] as (a, b): a row of the matrix per new loop.
struct AffineMap {
  std::string statement;
  std::vector<std::string> loops;
  std::vector<std::vector<Size>> matrix;  // unimodular
  std::vector<std::string> names;
};
// interchange S: i, j: two loops, one directly inside the other, change places.
struct Interchange {
  std::string statement;
  std::string outer, inner;
};
// wavefront S: w = t + 2*i for t: the loop w outermost, the loops left in it parallel.
struct Wavefront {
  std::string statement;
  std::string name;
  Size value;
  std::string replaced;
};
struct Distribute {
  LoopName loop;
};  // one loop per child of its sequence
// unroll m.i: copies side by side; with `by`, of the inner loop of a split.
struct Unroll {
  LoopName loop;
  Size by = {};  // empty: the whole loop
};
// unroll_and_jam i by 4: split, the part of 4 inside all loops below, unrolled.
struct UnrollAndJam {
  LoopName loop;
  Size by;
};
// One loop as two, one after the other: below a point and from it on.
struct Cut {
  LoopName loop;
  Size at;  // over the loops outside
  // Names of the two: they are loops of their own then; empty: one loop still.
  std::vector<std::string> parts = {};
};
// The first (last) iterations of a loop by themselves.
struct Peel {
  LoopName loop;
  bool first = true;
  Size count;                           // empty: 1
  std::vector<std::string> parts = {};  // as of Cut
};
// vectorize n.i: iterations are lanes of vectors.
struct Vectorize {
  LoopName loop;
};
// parallel m.o: iterations are shared among threads of a CPU.
struct Parallel {
  LoopName loop;
};
// bind L to thread: its iterations are blocks, threads, warps or lanes of a GPU.
struct Bind {
  LoopName loop;
  LoopKind kind = LoopKind::Thread;
};
// gpu_tile y (i, j) by (16, 16) as t: tiles are blocks of a GPU, the points of one its threads.
struct DeviceTile {
  std::string statement;
  std::vector<std::string> loops;
  std::vector<Size> factors;
  std::string name;  // of the loop of threads; empty: t, or i.i where one loop i is tiled
};
// compute_inline t: the definition of t in place of its reads.
struct ComputeInline {
  std::string tensor;
};
// rewrite rfactor T over L as P: the updates of T in parts, one per iteration of L, then the parts.
struct Rfactor {
  std::string tensor;  // or the update statement, where several update one tensor
  LoopName loop;
  std::string partial;
};
// split_reduction T: k by 8 as P tree: a split, and an rfactor or several; how the parts
// are combined.
struct SplitReduction {
  // Part l has the terms l, l + 8, ..; those of one block; by halves.
  enum class Form { Interleaved, Blocks, Halves };
  std::string tensor;  // or the update statement
  std::string loop;
  Size parts;
  std::string partial;
  Form form = Form::Interleaved;
};
// reassociate T over k: from here on the updates of T may run in another order along k.
struct Reassociate {
  std::string tensor;
  std::vector<std::string> loops;
};
// reciprocal S: a / b in S becomes a * (1 / b) where b stays the same while S runs on.
struct Reciprocal {
  std::string statement;
};
// defer_division T as P: terms of the sum T that share a divisor are added up in P, which is
// divided at the end.
struct DeferDivision {
  std::string tensor, sum;
};
// rewrite online A, B from MX over L: sums of exp(e - MX) * v along with the maximum MX,
// in one pass.
struct Online {
  std::vector<std::string> sums;
  std::string from;
  LoopName loop;
};
// Conflicts of these statements with themselves are atomic.
struct Atomic {
  std::vector<std::string> statements;
};
// precompute S: t[i, j] = value: the inverse. The value of S, in terms of its iterators,
// as a new temporary.
struct Precompute {
  std::string statement;
  std::string tensor;
  std::vector<std::string> iterators;
  std::string value;  // as Program text has it
};
struct InlineAll {};  // compute_inline all: every plain definition that can be inlined
// compute_at t at x.o: what an iteration of the loop needs of t is computed in it.
struct ComputeAt {
  std::string producer;
  LoopName at;
  // Sliding window: nothing twice since this loop began, or "root"; empty: all anew.
  std::string per = {};
};
struct ComputeRoot {
  std::string tensor;
};  // all of it, before the nests that read it
// What is computed at an inner loop gets storage at this one ("root": the whole kernel), and only
// what the loop's earlier iterations have not made is computed: a sliding window.
struct StoreAt {
  std::string tensor;
  LoopName at;
  std::optional<Memory> memory = {};
};
// Puts a statement into the nest of its producers, in the first or last iteration of loops it
// does not own.
struct ReverseComputeAt {
  std::string consumer;
  LoopName at;
  std::vector<When> when;
};
// place y when last k.o: in the first or last iteration of loops that the statement does not own.
struct Place {
  std::string statement;
  std::vector<When> when;
};
// nest par n.o > { .. }: order, placement and kinds of all statements that it names. `name`: what
// the nest is called.
struct Nest {
  std::string name;
  NestTree tree;
};
// stage X at L in register: accesses below L go to a buffer of its own, filled and written
// back where needed. stage S: X[j, k] at L: of what S reads of X alone what it reads there, as it
// is before the first of these reads; S's other accesses stay where they are.
struct Stage {
  enum class Form { Stage, CacheRead, CacheWrite, Pack, Registers };  // how it was written
  Form form = Form::Stage;
  std::string tensor;
  std::optional<LoopName> at;  // none: the whole kernel
  std::optional<Memory> memory;
  std::vector<std::string> names;   // of the tensor's dimensions, for `layout`
  std::vector<std::string> layout;  // affine index texts over names; empty: as the tensor
  bool fold = false;                // the layout may put elements of different times in one place
  Size pad;                         // elements added to the innermost extent's stride; empty: 0
  bool when_compile = false;
  // What is written, and what updates update; other reads stay as they are.
  bool updates_only = false;
  // Of the reads of one statement; of those at these subscripts, over the statement's iterators.
  // Empty: of all.
  std::string reader = {};
  std::vector<std::string> subscripts = {};
  // Whether the copy is of reads that are named: writes and updates stay where they are.
  bool reads_only() const { return !reader.empty() || !subscripts.empty(); }
  NestTree copy;  // loops of the copy statements (leaf X.in or X.out); null: the default
};

// The storage that there is, changed in place. A dimension is named as the copies' loops are: u,
// or n.i of a layout.
struct FoldStorage {
  std::string tensor;
  std::string dimension;
  Size factor;
};  // elements this far apart share a place
// bound_storage t: u by 8: the dimension has room for 8 elements.
struct BoundStorage {
  std::string tensor;
  std::string dimension;
  Size extent;
};
// storage_align t: u by 16 from 4: how many elements lie between two steps of the dimension.
struct StorageAlign {
  std::string tensor;
  std::string dimension;
  Size factor, offset;  // stride of the dimension = offset modulo factor
};
struct HoistStorage {
  std::string tensor;
  LoopName at;  // or "root"
};  // allocated there; its contents still begin anew where they did
// reuse y for e: the elements of e live in the memory of y until y's own are written.
struct Reuse {
  std::string tensor, temporary;
};
// swizzle X by 4 every 2: chunks of 4 elements change places within each 128 bytes of X, by the
// number of their row.
struct Swizzle {
  std::string tensor;
  Size chunk;
  Size every = {};  // rows that change alike; empty: 1
};
// set_scope t register: where the storage is.
struct SetScope {
  std::string tensor;
  Memory memory = Memory::Heap;
};
// transform_layout t (k, n) [n//16, k, n%16]: the places of its elements, by dimension.
struct TransformLayout {
  std::string tensor;
  std::vector<std::string> names;
  std::vector<std::string> layout;
};
// view t as [64, 63]: more dimensions, each element in its place.
struct View {
  std::string tensor;
  std::vector<Size> shape;
};
// tail m.i round: what a split does with its last tile, decided later.
struct SetTail {
  LoopName loop;
  Tail tail = Tail::Guard;
};
// pipeline X at L depth 3: while an iteration runs, the copy for the second one after it is made.
// double_buffer X at L: depth 2.
struct DoubleBuffer {
  std::string tensor;
  LoopName at;
  Size depth = {};  // how many copies there are; empty: 2, in the words of double_buffer
};
// prefetch w at k.o distance 2: brings what later iterations read.
struct Prefetch {
  std::string tensor;
  LoopName at;
  Size distance = {};  // in iterations of the loop; empty: 1
  int level = 1;       // of the cache
  // A loop outside, whose iterations the distance counts; empty: the loop itself.
  std::string along = {};
};
struct ComputeWith {
  std::string statement, with;
  std::string through;
};  // merge in Halide's words
struct StoreNonTemporal {
  std::string tensor;
};  // past the caches
// tensorize S: i with NAME: the nest of i is one instruction of the catalogue.
struct Tensorize {
  LoopName loop;
  std::string intrinsic;
};
// pad X: u to 16: the copy into X fills along u up to a multiple, with zeros where there
// is no element.
struct Pad {
  std::string tensor;
  std::string dimension;
  Size multiple;
};

struct Directive;
// `{ order ..; place ..; merge ..; parallel .. }`: a nest written as classic directives, applied
// and proved as one (the states between them may be illegal). What expand_to_directives makes
// of a Nest.
struct Transaction {
  std::vector<Directive> steps;
};

// One script for sizes that satisfy the condition, another for the rest.
struct Specialize {
  Size condition;
  std::vector<Directive> then, otherwise;
};

// Every directive there is. The fuzzer's coverage lists their words in this
// order (driver/judge/fuzz/coverage.cc).
using AnyOperation =
    std::variant<SetParam, Where, Let, Split, Tile, Reorder, Order, Fuse, Merge, Distribute, Map,
                 Remap, Skew, Shift, Reverse, Rename, AffineMap, Interchange, Wavefront,
                 UnrollAndJam, Cut, Peel, Unroll, Vectorize, Parallel, Bind, ComputeInline,
                 InlineAll, Rfactor, SplitReduction, Reassociate, Online, Atomic, Specialize,
                 ComputeAt, ComputeRoot, StoreAt, ReverseComputeAt, Place, Nest, Stage, FoldStorage,
                 BoundStorage, StorageAlign, HoistStorage, Reuse, SetScope, TransformLayout,
                 DoubleBuffer, ComputeWith, Prefetch, StoreNonTemporal, Pad, SetTail, Tensorize,
                 Transaction, Reciprocal, Swizzle, DeferDivision, View, Precompute, DeviceTile>;
// What one directive says.
struct Operation : AnyOperation {
  using AnyOperation::AnyOperation;
  POLYTE_OUT_OF_LINE(Operation);
};

}  // namespace polyte::schedule
