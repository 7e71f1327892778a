#include "lower/build_loops.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/facts.h"
#include "ir/intrinsics.h"
#include "lower/leaf_instances.h"
#include "lower/loop_bounds.h"
#include "lower/names.h"
#include "lower/prefetch_loops.h"
#include "lower/simplify.h"
#include "schedule/script/primitives/tails.h"
#include "schedule/script/reuse.h"
#include "schedule/script/tensorized.h"
#include "schedule/state/fragments.h"
#include "support/error.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::Stmt;
using ir::Truth;
using schedule::Leaf;
using schedule::Loop;
using schedule::ScheduledStatement;
using schedule::State;
using schedule::Tree;

namespace {

bool is_packed_early(const State& state, const std::string& buffer) {
  return std::ranges::any_of(state.staged, [&](const schedule::StagedBuffer& b) {
    return b.name == buffer && b.at_compile_time;
  });
}

bool belongs(const State& state, const ScheduledStatement& s, Part part) {
  return is_packed_early(state, s.body.writes.front().buffer) == (part == Part::Packing);
}

using Instances = std::vector<LeafInstance*>;

// Whether the body reads or writes the buffer. Reads count: a buffer without elements is never
// written, but guarded reads of it remain and need its allocation.
bool touches(const Stmt& body, const std::string& buffer) {
  bool found = false;
  ir::for_each_stmt(body, [&](const Stmt& s) {
    const auto* store = std::get_if<ir::Store>(&s->op);
    found = found || (store && store->buffer == buffer);
    ir::for_each_expr(s, [&](const ir::Expr& e) {
      ir::for_each_node(e, [&](const ir::ExprNode& node) {
        const auto* load = std::get_if<ir::Load>(&node.op);
        found = found || (load && load->buffer == buffer);
      });
    });
  });
  return found;
}

Stmt allocate(const schedule::StagedBuffer& b, Stmt body) {
  return ir::make_alloc(
      {{b.name, b.dtype, b.shape, b.memory, false, false, b.swizzle}, std::move(body)});
}

// Loops of a tile of full extent; what cuts them short, and what guards there are, as a condition
// of the store:
//
//   for i in 0..min(16, M - 16*t)          for i in 0..16
//     for j in 0..8                    ->    for j in 0..8
//       c[..] += ..                            if i < M - 16*t   c[..] += ..
//
// An instruction of a warp always computes its whole tile. What the condition leaves out is made
// harmless by zeros (load_fragments.h).
Stmt whole_tile(const Stmt& s, const State& state, const ScheduledStatement& statement) {
  std::vector<ir::For> loops;
  std::vector<Constraint> conditions;
  Stmt at = s;
  for (;;) {
    if (const auto* loop = std::get_if<ir::For>(&at->op)) {
      const Affine var = Affine::symbol(loop->var);
      for (const Affine& low : loop->lower) conditions.push_back(ir::at_least(var, low));
      for (const Affine& high : loop->upper) conditions.push_back(ir::less_than(var, high));
      loops.push_back(*loop);
      at = loop->body;
    } else if (const auto* branch = std::get_if<ir::If>(&at->op)) {
      conditions.insert(conditions.end(), branch->conditions.begin(), branch->conditions.end());
      at = branch->body;
    } else {
      break;
    }
  }
  std::erase_if(conditions, [&](const Constraint& c) {
    return std::ranges::any_of(loops, [&](const ir::For& loop) {
      const Affine var = Affine::symbol(loop.var);
      const std::int64_t extent = schedule::tile_extent(state, statement, loop.loop).value();
      return c == ir::at_least(var, 0) || c == ir::less_than(var, extent);
    });
  });
  Stmt result = ir::make_if({std::move(conditions), nullptr, at});
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop)
    result = ir::make_for({loop->var,
                           {0},
                           {schedule::tile_extent(state, statement, loop->loop).value()},
                           ir::LoopKind::Serial,
                           loop->loop,
                           std::move(result)});
  return result;
}

class Builder {
 public:
  Builder(const State& state, Part part) : state_(state), part_(part) {
    for (const schedule::StagedBuffer& b : state.staged) allocations_.insert(names_.fresh(b.name));
    for (const Leaf* leaf : schedule::leaves_of(state.tree))
      if (belongs(state, state.at(leaf->statement), part)) add(instance_of(state, *leaf));
    assume_context();
  }

  Stmt build() {
    Instances all;
    for (LeafInstance& instance : instances_) all.push_back(&instance);
    Stmt body = node(state_.tree, 0, all);
    return body ? body : ir::make_block({});
  }

