// State: a Program on its way to loops. {the reference Program, the current statements with their
// rows, the tree, the storage}. Every primitive is a pure function State -> State | Refusal;
// nothing else edits one.
//
// A scheduled statement S with iterators (i, j) under loops (i.o, j, i.i):
//   rows         i.o = i // 4,  j = j,  i.i = i % 4     loop value, over the iterators
//   inverse      i = 4*i.o + i.i,  j = j                iterator, over the loops
//   loop_domain  0 <= i.i < 4                           what the rows imply for the loops alone
// Loops that S does not own but is placed in (`when first k.o`) have a row too, constant over the
// instances of a tile, and an equality in loop_domain. Rows are over the statement's own iterators
// and parameters only.
//
// What later stages may trust: `reference`, `phi`, `kind`, the rewritten accesses and the buffers'
// scopes; the end-to-end proof (schedule/proof) trusts nothing else.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/loop_program.h"
#include "schedule/state/tree.h"
#include "support/machine.h"
#include "support/out_of_line.h"

namespace polyte::schedule {

enum class StatementKind {
  Plain,   // a definition
  Init,    // first write of a reduction's cells
  Update,  // write op= value
  // Moves one element bit for bit (a guarded read moves the guard's value outside): has no phi.
  Copy
};

// What a split does with a last, incomplete tile: tests each point, masks lanes, makes loops of its
// own; runs all of it into padding; moves it inwards, over points of the tile before.
enum class Tail { Guard, Mask, Cut, Round, Shift };

// A loop above the statement's leaf, with the tail and the cuts that it has for this statement.
// A primitive that keeps a row keeps all of it; a loop of another nest with the same name has
// its own.
struct LoopRow {
  std::string loop;               // its name
  ir::Affine value;               // over the statement's iterators and the parameters
  std::optional<Tail> tail = {};  // of its last tile, where a split has made the loop
  // The values at which `cut` begins another part of the loop, over the loops outside and
  // parameters.
  std::vector<ir::Affine> cuts = {};
};

// A loop that a statement no longer has, for messages.
struct LostLoop {
  std::string loop;
  std::string fate;  // "became ij", "was split into k.o and k.i"
};

struct ScheduledStatement {
  POLYTE_OUT_OF_LINE(ScheduledStatement);

  // With rewritten accesses; for lifted and copy statements the first iterators are the prefix,
  // named as the loops above the site.
  ir::Statement body;
  StatementKind kind = StatementKind::Plain;
  std::string reference;  // statement of the reference Program; empty for copies
  // One per reference iterator, over body.iterators; not injective = recompute.
  std::vector<ir::Affine> phi;
  std::vector<LoopRow> rows;  // one for every loop above the leaf, outermost first
  ir::Bindings inverse;       // every iterator, over loop names
  // Over loop names.
  std::vector<ir::Constraint> loop_domain;
  bool atomic = false;  // its conflicts with itself are atomic
  // How many leading iterators are the prefix of a lifted or copy statement.
  int lifted = 0;
  bool padded = false;        // it runs beyond the reference's instances, into padding
  ir::Bindings counted = {};  // iterators over the loops that the last map made; empty: none did
  ir::Bindings mapped = {};   // and these loops over iterators
  // In the order in which they disappeared.
  std::vector<LostLoop> lost = {};
};

// Storage that is not the reference's own: staged copies, promoted accumulators, padded
// or packed layouts.
struct StagedBuffer {
  std::string name;  // "acc.r", "w.p"
  std::string of;    // the reference buffer whose elements it holds
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  Memory memory = Memory::Heap;
  LoopId scope_loop = kKernel;  // whose iterations each have their own contents
  // A Const packed before run time: its copy statement leaves the kernel.
  bool at_compile_time = false;
  std::vector<std::string> dimensions = {};  // their names, as those of the copies' loops
  LoopId alloc_loop = kAtScope;              // in whose body it is allocated
  ir::Swizzle swizzle = {};                  // where its elements lie, once it is lowered

