// The directives of the Script language, one type each; docs/script-text.md says what each line means.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schedule/language/state.h"

namespace polyte::schedule {

// An integer expression of the script's language, kept as written: `2*L`, `(Mr + 1) * Nr/L`, `384`.
struct Size {
  std::string text;
};

// A path of loops with their kinds, `par n.o > [m.i] > <n.i>`, or braces of paths; leaves are statements.
struct NestNode;
using NestTree = std::shared_ptr<const NestNode>;
struct NestLoop {
  std::string name;
  LoopKind kind = LoopKind::Serial;
  NestTree body;
};
struct NestSequence {
  std::vector<NestTree> children;
};
struct NestNode {
  std::variant<NestLoop, NestSequence, Leaf> op;
};

// One type a primitive. A loop is named `stmt:loop` or bare: every statement that owns such a loop (split), or
// the only one (elsewhere; ambiguity is an error that lists the candidates).
struct LoopName {
  std::string statement;  // empty: bare
  std::string loop;
};
struct SetParam {
  std::string name;
  Size value;
};
struct Where {
  Size condition;
};
struct Let {
  std::string name;
  std::string text;
};  // a size or a fragment of a path
struct Split {
  LoopName loop;
  Size factor;
  bool into = false;
  Size from;
  Tail tail = Tail::Guard;
};
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
  std::vector<std::string> statements;
  std::string through;
};  // loop fusion down to this loop
struct Distribute {
  LoopName loop;
};  // one loop a child of its sequence
struct Unroll {
  LoopName loop;
};
struct Vectorize {
  LoopName loop;
};
struct Parallel {
  LoopName loop;
};
struct ComputeInline {
  std::string tensor;
};
struct ComputeAt {
  std::string producer;
  LoopName at;
  std::string per = {};  // sliding window: nothing twice since this loop began, or "root"; empty: all anew
};
struct ComputeRoot {
  std::string tensor;
};  // all of it, before the nests that read it
// Gives what is computed at an inner loop storage at this one ("root": the whole kernel) and lets it slide.
struct StoreAt {
  std::string tensor;
  LoopName at;
  std::optional<Memory> memory = {};
};
// Puts a statement into the nest of its producers, in the first or last iteration of loops it does not own.
struct ReverseComputeAt {
  std::string consumer;
  LoopName at;
  std::vector<When> when;
};
struct Place {
  std::string statement;
  std::vector<When> when;
};
struct Nest {
  std::string name;
  NestTree tree;
};
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
  NestTree copy;  // loops of the copy statements (leaf X.in or X.out); null: the default
};

// The storage that there is, changed in place. A dimension is named as the copies' loops are: u, or n.i of a layout.
struct FoldStorage {
  std::string tensor;
  std::string dimension;
  Size factor;
};  // elements this far apart share a place
struct BoundStorage {
  std::string tensor;
  std::string dimension;
  Size extent;
};
struct StorageAlign {
  std::string tensor;
  std::string dimension;
  Size factor, offset;  // stride of the dimension = offset modulo factor
};
struct HoistStorage {
  std::string tensor;
  LoopName at;  // or "root"
};  // allocated there; its contents still begin anew where they did
struct SetScope {
  std::string tensor;
  Memory memory = Memory::Heap;
};
struct TransformLayout {
  std::string tensor;
  std::vector<std::string> names;
  std::vector<std::string> layout;
};
struct DoubleBuffer {
  std::string tensor;
  LoopName at;
};  // the copy for the next iteration is made in this one
struct Prefetch {
  std::string tensor;
  LoopName at;
  Size distance;  // in iterations of the loop
  int level = 1;  // of the cache
};
struct ComputeWith {
  std::string statement, with;
  std::string through;
};  // merge in Halide's words
struct StoreNonTemporal {
  std::string tensor;
};  // past the caches

}  // namespace polyte::schedule