 private:
  const State& state_;
  const Part part_;
  Names loop_names_;
  Names names_;  // of the allocations in the parts of a cut loop
  std::set<std::string> allocations_;
  std::vector<LeafInstance> instances_;
  std::vector<std::string> bound_;
  ir::Facts facts_;

  // The outermost projection holds constraints without loops. A negative constant among them says
  // that the statement has no instance (an extent is 0): it leaves no loops, and may have no
  // bounds.
  void add(LeafInstance instance) {
    for (const Affine& e : instance.projections.front())
      if (e.is_constant() && e.constant() < 0) return;
    instances_.push_back(std::move(instance));
  }

  void assume_context() {
    for (const Constraint& c : state_.basis->context) facts_.assume(c);
    for (const ir::Buffer& b : state_.basis->buffers)
      for (const Affine& extent : b.shape) facts_.assume({extent, false});
  }

  // --- the tree; null where none of its statements belongs here

  // What all leaves below require, and what is decided here, becomes a guard around the node: as
  // far out as its variables allow, and no test inside that could be made outside.
  Stmt node(const Tree& tree, std::size_t depth, const Instances& among) {
    const Instances below = instances_below(tree, among);
    if (below.empty()) return nullptr;
    const ir::Facts::Scope scope(facts_);
    std::vector<Constraint> guard;
    if (!common_guard(below, guard)) return nullptr;
    Stmt body = std::visit([&](const auto& op) { return build_node(op, depth, below); }, tree->op);
    return body ? ir::make_if({std::move(guard), nullptr, std::move(body)}) : nullptr;
  }

  static Instances instances_below(const Tree& tree, const Instances& among) {
    Instances below;
    for (const Leaf* leaf : schedule::leaves_of(tree))
      for (LeafInstance* instance : among)
        if (instance->leaf == leaf) below.push_back(instance);
    return below;
  }

  Stmt build_node(const schedule::Sequence& sequence, std::size_t depth, const Instances& below) {
    std::vector<Stmt> children;
    for (const Tree& child : sequence.children)
      if (Stmt s = node(child, depth, below)) children.push_back(std::move(s));
    return children.empty() ? nullptr : ir::make_block(std::move(children));
  }

  // Each part of a cut loop is built anew from the same tree, as bounds and guards differ from part
  // to part. `required` shrinks as guards are placed, so each part starts from a copy of it.
  Stmt build_node(const Loop& loop, std::size_t depth, const Instances& below) {
    const std::vector<LoopBounds> parts =
        cut_bounds(loop, union_bounds(state_, facts_, loop, depth, below), below);
    if (parts.size() == 1) return build_part(loop, parts.front(), depth, below);
    std::vector<std::vector<Constraint>> required;  // each part decides them for itself
    for (const LeafInstance* instance : below) required.push_back(instance->required);
    std::vector<Stmt> built;
    for (const LoopBounds& part : parts) {
      for (std::size_t i = 0; i < below.size(); ++i) below[i]->required = required[i];
      Stmt s = build_part(loop, part, depth, below);
      if (!s) continue;
      if (!built.empty())
        s = ir::rename_bound(s, [&](const std::string& name) { return another(name); });
      built.push_back(std::move(s));
    }
    return built.empty() ? nullptr : ir::make_block(std::move(built));
  }

  // The parts of a loop that is cut, in ascending order; some may be empty.
  std::vector<LoopBounds> cut_bounds(const Loop& loop, const LoopBounds& whole,
                                     const Instances& below) const {
    std::vector<LoopBounds> parts = {whole};
    std::vector<Affine> done;
    for (const LeafInstance* instance : below) {
      const schedule::LoopRow* row = schedule::row_of(*instance->statement, loop.name);
      for (const Affine& at : row ? row->cuts : std::vector<Affine>{}) {
        if (std::ranges::find(done, at) != done.end()) continue;
        done.push_back(at);
        parts = cut_at(parts, at);
      }
    }
    return parts;
  }

  std::vector<LoopBounds> cut_at(const std::vector<LoopBounds>& parts, const Affine& at) const {
    std::vector<LoopBounds> finer;
    for (const LoopBounds& part : parts) {
      LoopBounds low = part, high = part;
      low.upper.push_back(at);
      high.lower.push_back(at);
      finer.push_back({part.lower, facts_.prune_upper(low.upper)});
      finer.push_back({facts_.prune_lower(high.lower), part.upper});
    }
    return finer;
  }

  // Loops are told apart at the end (Uniquify); one allocation in several parts is several.
  std::string another(const std::string& name) {
    return allocations_.contains(name) ? *allocations_.insert(names_.fresh(name)).first : name;
  }