  static constexpr LoopId kAtScope{-2};
  LoopId allocated_at() const { return alloc_loop == kAtScope ? scope_loop : alloc_loop; }
};

// A hint: in every iteration of the loop, bring what it touches of the buffer `distance` iterations
// of `along` later.
struct PrefetchHint {
  std::string buffer;
  LoopId loop = kKernel;
  LoopId along = kKernel;  // the same loop or one outside it
  std::int64_t distance = 0;
  int level = 1;
};

// A loop that, with all below it, is one instruction of the catalogue (ir/intrinsics.h).
struct TensorizedLoop {
  LoopId loop = kKernel;
  std::string name;  // as the directive had it, "acc.update:n.i"
  std::string intrinsic;
};

enum class Contract { Exact, Reassoc, Unsafe };

// One rewrite of the Program: `after` computes what the Program before it computes. The proof
// checks every step from the two Programs alone (schedule/proof/rewrites.cc); the words here say
// which argument to look for.
struct Rewrite {
  enum class Kind {
    Inline,      // reads of `tensor` replaced by its definition
    Factor,      // the reduction of `tensor` by the statement `update` in parts: `other` holds them
    Online,      // sums of exponentials along with the maximum `tensor`; `sums` are named
    Reciprocal,  // the statement `tensor` multiplies by 1 / b where it divided by b
    Deferred,    // the sum `tensor` is `other`, divided once, where each of its terms was
    View,        // `tensor` is seen with other dimensions, element for element
    Precompute   // values of a statement computed before it, in `tensor`: the inverse of Inline
  };
  Kind kind = Kind::Inline;
  std::string tensor;
  std::string other = {};
  std::string loop = {};               // over which
  std::vector<std::string> sums = {};  // of Online
  // Of Online: iterators before, over those after, by statement.
  std::map<std::string, ir::Bindings> points = {};
  std::shared_ptr<const ir::Program> after;
  std::string update = {};  // of Factor; of Deferred the quotient's definition, where it has one
};

struct State {
  POLYTE_OUT_OF_LINE(State);

  std::shared_ptr<const ir::Program> reference;  // never changes
  // The reference after all rewrites; else the same object.
  std::shared_ptr<const ir::Program> basis;
  std::vector<Rewrite> rewrites;               // from reference to basis, in order
  std::vector<ScheduledStatement> statements;  // current, in the order in which they were made
  Tree tree;
  std::vector<StagedBuffer> staged;
  std::vector<PrefetchHint> prefetches;
  std::set<std::string> nontemporal;  // buffers whose stores go past the caches
  // Temporary -> the tensor in whose memory its elements lie.
  std::map<std::string, std::string> reused = {};
  // Tensor -> the shape in which it is stored.
  std::map<std::string, std::vector<std::int64_t>> viewed = {};
  std::vector<TensorizedLoop> tensorized = {};
  Contract contract = Contract::Exact;
  std::set<std::string> reassociable;  // loops named by `reassoc`
  // The same for one tensor, by `reassociate`.
  std::map<std::string, std::set<std::string>> reassociated;
  int loops_given_out = 0;

  LoopId fresh_loop() { return LoopId{loops_given_out++}; }
  const ScheduledStatement* find(const std::string& statement) const;  // null if absent
  const ScheduledStatement& at(const std::string& statement) const;
  // True where the contract lets the updates of this reduction of the basis run in another order.
  bool may_reorder(const ir::Statement& update) const;
  // Constant shape, type and memory of a buffer of the reference or staged (InternalError
  // if absent).
  std::vector<ir::Affine> shape_of(const std::string& buffer) const;
  DType dtype_of(const std::string& buffer) const;
};

// True where the order of the updates cannot change a bit: integers, minima and maxima,
// bitwise operations.
bool is_reorderable(const ir::Statement& update);

// True where the statement is defined whatever values it reads: none of them is a subscript,
// which could leave its buffer.
bool is_total(const ir::Statement& statement);

// A statement of the Program as reference_state has it: each iterator its own loop.
ScheduledStatement scheduled_statement(const ir::Program& program, const std::string& name);
// Every statement under its own loops, in reference order: the tree that `naive` runs.
State reference_state(std::shared_ptr<const ir::Program> program);

// Reads and writes of a statement as it stands: loads in order of appearance in `values`
// (their own gather subscripts included), an Update's reads of what it writes last.
struct AccessRef {
  ir::Access access;
  bool write = false;
  std::vector<ir::Constraint> guard;  // of a guarded read
  const ir::Load* load = nullptr;     // the expression that reads; lives as long as the statement
  // An update's read of the element that it updates, which no expression states.
  bool own = false;
};
std::vector<AccessRef> accesses_of(const ScheduledStatement& statement);

// Structure of the State: every leaf has its statement and the other way round, a row for each loop
// of its path, rows and inverse agree, names are unique on a path. Every problem found.
std::vector<std::string> verify(const State& state);

}  // namespace polyte::schedule
