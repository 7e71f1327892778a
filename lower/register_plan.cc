#include "lower/register_plan.h"

#include <algorithm>

#include "lower/rewrite_exprs.h"

namespace polyte::lower {

using ir::Affine;
using ir::Expr;
using ir::Stmt;

RegisterPlan::RegisterPlan(const ir::Alloc& alloc) : shape(alloc.buffer.shape), name_(alloc.buffer.name) {
  visit(alloc.body, {});
  if (!reason.empty()) return;
  grow();
  check_overlap();
}

void RegisterPlan::fail(const std::string& text) {
  if (reason.empty()) reason = text;
}

void RegisterPlan::visit(const Stmt& s, const std::string& parallel) {
  if (const auto* store = std::get_if<ir::Store>(&s->op)) {
    if (store->buffer == name_) see(store->indices, store->lanes, parallel);
    for (const ir::Index& index : store->indices)
      if (index.indirect) visit(index.indirect, parallel);
    visit(store->value, parallel);
  } else if (const auto* block = std::get_if<ir::Block>(&s->op)) {
    for (const Stmt& child : block->body) visit(child, parallel);
  } else if (const auto* loop = std::get_if<ir::For>(&s->op)) {
    inner_.insert(loop->var);
    visit(loop->body, loop->kind == ir::LoopKind::Parallel ? loop->loop : parallel);
  } else if (const auto* branch = std::get_if<ir::If>(&s->op)) {
    if (branch->condition) visit(branch->condition, parallel);
    visit(branch->body, parallel);
  } else if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) {
    visit(alloc->body, parallel);
  }
}

void RegisterPlan::visit(const Expr& e, const std::string& parallel) {
  for (const ir::Load* load : ir::loads_of(e))
    if (load->buffer == name_) see(load->indices, load->lanes, parallel);
}

RegisterPlan::Piece RegisterPlan::piece_of(const std::vector<ir::Index>& indices, const ir::Lanes& lanes) {
  Piece piece{{}, lanes.count};
  for (const ir::Index& index : indices) piece.first.push_back(index.affine.constant());
  return piece;
}

void RegisterPlan::see(const std::vector<ir::Index>& indices, const ir::Lanes& lanes, const std::string& parallel) {
  if (!parallel.empty()) return fail("parallel loop '" + parallel + "' uses it");
  for (const ir::Index& index : indices)
    if (index.indirect || !index.affine.is_constant())
      return fail("subscript " + ir::to_string(index.affine) + " is not constant");
  for (std::size_t d = 0; lanes.count > 1 && d < indices.size(); ++d)
    if (lanes.strides[d] != (d + 1 == indices.size() ? 1 : 0))
      return fail("its vectors are not along the last dimension");
  const auto [at, fresh] = pieces_.emplace(piece_of(indices, lanes), Masks{true, lanes.active});
  if (!fresh && at->second.active != lanes.active) at->second.uniform = false;
}

void RegisterPlan::grow() {
  for (const auto& [piece, masks] : pieces_)
    if (!piece.first.empty()) shape.back() = std::max(shape.back(), piece.first.back() + piece.lanes);
}

// Every element belongs to one piece only.
void RegisterPlan::check_overlap() {
  std::set<std::vector<std::int64_t>> taken;
  for (const auto& [piece, masks] : pieces_) {
    std::vector<std::int64_t> at = piece.first;
    for (int lane = 0; lane < piece.lanes; ++lane) {
      if (!taken.insert(at).second) return fail("vectors of different length or place share elements");
      if (!at.empty()) ++at.back();
    }
  }
}

bool RegisterPlan::drops_mask(const std::string& buffer, const std::vector<ir::Index>& indices,
                              const ir::Lanes& lanes) const {
  if (buffer != name_ || !lanes.active) return false;
  const Masks& masks = pieces_.at(piece_of(indices, lanes));
  std::set<std::string> symbols;
  lanes.active->collect_symbols(symbols);
  return masks.uniform &&
         std::none_of(symbols.begin(), symbols.end(), [&](const std::string& s) { return inner_.count(s) > 0; });
}

namespace {

// Stores and loads below s without their mask where `drops` says so.
template <class Drops>
Stmt without_masks(const Stmt& s, const Drops& drops) {
  const Stmt below = ir::rewrite_children(s, [&](const Stmt& child) { return without_masks(child, drops); });
  const Stmt own = map_own_exprs(below, [&](const Expr& e) {
    return ir::rewrite(e, [&](const Expr& leaf) -> Expr {
      const auto* load = std::get_if<ir::Load>(&leaf->op);
      if (!load || !drops(load->buffer, load->indices, load->lanes)) return leaf;
      ir::Load copy = *load;
      copy.lanes.active = std::nullopt;
      return std::make_shared<const ir::ExprNode>(ir::ExprNode{leaf->type, leaf->lanes, std::move(copy)});
    });
  });
  const auto* store = std::get_if<ir::Store>(&own->op);
  if (!store || !drops(store->buffer, store->indices, store->lanes)) return own;
  ir::Store copy = *store;
  copy.lanes.active = std::nullopt;
  return ir::make_store(std::move(copy));
}

}  // namespace

Stmt RegisterPlan::applied(const ir::Alloc& alloc) const {
  ir::Alloc copy = alloc;
  copy.buffer.shape = shape;
  const bool masked = std::any_of(pieces_.begin(), pieces_.end(),
                                  [](const auto& piece) { return piece.second.active && piece.second.uniform; });
  if (masked)
    copy.body = without_masks(alloc.body, [&](const std::string& buffer, const std::vector<ir::Index>& indices,
                                              const ir::Lanes& lanes) { return drops_mask(buffer, indices, lanes); });
  return ir::make_alloc(std::move(copy));
}

}  // namespace polyte::lower
