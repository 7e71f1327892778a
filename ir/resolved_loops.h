// Loop programs with every name resolved: variables are slots of one array, buffers are numbers,
// an expression node has room for its value. Private to interpret_loops.cc and copy_loops.cc,
// which execute them.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "ir/arithmetic.h"
#include "ir/loop_program.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::ir::resolved {

using arithmetic::Scalar;

[[noreturn]] inline void fault(const std::string& problem) {
  throw UserError(ExitStatus::InvalidInput, problem);
}

struct Linear {
  std::int64_t constant = 0;
  std::vector<std::pair<int, std::int64_t>> symbols;  // slot, coefficient
  struct Division;
  std::vector<Division> divisions;

  std::int64_t at(const std::vector<std::int64_t>& slots) const;
};
struct Linear::Division {
  Linear numerator;
  std::int64_t denominator, coefficient;
};

inline std::int64_t Linear::at(const std::vector<std::int64_t>& slots) const {
  std::int64_t value = constant;
  for (const auto& [slot, coefficient] : symbols)
    value += coefficient * slots[static_cast<std::size_t>(slot)];
  for (const Division& d : divisions)
    value += d.coefficient * polyte::floor_div(d.numerator.at(slots), d.denominator);
  return value;
}

struct Test {
  Linear value;
  bool equality;
  bool holds(const std::vector<std::int64_t>& slots) const {
    const std::int64_t v = value.at(slots);
    return equality ? v == 0 : v >= 0;
  }
};

struct Node;  // of an expression

struct Subscript {
  Linear affine;
  std::vector<Node> indirect;  // none or one
};

// Subscripts of lane 0, and the step of each from lane to lane.
struct ResolvedAccess {
  int buffer = 0;
  std::vector<Subscript> subscripts;
  int lanes = 1;
  std::vector<std::int64_t> strides;
  std::optional<Linear> active, skipped;
};

// An expression node with room for its value: evaluating fills `value`, one Scalar per lane.
struct Node {
  const ExprNode* source = nullptr;
  std::vector<Node> operands;
  Linear index;  // IndexValue, LaneRead
  std::int64_t stride = 0;
  ResolvedAccess access;  // Load
  std::vector<Test> guard;
  std::vector<Scalar> value;
};

struct Step;
using Steps = std::vector<Step>;

// One statement; `kind` follows StmtNode's alternatives.
struct Step {
  enum Kind { DoStore, DoFor, DoIf, DoAlloc, DoNothing } kind = DoNothing;
  Steps body;
  ResolvedAccess access;  // DoStore
  bool atomic = false;
  bool may_be_undefined = false;  // DoStore: a vector of registers, whose lanes may stay unused
  std::vector<Node> value;        // DoStore: one; DoIf: none or one
  const Origin* origin = nullptr;
  int lane_slot = -1;  // of kLaneNumber, where the instance is over it
  std::vector<Linear> instance;
  std::vector<Linear> lower, upper;  // DoFor
  int slot = 0;
  bool races = false;
  LoopKind loop_kind = LoopKind::Serial;
  // DoAlloc: registers of a block, each of which belongs to one of its threads.
  bool of_threads = false;
  bool of_each_thread = false;  // DoAlloc: every thread has its own
  bool of_lanes = false;        // DoAlloc: of a warp: the unit that owns elements, or has its own
  std::vector<Test> tests;      // DoIf
  int buffer = 0;               // DoAlloc
};

// --- buffers and their shadows -------------------------------------------------------------------

// Which run of a race loop, and which of its iterations.
struct Level {
  std::int64_t execution = 0, iteration = 0;
};
struct CellRecord {
  Level read, write, atomic;
};

// Never written; written; a copy of something that was never written.
enum class Content : char { None, Value, UndefinedCopy };

