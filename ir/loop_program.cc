#include "ir/loop_program.h"

#include <algorithm>

#include "support/error.h"

namespace polyte::ir {

bool is_uneven(const Origin& origin) {
  return std::ranges::any_of(origin.instance,
                             [](const Affine& value) { return value.uses(kLaneNumber); });
}
namespace {

Stmt node(decltype(StmtNode::op) op) {
  return std::make_shared<const StmtNode>(StmtNode{std::move(op)});
}

// The makers keep one form: a Block has no Block as a child and never a single child, an If has a
// condition. An empty Block is the statement that does nothing.
void append_flat(std::vector<Stmt>& into, const Stmt& s) {
  const auto* block = std::get_if<Block>(&s->op);
  if (!block) {
    into.push_back(s);
    return;
  }
  for (const Stmt& child : block->body) append_flat(into, child);
}

}  // namespace

std::string to_string(LoopKind kind) {
  switch (kind) {
    case LoopKind::Serial:
      return "for";
    case LoopKind::Parallel:
      return "parallel";
    case LoopKind::Vector:
      return "vector";
    case LoopKind::Unrolled:
      return "unrolled";
    case LoopKind::Block:
      return "block";
    case LoopKind::Thread:
      return "thread";
    case LoopKind::Warp:
      return "warp";
    case LoopKind::Lane:
      return "lane";
  }
  return {};
}

std::string description(LoopKind kind) {
  switch (kind) {
    case LoopKind::Serial:
      return "serial";
    case LoopKind::Vector:
      return "a vector loop";
    case LoopKind::Parallel:
    case LoopKind::Unrolled:
      return to_string(kind);
    case LoopKind::Block:
    case LoopKind::Thread:
    case LoopKind::Warp:
    case LoopKind::Lane:
      return "a loop of " + to_string(kind) + "s";
  }
  return {};
}

std::string to_string(Memory memory) {
  switch (memory) {
    case Memory::Heap:
      return "heap";
    case Memory::Stack:
      return "stack";
    case Memory::Register:
      return "register";
    case Memory::Shared:
      return "shared";
  }
  return {};
}

// --- makers --------------------------------------------------------------------------------------

Stmt make_store(Store store) {
  POLYTE_CHECK(store.value, "store to '" + store.buffer + "' without a value");
  return node(std::move(store));
}

Stmt make_block(std::vector<Stmt> body) {
  std::vector<Stmt> flat;
  flat.reserve(body.size());
  for (const Stmt& child : body) append_flat(flat, child);
  if (flat.size() == 1) return flat.front();
  return node(Block{std::move(flat)});
}

Stmt make_for(For loop) {
  POLYTE_CHECK(!loop.lower.empty() && !loop.upper.empty(),
               "loop '" + loop.var + "' without bounds");
  POLYTE_CHECK(loop.body, "loop '" + loop.var + "' without a body");
  return node(std::move(loop));
}

Stmt make_if(If branch) {
  POLYTE_CHECK(branch.body, "a branch without a body");
  if (branch.conditions.empty() && !branch.condition) return branch.body;
  return node(std::move(branch));
}

// The XOR changes only bits between `chunk` and `line`, and is computed from bits at `period` and
// above. With line <= period these do not overlap, so that doing it twice gives back the number: it
// is a permutation, and its own inverse.
std::int64_t place_of(const Swizzle& swizzle, std::int64_t element_bytes, std::int64_t linear) {
  if (swizzle.none()) return linear;
  const std::int64_t chunks = kSharedLine / element_bytes / swizzle.chunk;
  return linear ^ (linear / swizzle.period % chunks * swizzle.chunk);
}

Stmt make_alloc(Alloc alloc) {
  POLYTE_CHECK(alloc.body, "allocation of '" + alloc.buffer.name + "' without a body");
  return node(std::move(alloc));
}

Stmt make_prefetch(Prefetch prefetch) { return node(std::move(prefetch)); }
Stmt make_tensorized(Tensorized tensorized) {
  POLYTE_CHECK(tensorized.body, "a call of '" + tensorized.intrinsic + "' without a body");
  return node(std::move(tensorized));
}
Stmt make_fence() { return node(Fence{}); }
Stmt make_barrier(Barrier barrier) { return node(std::move(barrier)); }
Stmt make_copy_group(CopyGroup group) { return node(group); }
Stmt make_product_group(ProductGroup group) { return node(group); }

// --- rebuilding ----------------------------------------------------------------------------------

namespace {

template <class Node>
// For, If, Alloc and Tensorized: nodes whose only child is `body`.
Stmt with_body(const Stmt& s, const Node& op, const std::function<Stmt(const Stmt&)>& f) {
  Stmt body = f(op.body);
  if (body == op.body) return s;
  Node copy = op;
  copy.body = std::move(body);
  return node(std::move(copy));
}

// A block that loses children is made anew by make_block(), which may leave a single statement
// of it.
Stmt map_block(const Stmt& s, const Block& block, const std::function<Stmt(const Stmt&)>& f) {
  std::vector<Stmt> body;
  body.reserve(block.body.size());
  bool changed = false;
  for (const Stmt& child : block.body) {
    body.push_back(f(child));
    changed = changed || body.back() != child;
  }
  return changed ? make_block(std::move(body)) : s;
}

}  // namespace

// Returns the node itself where nothing changed, so that passes that change little copy little, and
// `a == b` of two pointers tells callers cheaply that nothing happened.
Stmt rewrite_children(const Stmt& s, const std::function<Stmt(const Stmt&)>& f) {
  if (const auto* block = std::get_if<Block>(&s->op)) return map_block(s, *block, f);
  if (const auto* loop = std::get_if<For>(&s->op)) return with_body(s, *loop, f);
  if (const auto* branch = std::get_if<If>(&s->op)) return with_body(s, *branch, f);
  if (const auto* alloc = std::get_if<Alloc>(&s->op)) return with_body(s, *alloc, f);
  if (const auto* tensorized = std::get_if<Tensorized>(&s->op)) return with_body(s, *tensorized, f);
  return s;
}

namespace {

void substitute_in(std::vector<Affine>& values, const Bindings& bindings) {
  for (Affine& value : values) value = substitute(value, bindings);
}

void substitute_in(Lanes& lanes, const Bindings& bindings) {
  for (std::optional<Affine>* bound : {&lanes.active, &lanes.skipped})
    if (*bound) *bound = substitute(**bound, bindings);
}

void substitute_in(std::vector<Index>& indices, const Bindings& bindings) {
  for (Index& index : indices) {
    index.affine = substitute(index.affine, bindings);
    if (index.indirect) index.indirect = substitute(index.indirect, bindings);
  }
}

Stmt substitute_prefetch(Prefetch prefetch, const Bindings& bindings) {
  substitute_in(prefetch.indices, bindings);
  return node(std::move(prefetch));
}

Stmt substitute_store(Store store, const Bindings& bindings) {
  substitute_in(store.indices, bindings);
  store.value = substitute(store.value, bindings);
  substitute_in(store.lanes, bindings);
  substitute_in(store.origin.instance, bindings);
  return node(std::move(store));
}

}  // namespace

Stmt substitute(const Stmt& s, const Bindings& bindings) {
  if (bindings.empty()) return s;
  // Nodes with affine parts of their own are rebuilt here; of all others only children change.
  // The variable of a For shadows nothing, since names are unique, so bindings hold in its body
  // as they are.
  const auto below = [&](const Stmt& child) { return substitute(child, bindings); };
  if (const auto* store = std::get_if<Store>(&s->op)) return substitute_store(*store, bindings);
  if (const auto* prefetch = std::get_if<Prefetch>(&s->op))
    return substitute_prefetch(*prefetch, bindings);
  if (const auto* loop = std::get_if<For>(&s->op)) {
    For copy = *loop;
    substitute_in(copy.lower, bindings);
    substitute_in(copy.upper, bindings);
    copy.body = below(copy.body);
    return node(std::move(copy));
  }
  if (const auto* branch = std::get_if<If>(&s->op)) {
    If copy = *branch;
    for (Constraint& c : copy.conditions) c = substitute(c, bindings);
    if (copy.condition) copy.condition = substitute(copy.condition, bindings);
    copy.body = below(copy.body);
    return node(std::move(copy));
  }
  return rewrite_children(s, below);
}

namespace {

using Renames = std::map<std::string, std::string>;

Expr rename_loads(const Expr& e, const Renames& buffers) {
  if (buffers.empty()) return e;
  return rewrite(e, [&](const Expr& leaf) -> Expr {
    const auto* load = std::get_if<Load>(&leaf->op);
    const auto renamed = load ? buffers.find(load->buffer) : buffers.end();
    if (renamed == buffers.end()) return leaf;
    ExprNode copy = *leaf;
    std::get<Load>(copy.op).buffer = renamed->second;
    return std::make_shared<const ExprNode>(std::move(copy));
  });
}

// The origin stays: its statement is the Program's, and its loop variables are replaced by
// substitute(), which rename_bound() calls as well.
Stmt rename_store(Store store, const Renames& buffers) {
  if (const auto renamed = buffers.find(store.buffer); renamed != buffers.end())
    store.buffer = renamed->second;
  store.value = rename_loads(store.value, buffers);
  for (Index& index : store.indices)
    if (index.indirect) index.indirect = rename_loads(index.indirect, buffers);
  return node(std::move(store));
}

Stmt rename_prefetch(Prefetch prefetch, const Renames& buffers) {
  if (const auto renamed = buffers.find(prefetch.buffer); renamed != buffers.end())
    prefetch.buffer = renamed->second;
  return node(std::move(prefetch));
}

// Buffers renamed in every access (not in allocations).
Stmt rename_buffers(const Stmt& s, const Renames& buffers) {
  if (const auto* store = std::get_if<Store>(&s->op)) return rename_store(*store, buffers);
  if (const auto* prefetch = std::get_if<Prefetch>(&s->op))
    return rename_prefetch(*prefetch, buffers);
  const auto below = [&](const Stmt& child) { return rename_buffers(child, buffers); };
  const auto* branch = std::get_if<If>(&s->op);
  if (!branch || !branch->condition) return rewrite_children(s, below);
  If copy = *branch;
  copy.condition = rename_loads(copy.condition, buffers);
  copy.body = below(copy.body);
  return node(std::move(copy));
}

// One walk: new names for bindings, collected; uses are replaced afterwards, all at once. Replacing
// loop by loop would copy the body once per loop around it. Names are unique in a program, so no
// use can be meant for another binding.
Stmt rename_bindings(const Stmt& s, const std::function<std::string(const std::string&)>& fresh,
                     Bindings& loops, Renames& buffers) {
  const auto below = [&](const Stmt& child) {
    return rename_bindings(child, fresh, loops, buffers);
  };
  if (const auto* loop = std::get_if<For>(&s->op)) {
    For copy = *loop;
    copy.var = fresh(loop->var);
    loops[loop->var] = Affine::symbol(copy.var);
    copy.body = below(copy.body);
    return node(std::move(copy));
  }
  if (const auto* alloc = std::get_if<Alloc>(&s->op)) {
    Alloc copy = *alloc;
    copy.buffer.name = fresh(alloc->buffer.name);
    buffers[alloc->buffer.name] = copy.buffer.name;
    copy.body = below(copy.body);
    return node(std::move(copy));
  }
  return rewrite_children(s, below);
}

}  // namespace

// for i in 0..4                 for i_1 in 0..4
//   alloc t: f32[4]       ->      alloc t_1: f32[4]
//     t[i] = x[i]                   t_1[i_1] = x[i_1]
// so that a copy can stand beside the original. What is bound outside, as x is, keeps its name.
Stmt rename_bound(const Stmt& s, const std::function<std::string(const std::string&)>& fresh) {
  Bindings loops;
  Renames buffers;
  Stmt renamed = rename_bindings(s, fresh, loops, buffers);
  if (!loops.empty()) renamed = substitute(renamed, loops);
  return buffers.empty() ? renamed : rename_buffers(renamed, buffers);
}

// --- walking -------------------------------------------------------------------------------------

void for_each_stmt(const Stmt& s, const std::function<void(const Stmt&)>& visit) {
  visit(s);
  if (const auto* block = std::get_if<Block>(&s->op)) {
    for (const Stmt& child : block->body) for_each_stmt(child, visit);
  } else if (const auto* loop = std::get_if<For>(&s->op)) {
    for_each_stmt(loop->body, visit);
  } else if (const auto* branch = std::get_if<If>(&s->op)) {
    for_each_stmt(branch->body, visit);
  } else if (const auto* alloc = std::get_if<Alloc>(&s->op)) {
    for_each_stmt(alloc->body, visit);
  } else if (const auto* tensorized = std::get_if<Tensorized>(&s->op)) {
    for_each_stmt(tensorized->body, visit);
  }
}

// Subscripts that are affine are no expressions; what a prefetch names is read by nobody.
void for_each_expr(const Stmt& s, const std::function<void(const Expr&)>& visit) {
  for_each_stmt(s, [&](const Stmt& at) {
    if (const auto* store = std::get_if<Store>(&at->op)) {
      for (const Index& index : store->indices)
        if (index.indirect) visit(index.indirect);
      visit(store->value);
    } else if (const auto* branch = std::get_if<If>(&at->op)) {
      if (branch->condition) visit(branch->condition);
    }
  });
}

// --- comparison ----------------------------------------------------------------------------------

namespace {

bool same_expr(const Expr& a, const Expr& b) { return a == b || (a && b && equal(a, b)); }

bool same(const std::vector<Index>& a, const std::vector<Index>& b) {
  return std::ranges::equal(a, b, [](const Index& x, const Index& y) {
    return x.affine == y.affine && same_expr(x.indirect, y.indirect);
  });
}

bool same(const Store& a, const Store& b) {
  return a.buffer == b.buffer && same(a.indices, b.indices) && equal(a.value, b.value) &&
         a.lanes.count == b.lanes.count && a.lanes.strides == b.lanes.strides &&
         a.lanes.active == b.lanes.active && a.lanes.skipped == b.lanes.skipped &&
         a.origin.statement == b.origin.statement && a.origin.instance == b.origin.instance &&
         a.origin.strides == b.origin.strides && a.atomic == b.atomic &&
         a.nontemporal == b.nontemporal && a.async == b.async;
}
bool same(const Block& a, const Block& b) {
  return std::ranges::equal(a.body, b.body,
                            [](const Stmt& x, const Stmt& y) { return equal(x, y); });
}
bool same(const For& a, const For& b) {
  return a.var == b.var && a.lower == b.lower && a.upper == b.upper && a.kind == b.kind &&
         a.loop == b.loop && a.uncut == b.uncut && equal(a.body, b.body);
}
bool same(const If& a, const If& b) {
  return a.conditions == b.conditions && same_expr(a.condition, b.condition) &&
         equal(a.body, b.body);
}
bool same(const Alloc& a, const Alloc& b) {
  return a.buffer.name == b.buffer.name && a.buffer.dtype == b.buffer.dtype &&
         a.buffer.shape == b.buffer.shape && a.buffer.memory == b.buffer.memory &&
         a.buffer.of_each_thread == b.buffer.of_each_thread &&
         a.buffer.of_lanes == b.buffer.of_lanes && a.buffer.swizzle == b.buffer.swizzle &&
         equal(a.body, b.body);
}
bool same(const Prefetch& a, const Prefetch& b) {
  return a.buffer == b.buffer && same(a.indices, b.indices) && a.level == b.level;
}
bool same(const Tensorized& a, const Tensorized& b) {
  return a.intrinsic == b.intrinsic && equal(a.body, b.body);
}
bool same(const Fence&, const Fence&) { return true; }
bool same(const ProductGroup& a, const ProductGroup& b) {
  return a.step == b.step && a.pending == b.pending;
}
bool same(const CopyGroup& a, const CopyGroup& b) {
  return a.wait == b.wait && a.pending == b.pending;
}
bool same(const Barrier& a, const Barrier& b) {
  return a.of_warp == b.of_warp && a.from == b.from && a.to == b.to && a.buffer == b.buffer &&
         a.fenced == b.fenced;
}

}  // namespace

bool equal(const Stmt& a, const Stmt& b) {
  if (a == b) return true;
  if (a->op.index() != b->op.index()) return false;
  return std::visit(
      [&](const auto& op) { return same(op, std::get<std::decay_t<decltype(op)>>(b->op)); }, a->op);
}

}  // namespace polyte::ir