  Stmt build_part(const Loop& loop, const LoopBounds& bounds, std::size_t depth,
                  const Instances& below) {
    // Several loops may have the schedule's name; this one gets another variable. Inside, facts and
    // bounds still speak of the schedule's name, which is replaced once the body is built.
    const std::string var = loop_names_.fresh(loop.name);
    std::optional<ir::Facts::Scope> inside(facts_);
    facts_.bind(loop.name, bounds.lower, bounds.upper);
    bound_.push_back(loop.name);
    Stmt body = node(loop.body, depth + 1, below);
    bound_.pop_back();
    if (!body) return nullptr;
    body = with_prefetches(loop, std::move(body));
    for (const schedule::StagedBuffer& b : state_.staged)
      if (b.allocated_at() == loop.id && touches(body, b.name)) body = allocate(b, std::move(body));
    if (var != loop.name) body = ir::substitute(body, {{loop.name, Affine::symbol(var)}});
    const auto tail = schedule::tail_of(state_, loop);
    const bool uncut = ir::is_expanded(loop.kind) && tail && tail != schedule::Tail::Cut;
    Stmt built = ir::make_for(
        {var, bounds.lower, bounds.upper, loop.kind, loop.name, std::move(body), uncut});
    inside.reset();
    for (const schedule::TensorizedLoop& tensorized : state_.tensorized)
      if (tensorized.loop == loop.id) {  // its extents are numbers once what is outside counts
        const ir::Intrinsic* row = ir::find_intrinsic(tensorized.intrinsic);
        if (row && schedule::may_be_cut(*row))
          built = whole_tile(built, state_, *below.front()->statement);
        return simplify(ir::make_tensorized({tensorized.intrinsic, built}), facts_);
      }
    return built;
  }

  // The hints of a loop, at the head of its body.
  Stmt with_prefetches(const Loop& loop, Stmt body) const {
    if (part_ == Part::Packing) return body;
    std::vector<Stmt> all;
    for (const schedule::PrefetchHint& hint : state_.prefetches)
      if (hint.loop == loop.id && touches(body, hint.buffer))
        if (Stmt ahead = prefetch_loops(state_, hint)) all.push_back(std::move(ahead));
    if (all.empty()) return body;
    all.push_back(std::move(body));
    return ir::make_block(std::move(all));
  }

  Stmt build_node(const Leaf&, std::size_t, const Instances& below) {
    const LeafInstance& instance = *below.front();
    POLYTE_CHECK(instance.required.empty(),
                 "statement '" + instance.statement->body.name + "' lost a guard");
    return stores(*instance.statement);
  }

  // --- guards

  bool is_bound(const Constraint& c) const {
    std::set<std::string> names;
    c.expr.collect_symbols(names);
    const std::vector<std::string>& params = state_.basis->params;
    return std::ranges::all_of(names, [&](const std::string& name) {
      return std::ranges::find(bound_, name) != bound_.end() ||
             std::ranges::find(params, name) != params.end();
    });
  }

  // Takes from each instance what all of them require and the variables bound here decide. Proven
  // ones vanish, the others make the guard. False: no instance can run here. Each guard is a fact
  // for those that follow, and for everything inside.
  bool common_guard(const Instances& below, std::vector<Constraint>& guard) {
    for (LeafInstance* instance : below)
      std::erase_if(instance->required, [&](const Constraint& c) {
        return is_bound(c) && facts_.truth(c) == Truth::True;
      });
    const std::vector<Constraint> candidates = below.front()->required;
    for (const Constraint& c : candidates) {
      if (!is_bound(c) || !required_by_all(below, c)) continue;
      for (LeafInstance* instance : below) std::erase(instance->required, c);
      const Truth truth = facts_.truth(c);
      if (truth == Truth::False) return false;
      if (truth == Truth::True) continue;
      facts_.assume(c);
      guard.push_back(c);
    }
    return true;
  }

  static bool required_by_all(const Instances& below, const Constraint& c) {
    return std::ranges::all_of(below, [&](const LeafInstance* instance) {
      return std::ranges::find(instance->required, c) != instance->required.end();
    });
  }

  // --- leaves