struct Cells {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> noted;  // the shape that events name elements in; empty: `shape`
  std::int64_t size = 0;
  std::byte* bytes = nullptr;
  std::vector<std::byte> own;       // of allocations
  std::vector<Content> contents;    // empty: everything has a value
  std::size_t first_level = 0;      // race loops outside the allocation do not matter
  std::vector<CellRecord> records;  // size * levels, once a race loop has touched it
  // One for each thread (warp) of a block, `size` elements apart, or one.
  std::int64_t copies = 1;
  // How many threads share a copy, or own an element together: kLanes for registers of warps.
  std::int64_t unit = 1;
  // Of registers of a block: the unit that an element belongs to, -1: none yet.
  std::vector<std::int64_t> owners;
};

// --- resolving -----------------------------------------------------------------------------------

class Resolver {
 public:
  std::vector<Cells> buffers;
  std::unordered_map<std::string, int> symbols, buffer_of;
  std::size_t race_depth = 0;  // deepest nesting of race loops
  std::set<std::string> registers = {};
  bool check_races = true;
  bool in_block = false;  // of a GPU

  int slot(const std::string& name) {
    return symbols.emplace(name, static_cast<int>(symbols.size())).first->second;
  }

  int add_buffer(const std::string& name, DType dtype, std::vector<std::int64_t> shape) {
    Cells cells;
    cells.name = name;
    cells.dtype = dtype;
    cells.size = checked_product(shape);
    cells.shape = std::move(shape);
    buffers.push_back(std::move(cells));
    return buffer_of[name] = static_cast<int>(buffers.size()) - 1;
  }

  Linear linear(const Affine& e) {
    Linear result;
    result.constant = e.constant();
    for (const Term& term : e.terms()) {
      if (term.atom.div) {
        result.divisions.push_back(
            {linear(term.atom.div->numerator), term.atom.div->denominator, term.coefficient});
      } else {
        const auto known = symbols.find(term.atom.symbol);
        if (known == symbols.end())
          fault("'" + term.atom.symbol + "' is not bound where it is used");
        result.symbols.emplace_back(known->second, term.coefficient);
      }
    }
    return result;
  }

  std::vector<Linear> linears(const std::vector<Affine>& values) {
    std::vector<Linear> result;
    for (const Affine& value : values) result.push_back(linear(value));
    return result;
  }

  std::vector<Test> tests(const std::vector<Constraint>& constraints) {
    std::vector<Test> result;
    for (const Constraint& c : constraints) result.push_back({linear(c.expr), c.equality});
    return result;
  }

  ResolvedAccess access(const std::string& buffer, const std::vector<Index>& indices,
                        const Lanes& lanes) {
    ResolvedAccess result;
    const auto known = buffer_of.find(buffer);
    if (known == buffer_of.end()) fault("buffer '" + buffer + "' does not exist where it is used");
    result.buffer = known->second;
    const std::size_t rank = buffers[static_cast<std::size_t>(known->second)].shape.size();
    // One subscript: Flat form, a position in row-major order.
    if (indices.size() != rank && indices.size() != 1)
      fault("buffer '" + buffer + "': " + std::to_string(indices.size()) +
            " subscripts, expected " + std::to_string(rank));
    for (const Index& index : indices) {
      Subscript subscript{linear(index.affine), {}};
      if (index.indirect) subscript.indirect.push_back(expr(index.indirect));
      result.subscripts.push_back(std::move(subscript));
    }
    result.lanes = lanes.count;
    result.strides = lanes.strides;
    result.strides.resize(indices.size(), 0);
    if (lanes.active) result.active = linear(*lanes.active);
    if (lanes.skipped) result.skipped = linear(*lanes.skipped);
    return result;
  }

  Node expr(const Expr& e) {
    Node node;
    node.source = e.get();
    node.value.resize(static_cast<std::size_t>(e->lanes));
    std::visit([&](const auto& op) { fill(node, op); }, e->op);
    return node;
  }

