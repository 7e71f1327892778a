// LoopProgram: the loops. A tree of statements over (at first multi-dimensional, later linear)
// buffers; what `lower` makes from a scheduled State and hands to `codegen`. Immutable and shared;
// variables are unique names.
//
// Forms, each a predicate of verify():
//   Nest    multi-dimensional accesses, all loop kinds
//   Native  no Vector or Unrolled loops left: vector accesses carry their lanes, copies stand
//           side by side
//   Flat    Native, and every access has one linear subscript
// A loop runs var from max(lower) to min(upper) - 1 in steps of 1, and not at all if that is empty.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/program.h"

namespace polyte::ir {

// The last four are a GPU's: the blocks of a launch, the threads of a block, or these as warps
// and their lanes. A loop of threads is a region: its iteration i runs on thread i, and what comes
// after the loop runs when all have ended.
enum class LoopKind { Serial, Parallel, Vector, Unrolled, Block, Thread, Warp, Lane };
// Every kind, in order.
inline constexpr LoopKind kLoopKinds[] = {LoopKind::Serial,   LoopKind::Parallel, LoopKind::Vector,
                                          LoopKind::Unrolled, LoopKind::Block,    LoopKind::Thread,
                                          LoopKind::Warp,     LoopKind::Lane};
inline constexpr std::int64_t kLanes = 32;          // of a warp
inline constexpr std::int64_t kMostThreads = 1024;  // of a block, on every GPU that there is
// Of the threads of one block.
constexpr bool is_of_threads(LoopKind kind) {
  return kind == LoopKind::Thread || kind == LoopKind::Warp || kind == LoopKind::Lane;
}
// Of a GPU: the blocks of a launch, or their threads.
constexpr bool is_of_device(LoopKind kind) {
  return kind == LoopKind::Block || is_of_threads(kind);
}
// Iterations run on threads of their own, of a CPU (Parallel) or a GPU.
constexpr bool is_threaded(LoopKind kind) {
  return kind == LoopKind::Parallel || is_of_device(kind);
}
// Iterations run at once, with no order between them: threads, or lanes of a vector. What
// concerns a CPU's threads alone, such as their scratch memory, has to ask for Parallel.
constexpr bool is_concurrent(LoopKind kind) {
  return is_threaded(kind) || kind == LoopKind::Vector;
}
// Heap: the kernel's scratch (per worker below a Parallel loop). Shared: of the threads of
// one block of a GPU.
enum class Memory { Heap, Stack, Register, Shared };
// All of them, in order.
inline constexpr Memory kMemories[] = {Memory::Heap, Memory::Stack, Memory::Register,
                                       Memory::Shared};
// Written out as code, with no loop left: a test inside is paid for once per copy.
constexpr bool is_expanded(LoopKind kind) {
  return kind == LoopKind::Unrolled || kind == LoopKind::Vector;
}
std::string to_string(LoopKind kind);  // "serial", as loop text has it
// In a sentence, "m is ...": "parallel", "a vector loop", "a loop of threads".
std::string description(LoopKind kind);
std::string to_string(Memory memory);  // "register", as loop text has it

struct StmtNode;
// Immutable, shared by all who hold it; never null in a program.
using Stmt = std::shared_ptr<const StmtNode>;

// Where a store comes from: the reference statement and its instance, for checks by execution and
// messages. Copies and fills (staging) have an empty instance.
struct Origin {
  std::string statement;
  // One per reference iterator, over loop variables; of lane 0, or over kLaneNumber too.
  std::vector<Affine> instance;
  // Change of each from lane to lane; empty: one lane, or not even.
  std::vector<std::int64_t> strides = {};
};
// Of instances that differ unevenly from lane to lane, where lanes go from row to row: the number
// of the lane. No loop is called so.
inline const std::string kLaneNumber = "_lane";
bool is_uneven(const Origin& origin);

// buffer[indices] = value, in each lane of `lanes`.
struct Store {
  std::string buffer;
  std::vector<Index> indices;  // one per dimension; one in all in Form::Flat; of lane 0
  Expr value;                  // of the buffer's element type
  Lanes lanes;                 // of the access; value->lanes == lanes.count
  Origin origin;
  // Reading the element in `value`, combining and writing it are one step for all threads.
  bool atomic = false;
  bool nontemporal = false;  // past the caches: a hint
  // The value is a load only, and a GPU copies it to shared memory in the background (cp.async): it
  // arrives later (CopyGroup).
  bool async = false;
};
// One after the other.
struct Block {
  std::vector<Stmt> body;
};
// `var` runs from max(lower) to min(upper) - 1 by 1, over variables of loops around and parameters.
struct For {
  std::string var;            // unique in the program
  std::vector<Affine> lower;  // maximum of these; never empty
  std::vector<Affine> upper;  // minimum of these, exclusive; never empty
  LoopKind kind = LoopKind::Serial;
  // The schedule's name of the loop, "n.o": one schedule loop may give several For.
  std::string loop;
  Stmt body;
  // Of an expanded loop: its tail stays behind masks or guards, no copy is made for it.
  bool uncut = false;
};
struct If {  // a conjunction, and/or a run-time condition
  std::vector<Constraint> conditions;
  Expr condition;  // null: none
  Stmt body;
};
// Where the elements of a buffer in shared memory lie: the one whose linear place is p at
//   p ^ (p / period % (line / chunk)) * chunk       line: as many elements as 128 bytes hold
// so that chunks trade places within their line, depending on the number of the row or rows that
// they are in. It is a permutation, since the bits that select the exchange stay as they are.
// All three are powers of two, chunk < line <= period. Code that computes with subscripts need
// not know of it; code that makes addresses has to.
struct Swizzle {
  std::int64_t chunk = 0, period = 0;       // in elements; 0: none
  bool none() const { return chunk == 0; }  // every element where its linear place says
  friend bool operator==(const Swizzle&, const Swizzle&) = default;
};
inline constexpr std::int64_t kSharedLine = 128;  // bytes: a word of each bank
// The place, in elements, of the element whose linear place is `linear`.
std::int64_t place_of(const Swizzle& swizzle, std::int64_t element_bytes, std::int64_t linear);

// A buffer that the loops allocate: dense and row-major, but for its swizzle.
struct LoopBuffer {
  std::string name;  // unique in the program
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;  // extents in elements, outermost first
  Memory memory = Memory::Heap;
  // Every thread of a block has it for itself: registers outside loops of threads.
  bool of_each_thread = false;
  // Registers of a warp: the last dimension, of 32, says which lane has the element. All lanes
  // reach all of it only through instructions of the whole warp. With of_each_thread: each warp of
  // the block has it for itself.
  bool of_lanes = false;
  Swizzle swizzle = {};
};
struct Alloc {  // the buffer lives inside `body`; contents undefined at entry
  LoopBuffer buffer;
  Stmt body;
};
// Brings the cache line of an element near, to the level named (1 is the nearest). A hint: no
// effect on values, and the element need not exist.
struct Prefetch {
  std::string buffer;
  std::vector<Index> indices;  // nothing is read for them
  int level = 1;
};
// A point nest that one row of the catalogue (ir/intrinsics.h) computes. `body`, loops around
// one store, says what; analyses look at the body alone, and the code generator emits the
// instruction.
struct Tensorized {
  std::string intrinsic;
  Stmt body;
};
// A barrier for all threads of a block, or of each warp: what any of them wrote before it, all
// see after it. It is there because of a conflict: `from` touches the buffer before it and `to`
// after it, on another thread. Fenced: what threads wrote to shared memory before it is also
// visible to instructions that read it without the thread's own loads (scope Warpgroup).
struct Barrier {
  bool of_warp = false;
  std::string from, to, buffer;
  bool fenced = false;
};
// Groups of asynchronous copies (Store::async), per thread: a commit makes a group of the copies
// that the thread has begun since its last commit; a wait lasts until at most `pending` of its
// latest groups are under way (cp.async.commit_group, cp.async.wait_group).
struct CopyGroup {
  bool wait = false;  // else commit
  int pending = 0;
};
// Asynchronous products of tensor cores (scope Warpgroup; wgmma), per warp. From Open on they
// may take over its registers; Commit makes a group of the products begun since then; Wait gives
// back the registers, and the memory that was read, of all but the latest `pending` groups.
struct ProductGroup {
  enum class Step { Open, Commit, Wait } step = Step::Open;  // as said above
  int pending = 0;
};
struct Fence {};  // a compiler fence: keeps LLVM from merging loads across unrolled reduction steps

// One node of the tree.
struct StmtNode {
  std::variant<Store, Block, For, If, Alloc, Prefetch, Tensorized, Fence, Barrier, CopyGroup,
               ProductGroup>
      op;
};

// A kernel as loops. A value: `body` is shared and never changes.
struct LoopProgram {
  std::string name;                 // of the Program that it computes
  std::vector<std::string> params;  // sizes that are known at run time only, in elements
  std::vector<Buffer> buffers;      // the interface, in the Program's order; shapes may use params
  Stmt body;
};

// Nodes. They check nothing: verify() does.
Stmt make_store(Store store);
// Flattens nested blocks; a single child is returned itself.
Stmt make_block(std::vector<Stmt> body);
Stmt make_for(For loop);
Stmt make_if(If branch);
Stmt make_alloc(Alloc alloc);
Stmt make_prefetch(Prefetch prefetch);
Stmt make_tensorized(Tensorized tensorized);
Stmt make_fence();
Stmt make_barrier(Barrier barrier);
Stmt make_copy_group(CopyGroup group);
Stmt make_product_group(ProductGroup group);

// Rebuilding. `rewrite_children` maps every child statement; the same node comes back
// when nothing changed.
Stmt rewrite_children(const Stmt& s, const std::function<Stmt(const Stmt&)>& f);
// Substitutes in every affine part below s (not renaming loops that bind the same name:
// names are unique).
Stmt substitute(const Stmt& s, const Bindings& bindings);
// A copy in which every loop variable and allocation below s has a fresh name: base, then
// base_1, base_2 ...
Stmt rename_bound(const Stmt& s, const std::function<std::string(const std::string&)>& fresh);
void for_each_stmt(const Stmt& s, const std::function<void(const Stmt&)>& visit);  // pre-order
// The outermost expressions of every statement, in pre-order.
void for_each_expr(const Stmt& s, const std::function<void(const Expr&)>& visit);
bool equal(const Stmt& a, const Stmt& b);

// What verify() holds the loops to, as said above.
enum class Form { Nest, Native, Flat };
// Every problem; empty if none.
std::vector<std::string> verify(const LoopProgram& program, Form form);

std::string print(const LoopProgram& program);  // loop text, which parse_loop_program reads
// The inverse of print. UserError(InvalidInput) with every problem as `origin:line: ...`.
LoopProgram parse_loop_program(std::string_view text, const std::string& origin);

}  // namespace polyte::ir
