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
// the only one (elsewhere; ambiguity is an error that lists the candidates). unroll, vectorize and parallel take
// selectors too: `all` for the statement, a pattern (`*.i`, `*`), `innermost` or `outermost` for the loop.
struct LoopName {
  std::string statement;  // empty: bare
  std::string loop;
};
struct SetParam {
  std::string name;
  Size value;                     // "?": a hole, filled by name before the script is used
  std::vector<Size> domain = {};  // `in {8, 12, 14}`; empty: any
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
  enum class Form { Stage, CacheRead, CacheWrite, Pack };  // how it was written
  Form form = Form::Stage;
  std::string tensor;
  std::optional<LoopName> at;  // none: the whole kernel
  std::optional<Memory> memory;
  std::vector<std::string> names;   // of the tensor's dimensions, for `layout`
  std::vector<std::string> layout;  // affine index texts over names; empty: as the tensor
  Size pad;                         // elements added to the innermost extent's stride; empty: 0
  bool when_compile = false;
  NestTree copy;  // loops of the copy statements (leaf X.in or X.out); null: the default
};

}  // namespace polyte::schedule
