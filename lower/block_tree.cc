#include "lower/block_tree.h"

#include <algorithm>

#include "ir/intrinsics.h"
#include "ir/matrix_load.h"
#include "support/error.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::LoopKind;
using ir::Stmt;
using Kind = BlockNode::Kind;

namespace {

bool has_threads(const Stmt& s) {
  bool found = false;
  ir::for_each_stmt(s, [&](const Stmt& each) {
    const auto* loop = std::get_if<ir::For>(&each->op);
    found = found || (loop && ir::is_of_threads(loop->kind));
  });
  return found;
}

// Which lane of a warp touches an element is not said by its instructions: a variable of its own
// stands for it, from 0 to 31.
const char* const kAnyLane = "lane.any";  // no loop's name

bool has_warp_instruction(const Stmt& s) {
  bool found = false;
  ir::for_each_stmt(s, [&](const Stmt& each) { found = found || ir::is_of_warp(each); });
  return found;
}

// The tile of an instruction as if nothing cut it short.
Stmt without_conditions(const Stmt& s) {
  const auto* branch = std::get_if<ir::If>(&s->op);
  return ir::rewrite_children(branch ? branch->body : s, without_conditions);
}

void append(std::vector<Constraint>& to, const std::vector<Constraint>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// The number of the thread that runs an iteration of a region's own loop. What no loop of threads
// holds runs on thread 0, or, inside a loop of warps, on lane 0 of its warp.
Affine thread_of(const ir::For* loop, const Affine& warp) {
  if (!loop || !ir::is_of_threads(loop->kind)) return warp * ir::kLanes;
  return warp * ir::kLanes + Affine::symbol(loop->var);
}

// lower <= var < upper.
std::vector<Constraint> bounds_of(const ir::For& loop) {
  const Affine var = Affine::symbol(loop.var);
  std::vector<Constraint> all;
  for (const Affine& low : loop.lower) all.push_back(ir::at_least(var, low));
  for (const Affine& high : loop.upper) all.push_back(ir::less_than(var, high));
  return all;
}

}  // namespace

BlockTree::BlockTree(const Stmt& launch) {
  Stmt body = launch;
  // A launch is loops of blocks directly inside each other (place_launches.h).
  for (const auto* loop = std::get_if<ir::For>(&body->op); loop && loop->kind == LoopKind::Block;
       loop = std::get_if<ir::For>(&body->op)) {
    append(of_launch, bounds_of(*loop));
    body = loop->body;
  }
  known_ = of_launch;
  root = build(body, 0);
}

void BlockTree::add_children(BlockNode& node, const std::vector<Stmt>& children, int depth) {
  for (const Stmt& child : children) {
    node.children.push_back(build(child, depth));
    node.children.back()->parent = &node;
    node.children.back()->position = node.children.size() - 1;
  }
}

// `known_` is a stack: what is known of the variables around grows on the way down and is cut back
// on the way up. Each access gets a copy of it.
std::unique_ptr<BlockNode> BlockTree::build(const Stmt& s, int depth) {
  auto node = std::make_unique<BlockNode>();
  node->number = nodes_++;
  node->source = s;
  node->depth = depth;
  const std::size_t outside = known_.size();
  const auto* loop = std::get_if<ir::For>(&s->op);
  const bool is_region =
      !has_threads(s) || (loop && ir::is_of_threads(loop->kind) && loop->kind != LoopKind::Warp);
  if (is_region) {
    node->thread = thread_of(loop, warp_);
    // The number of the thread is then not known more closely than its warp.
    if (has_warp_instruction(s)) node->thread = node->thread + Affine::symbol(kAnyLane);
    std::vector<Constraint> where = known_;
    if (has_warp_instruction(s))
      append(where, {ir::at_least(Affine::symbol(kAnyLane), 0),
                     ir::less_than(Affine::symbol(kAnyLane), ir::kLanes)});
    collect(s, *node, std::move(where));
    regions.push_back(node.get());
  } else if (loop) {
    const bool is_warps = loop->kind == LoopKind::Warp;
    node->kind = is_warps ? Kind::Warps : Kind::Loop;
    append(known_, bounds_of(*loop));
    if (is_warps) warp_ = Affine::symbol(loop->var);
    add_children(*node, {loop->body}, depth + 1);
    if (is_warps) warp_ = 0;
  } else if (const auto* block = std::get_if<ir::Block>(&s->op)) {
    node->kind = Kind::Sequence;
    add_children(*node, block->body, depth);
  } else if (const auto* branch = std::get_if<ir::If>(&s->op)) {
    if (branch->condition)
      throw UserError(
          ExitStatus::Unsupported,
          "a condition that is read at run time stands around loops of threads, "
          "expected inside them: else not all threads would reach the place where all meet");
    node->kind = Kind::Wrap;
    append(known_, branch->conditions);
    add_children(*node, {branch->body}, depth);
  } else if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) {
    node->kind = Kind::Wrap;
    add_children(*node, {alloc->body}, depth);
  } else {
    POLYTE_CHECK(false, "a statement of no kind that holds loops of threads");
  }
  known_.resize(outside);
  return node;
}

// All accesses of a region with the constraints under which each happens. Conditions on data are
// taken to hold: that can only add conflicts.
void BlockTree::collect(const Stmt& s, BlockNode& region, std::vector<Constraint> where) {
  if (const auto* store = std::get_if<ir::Store>(&s->op)) {
    const std::string& name =
        store->origin.statement.empty() ? store->buffer : store->origin.statement;
    // An atomic update reads and writes its element as one step; what else its value reads is
    // ordinary.
    const std::size_t before = region.accesses.size();
    collect_loads(store->value, region, name, where);
    for (std::size_t i = before; i < region.accesses.size(); ++i)
      region.accesses[i].atomic = store->atomic && region.accesses[i].buffer == store->buffer;
    for (const ir::Index& index : store->indices)
      collect_loads(index.indirect, region, name, where);
    region.accesses.push_back(
        {store->buffer, name, store->indices, true, where, false, store->atomic});
  } else if (const auto* block = std::get_if<ir::Block>(&s->op)) {
    for (const Stmt& child : block->body) collect(child, region, where);
  } else if (const auto* loop = std::get_if<ir::For>(&s->op)) {
    append(where, bounds_of(*loop));
    collect(loop->body, region, where);
  } else if (const auto* branch = std::get_if<ir::If>(&s->op)) {
    append(where, branch->conditions);
    collect_loads(branch->condition, region, "a condition", where);
    collect(branch->body, region, where);
  } else if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) {
    collect(alloc->body, region, where);
  } else if (const auto* tensorized = std::get_if<ir::Tensorized>(&s->op)) {
    const ir::Intrinsic* row = ir::find_intrinsic(tensorized->intrinsic);
    past_threads_ = row && row->scope == ir::Scope::Warpgroup;
    // A warp's instruction reads its whole tile, also where the sum is cut short.
    collect(ir::is_of_warp(s) ? without_conditions(tensorized->body) : tensorized->body, region,
            where);
    past_threads_ = false;
  }
}

void BlockTree::collect_loads(const ir::Expr& e, BlockNode& region, const std::string& statement,
                              const std::vector<Constraint>& where) {
  if (!e) return;
  for (const ir::Load* load : ir::loads_of(e)) {
    std::vector<Constraint> guarded = where;
    append(guarded, load->guard);
    region.accesses.push_back(
        {load->buffer, statement, load->indices, false, std::move(guarded), past_threads_});
  }
}

}  // namespace polyte::lower