  Steps steps(const Stmt& s, std::size_t depth) {
    Steps result;
    if (const auto* block = std::get_if<Block>(&s->op)) {
      for (const Stmt& child : block->body)
        for (Step& step : steps(child, depth)) result.push_back(std::move(step));
      return result;
    }
    // An instruction is executed as the nest that says what it computes. Fences, barriers and
    // prefetches change no value, and are left out.
    if (const auto* tensorized = std::get_if<Tensorized>(&s->op))
      return steps(tensorized->body, depth);
    Step step;
    if (const auto* store = std::get_if<Store>(&s->op)) fill(step, *store);
    if (const auto* loop = std::get_if<For>(&s->op)) fill(step, *loop, depth);
    if (const auto* branch = std::get_if<If>(&s->op)) fill(step, *branch, depth);
    if (const auto* alloc = std::get_if<Alloc>(&s->op)) fill(step, *alloc, depth);
    if (step.kind != Step::DoNothing) result.push_back(std::move(step));
    return result;
  }

 private:
  void fill(Node& node, const Literal& o) {
    node.value[0] = is_float(node.source->type) ? arithmetic::of_real(o.real)
                                                : arithmetic::of_integer(o.integer);
  }
  void fill(Node& node, const IndexValue& o) {
    node.index = linear(o.value);
    node.stride = o.lanes.strides.empty() ? 0 : o.lanes.strides[0];
  }
  void fill(Node& node, const Load& o) {
    node.access = access(o.buffer, o.indices, o.lanes);
    node.guard = tests(o.guard);
    if (o.otherwise) node.operands.push_back(expr(o.otherwise));
  }
  void fill(Node& node, const Unary& o) { node.operands.push_back(expr(o.a)); }
  void fill(Node& node, const Binary& o) {
    for (const Expr& operand : {o.a, o.b}) node.operands.push_back(expr(operand));
  }
  void fill(Node& node, const Fma& o) {
    for (const Expr& operand : {o.a, o.b, o.c}) node.operands.push_back(expr(operand));
  }
  void fill(Node& node, const Select& o) {
    for (const Expr& operand : {o.condition, o.a, o.b}) node.operands.push_back(expr(operand));
  }
  void fill(Node& node, const Cast& o) { node.operands.push_back(expr(o.a)); }
  void fill(Node& node, const Broadcast& o) { node.operands.push_back(expr(o.a)); }
  void fill(Node& node, const LaneRead& o) {
    node.operands.push_back(expr(o.load));
    node.index = linear(o.lane);
  }

  void fill(Step& step, const Store& store) {
    step.kind = Step::DoStore;
    step.access = access(store.buffer, store.indices, store.lanes);
    step.value.push_back(expr(store.value));
    step.atomic = store.atomic;
    step.may_be_undefined = store.lanes.count > 1 && registers.contains(store.buffer);
    step.origin = &store.origin;
    if (is_uneven(store.origin)) step.lane_slot = slot(kLaneNumber);
    step.instance = linears(store.origin.instance);
  }
  void fill(Step& step, const For& loop, std::size_t depth) {
    step.kind = Step::DoFor;
    step.lower = linears(loop.lower);
    step.upper = linears(loop.upper);
    step.races = check_races && is_concurrent(loop.kind);
    step.loop_kind = loop.kind;
    // Iterations of this loop run at once, so accesses to one element from two of them are
    // recorded per level.
    if (step.races) race_depth = std::max(race_depth, ++depth);
    step.slot = slot(loop.var);
    const bool outside = std::exchange(in_block, in_block || loop.kind == LoopKind::Block);
    step.body = steps(loop.body, depth);
    in_block = outside;
  }
  void fill(Step& step, const If& branch, std::size_t depth) {
    step.kind = Step::DoIf;
    step.tests = tests(branch.conditions);
    if (branch.condition) step.value.push_back(expr(branch.condition));
    step.body = steps(branch.body, depth);
  }
  void fill(Step& step, const Alloc& alloc, std::size_t depth) {
    step.kind = Step::DoAlloc;
    step.of_each_thread = alloc.buffer.of_each_thread;
    step.of_lanes = alloc.buffer.of_lanes;
    step.of_threads = in_block && !step.of_each_thread && alloc.buffer.memory == Memory::Register;
    step.buffer = add_buffer(alloc.buffer.name, alloc.buffer.dtype, alloc.buffer.shape);
    if (alloc.buffer.memory == Memory::Register) registers.insert(alloc.buffer.name);
    step.body = steps(alloc.body, depth);
  }
};

}  // namespace polyte::ir::resolved