  Stmt stores(const ScheduledStatement& s) {
    std::vector<ir::Expr> current;
    for (const ir::Access& write : s.body.writes)
      current.push_back(ir::make_load(state_.dtype_of(write.buffer), write.buffer, write.indices));
    const std::vector<ir::Expr> values = ir::combined_values(s.body, current);
    std::vector<Stmt> body;
    // The position of an ArgMin or ArgMax first: it reads the value that is stored after it.
    for (std::size_t i = s.body.writes.size(); i-- > 0;)
      body.push_back(store(s, s.body.writes[i], values[i]));
    const ir::Expr condition = s.body.guard ? ir::substitute(s.body.guard, s.inverse) : nullptr;
    return ir::make_if({{}, condition, ir::make_block(std::move(body))});
  }

  Stmt store(const ScheduledStatement& s, const ir::Access& write, const ir::Expr& value) {
    ir::Store result{write.buffer, write.indices,     ir::substitute(value, s.inverse),
                     {},           {s.reference, {}}, s.atomic};
    result.nontemporal = state_.nontemporal.count(write.buffer) > 0;
    for (ir::Index& index : result.indices) {
      index.affine = ir::substitute(index.affine, s.inverse);
      if (index.indirect) index.indirect = ir::substitute(index.indirect, s.inverse);
    }
    for (const Affine& value_of : s.phi)
      result.origin.instance.push_back(ir::substitute(value_of, s.inverse));
    return ir::make_store(std::move(result));
  }
};

// Loops have names of their own by now; what a buffer or a parameter is called gets another.
Stmt with_free_names(const Stmt& s, Names& names) {
  const auto* loop = std::get_if<ir::For>(&s->op);
  if (!loop)
    return ir::rewrite_children(s,
                                [&](const Stmt& child) { return with_free_names(child, names); });
  ir::For copy = *loop;
  copy.var = names.fresh(loop->var);
  if (copy.var != loop->var)
    copy.body = ir::substitute(copy.body, {{loop->var, Affine::symbol(copy.var)}});
  copy.body = with_free_names(copy.body, names);
  return ir::make_for(std::move(copy));
}

ir::Buffer packed_buffer(const schedule::StagedBuffer& b, ir::Role role) {
  return {b.name, role, b.dtype, {b.shape.begin(), b.shape.end()}};
}

std::vector<ir::Buffer> interface_of(const State& state, Part part) {
  std::vector<ir::Buffer> buffers;
  for (const ir::Buffer* b : state.reference->interface())
    if (part == Part::Kernel || b->role == ir::Role::Const)
      buffers.push_back(state.basis->buffer(b->name));  // as it is seen
  for (const schedule::StagedBuffer& b : state.staged)
    if (b.at_compile_time)
      buffers.push_back(packed_buffer(b, part == Part::Kernel ? ir::Role::Const : ir::Role::Out));
  return buffers;
}

// Constants are packed once, whatever the sizes of a call are: conditions that use a size are left
// out.
Stmt without_sizes(const Stmt& s, const std::vector<std::string>& params) {
  Stmt below =
      ir::rewrite_children(s, [&](const Stmt& child) { return without_sizes(child, params); });
  const auto* branch = std::get_if<ir::If>(&below->op);
  if (!branch) return below;
  ir::If copy = *branch;
  std::erase_if(copy.conditions, [&](const ir::Constraint& c) {
    return std::ranges::any_of(params,
                               [&](const std::string& param) { return c.expr.uses(param); });
  });
  return ir::make_if(std::move(copy));
}

}  // namespace

ir::LoopProgram build_loops(const State& scheduled, Part part) {
  const State state = schedule::as_lowered(scheduled);
  ir::LoopProgram program;
  program.name = state.reference->name;
  if (part == Part::Kernel) program.params = state.basis->params;
  program.buffers = interface_of(state, part);
  Builder builder(state, part);
  Stmt body = builder.build();
  if (part == Part::Packing) {
    body = without_sizes(body, state.basis->params);
    std::erase_if(program.buffers, [&](const ir::Buffer& b) { return !touches(body, b.name); });
  }
  for (const schedule::StagedBuffer& b : state.staged)
    if (b.allocated_at() == schedule::kKernel && !b.at_compile_time && touches(body, b.name))
      body = allocate(b, std::move(body));
  for (const ir::Buffer& b : state.basis->buffers) {
    if (b.role != ir::Role::Temp || !touches(body, b.name)) continue;
    if (std::ranges::all_of(b.shape, &Affine::is_constant))
      body = ir::make_alloc(
          {{b.name, b.dtype, ir::constant_shape(b), ir::Memory::Heap}, std::move(body)});
    else
      program.buffers.push_back(b);  // its size is the caller's business
  }
  program.body = body;
  Names names(program);  // allocations below loops are taken, too
  program.body = with_free_names(body, names);
  return program;
}

}  // namespace polyte::lower
