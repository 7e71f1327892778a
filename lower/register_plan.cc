#include "lower/register_plan.h"

#include <algorithm>
#include <span>
#include <utility>

#include "ir/intrinsics.h"
#include "lower/rewrite_exprs.h"

namespace polyte::lower {

using ir::Affine;
using ir::Expr;
using ir::Stmt;

RegisterPlan::RegisterPlan(const ir::Alloc& alloc)
    : shape(alloc.buffer.shape), name_(alloc.buffer.name) {
  visit(alloc.body, {});
  if (!reason.empty()) return;
  find_lanes();
  find_parts();
  grow();
  check_overlap();
}

void RegisterPlan::fail(const std::string& text) {
  if (reason.empty()) reason = text;
}

void RegisterPlan::visit(const Stmt& s, const std::string& parallel) {
  if (const auto* store = std::get_if<ir::Store>(&s->op)) {
    if (store->buffer == name_) see(store->indices, store->lanes, parallel, Use::Store);
    for (const ir::Index& index : store->indices)
      if (index.indirect) visit(index.indirect, parallel);
    visit(store->value, parallel, store);
    if (store->buffer == name_ && reason.empty() && !updates(*store))
      pieces_.at(piece_of(store->indices, store->lanes)).begun.push_back(path_);
  } else if (const auto* block = std::get_if<ir::Block>(&s->op)) {
    for (const Stmt& child : block->body) visit(child, parallel);
  } else if (const auto* loop = std::get_if<ir::For>(&s->op)) {
    inner_.insert(loop->var);
    path_.push_back(s.get());
    visit(loop->body, loop->kind == ir::LoopKind::Parallel ? loop->loop : parallel);
    path_.pop_back();
  } else if (const auto* branch = std::get_if<ir::If>(&s->op)) {
    if (branch->condition) visit(branch->condition, parallel);
    path_.push_back(s.get());
    visit(branch->body, parallel);
    path_.pop_back();
  } else if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) {
    visit(alloc->body, parallel);
  } else if (const auto* tensorized = std::get_if<ir::Tensorized>(&s->op)) {
    visit(*tensorized, parallel);
  }
}

// An instruction takes whole tiles.
void RegisterPlan::visit(const ir::Tensorized& tensorized, const std::string& parallel) {
  const auto tiles = ir::tiles_of(tensorized);
  if (!tiles) return fail("'" + tensorized.intrinsic + "' does not touch it evenly");
  for (const ir::OperandTile& tile : *tiles) {
    if (tile.buffer != name_) continue;
    const auto lanes = ir::lanes_of(tile);
    if (!lanes) return fail("'" + tensorized.intrinsic + "' takes more than a row of it at once");
    see(tile.first, *lanes, parallel, Use::Store);
    see(tile.first, *lanes, parallel, Use::Read);
  }
}

void RegisterPlan::visit(const Expr& e, const std::string& parallel, const ir::Store* updates) {
  for (const ir::Load* load : ir::loads_of(e))
    if (load->buffer == name_)
      see(load->indices, load->lanes, parallel,
          updates && is_same_place(*load, *updates) ? Use::Update : Use::Read);
}

bool RegisterPlan::is_same_place(const ir::Load& load, const ir::Store& store) {
  return load.buffer == store.buffer && load.lanes.count == store.lanes.count &&
         load.lanes.strides == store.lanes.strides &&
         std::ranges::equal(load.indices, store.indices, {}, &ir::Index::affine,
                            &ir::Index::affine);
}

// Whether the vector runs along one dimension, element by element, the same as all vectors before.
bool RegisterPlan::sees_lanes(const ir::Lanes& lanes) {
  if (lanes.count == 1) return true;
  std::optional<std::size_t> along;
  for (std::size_t d = 0; d < lanes.strides.size(); ++d) {
    if (lanes.strides[d] == 0) continue;
    if (along || lanes.strides[d] != 1) return false;
    along = d;
  }
  if (!along || (lane_dim_ && *lane_dim_ != *along)) return false;
  lane_dim_ = along;
  return true;
}

void RegisterPlan::see(const std::vector<ir::Index>& indices, const ir::Lanes& lanes,
                       const std::string& parallel, Use use) {
  if (!parallel.empty()) return fail("parallel loop '" + parallel + "' uses it");
  for (const ir::Index& index : indices)
    if (index.indirect || !index.affine.is_constant())
      return fail("subscript " + ir::to_string(index.affine) + " is not constant");
  if (!sees_lanes(lanes)) return fail("its vectors do not all run along one dimension");
  Masks& masks = pieces_[piece_of(indices, lanes)];
  masks.stored = masks.stored || use == Use::Store;
  if (use != Use::Store && !is_begun(masks)) masks.unbegun = true;
  if (!lanes.is_masked()) {
    masks.whole_read = masks.whole_read || use == Use::Read;
    masks.whole_stored = masks.whole_stored || use == Use::Store;
  } else if (!std::exchange(masks.masked, true)) {
    masks.active = lanes.active;
    masks.skipped = lanes.skipped;
  } else if (masks.active != lanes.active || masks.skipped != lanes.skipped) {
    masks.uniform = false;
  }
}

namespace {

// One of the two is taken: k >= 1, and k <= 0 or what is left of that where k is no less. Over
// integers the complement of e >= 0 is -e - 1 >= 0; beside e == 0 it is e - 1 >= 0 or -e - 1 >= 0,
// where e lies on one side of 0, which is not checked here.
bool are_complements(const ir::StmtNode* a, const ir::StmtNode* b) {
  const auto *one = std::get_if<ir::If>(&a->op), *other = std::get_if<ir::If>(&b->op);
  if (!one || !other || one->condition || other->condition) return false;
  if (one->conditions.size() != 1 || other->conditions.size() != 1) return false;
  const ir::Constraint &c = one->conditions[0], &d = other->conditions[0];
  if (c.equality == d.equality) return !c.equality && c.expr + d.expr == Affine(-1);
  const ir::Constraint &least = c.equality ? c : d, &more = c.equality ? d : c;
  return more.expr == least.expr - 1 || more.expr == Affine(-1) - least.expr;
}

}  // namespace

// Whether the cell has been written wherever this read runs: on the way here, or in both of two
// complementary branches on it. A way is the branches and loops around a statement; a store is on
// the way to here if its own way is a beginning of the present one.
bool RegisterPlan::is_begun(const Masks& masks) const {
  const auto leads_here = [&](std::span<const ir::StmtNode* const> path) {
    return path.size() <= path_.size() &&
           std::ranges::equal(path, std::span(path_).first(path.size()));
  };
  return std::ranges::any_of(masks.begun, [&](const Path& path) {
    if (leads_here(path)) return true;
    const auto around = std::span(path).first(path.size() - 1);
    return leads_here(around) && std::ranges::any_of(masks.begun, [&](const Path& other) {
             return other.size() == path.size() &&
                    std::ranges::equal(around, std::span(other).first(around.size())) &&
                    are_complements(path.back(), other.back());
           });
  });
}

// Its value reads the piece that it writes.
bool RegisterPlan::updates(const ir::Store& store) const {
  const Piece piece = piece_of(store.indices, store.lanes);
  return std::ranges::any_of(ir::loads_of(store.value), [&](const ir::Load* load) {
    if (load->buffer != name_) return false;
    const Piece read = piece_of(load->indices, load->lanes);
    return !(read < piece) && !(piece < read);
  });
}

RegisterPlan::Piece RegisterPlan::piece_of(const std::vector<ir::Index>& indices,
                                           const ir::Lanes& lanes) const {
  Piece piece{{}, lanes.count};
  for (const ir::Index& index : indices) piece.first.push_back(index.affine.constant());
  return piece;
}

// --- the new order: the lanes' dimension goes last

std::size_t RegisterPlan::moved(std::size_t dim) const {
  if (!lane_dim_ || dim < *lane_dim_) return dim;
  return dim == *lane_dim_ ? shape.size() - 1 : dim - 1;
}

void RegisterPlan::reorder(std::vector<ir::Index>& indices, ir::Lanes& lanes) const {
  std::vector<ir::Index> moved_indices(indices.size());
  std::vector<std::int64_t> strides(lanes.strides.size());
  for (std::size_t d = 0; d < indices.size(); ++d) moved_indices[moved(d)] = indices[d];
  for (std::size_t d = 0; d < strides.size(); ++d) strides[moved(d)] = lanes.strides[d];
  indices = std::move(moved_indices);
  lanes.strides = std::move(strides);
}

// A masked vector may reach beyond the buffer's end: in memory those lanes are not touched, in a
// register they are just there.
void RegisterPlan::grow() {
  if (shape.empty()) return;
  const std::size_t dim = lane_dim_.value_or(shape.size() - 1);
  for (const auto& [piece, masks] : pieces_)
    shape[dim] = std::max(shape[dim], piece.first[dim] + piece.lanes);
  const std::vector<std::int64_t> before = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) shape[moved(d)] = before[d];
}

std::size_t RegisterPlan::dimension_of(const Piece& piece) const {
  return lane_dim_.value_or(piece.first.size() - 1);
}

bool RegisterPlan::is_within(const Piece& part, const Piece& whole) const {
  if (part.first.empty()) return false;
  const std::size_t dim = dimension_of(part);
  std::vector<std::int64_t> first = part.first;
  first[dim] = whole.first[dim];
  return first == whole.first && part.first[dim] >= whole.first[dim] &&
         part.first[dim] + part.lanes <= whole.first[dim] + whole.lanes;
}

// Single elements that are stored inside a vector that is stored as well: each becomes a lane of
// that vector (`become_lane`).
void RegisterPlan::find_lanes() {
  for (const auto& [piece, masks] : pieces_) {
    if (!masks.stored || piece.lanes > 1 || masks.masked) continue;
    const auto whole = std::ranges::find_if(pieces_, [&](const auto& other) {
      return other.second.stored && other.first.lanes > 1 && is_within(piece, other.first);
    });
    if (whole != pieces_.end()) whole_.emplace(piece, whole->first);
  }
  for (const auto& [piece, whole] : whole_) pieces_.at(whole).uniform = false;
}

// A read of some lanes may be of those that a mask excludes, where a store without one has written
// them.
void RegisterPlan::find_parts() {
  for (const auto& [part, of_part] : pieces_) {
    if (of_part.stored) continue;
    for (auto& [whole, masks] : pieces_)
      if (masks.stored && masks.whole_stored && is_within(part, whole)) masks.whole_read = true;
  }
}

// Whether the piece is no value of its own, but part of a vector that is written: it is only read,
// or it is a lane (`find_lanes`).
bool RegisterPlan::is_part(const Piece& piece) const {
  if (whole_.contains(piece)) return true;
  if (pieces_.at(piece).stored) return false;
  return std::ranges::any_of(pieces_, [&](const auto& other) {
    return other.second.stored && is_within(piece, other.first);
  });
}

// Every element belongs to one piece only. An SSA value has no parts that another value could
// share: a store to one of two overlapping pieces would leave the other stale.
void RegisterPlan::check_overlap() {
  std::set<std::vector<std::int64_t>> taken;
  for (const auto& [piece, masks] : pieces_) {
    if (is_part(piece)) continue;
    std::vector<std::int64_t> at = piece.first;
    for (int lane = 0; lane < piece.lanes; ++lane) {
      if (!taken.insert(at).second)
        return fail("vectors of different length or place share elements");
      if (!at.empty()) ++at[lane_dim_.value_or(at.size() - 1)];
    }
  }
}

// A mask may be dropped where all that read the piece have the same one, it does not change inside
// the allocation, and the piece is written before it is read: lanes that it excludes then hold
// values that nobody uses.
bool RegisterPlan::drops_mask(const std::vector<ir::Index>& indices, const ir::Lanes& lanes) const {
  if (!lanes.is_masked()) return false;
  const Masks& masks = pieces_.at(piece_of(indices, lanes));
  std::set<std::string> symbols;
  for (const std::optional<Affine>& bound : {lanes.active, lanes.skipped})
    if (bound) bound->collect_symbols(symbols);
  return masks.uniform && !masks.whole_read && !masks.begun.empty() && !masks.unbegun &&
         std::ranges::none_of(symbols, [&](const std::string& s) { return inner_.count(s) > 0; });
}

// A Load or Store as planned; false if it is of another buffer.
template <class Access>
bool RegisterPlan::replan(Access& access) const {
  if (access.buffer != name_) return false;
  if (drops_mask(access.indices, access.lanes)) {
    access.lanes.active.reset();
    access.lanes.skipped.reset();
  }
  reorder(access.indices, access.lanes);
  return true;
}

// A store of one element as a masked store of the whole vector that has it. Element 2 of a vector
// of 4 is stored with `skipped` 2 and `active` 3: lanes 0, 1 and 3 keep what they have.
void RegisterPlan::become_lane(ir::Store& store) const {
  const Piece piece = piece_of(store.indices, store.lanes);
  const auto found = whole_.find(piece);
  if (found == whole_.end()) return;
  const Piece& whole = found->second;
  const std::size_t dim = dimension_of(piece);
  const std::int64_t lane = piece.first[dim] - whole.first[dim];
  store.indices[dim].affine = Affine(whole.first[dim]);
  store.lanes.count = whole.lanes;
  store.lanes.strides.assign(store.indices.size(), 0);
  store.lanes.strides[dim] = 1;
  store.lanes.active = Affine(lane + 1);
  if (lane > 0) store.lanes.skipped = Affine(lane);
  store.origin.strides.assign(store.origin.instance.size(), 0);
  store.value = ir::make_broadcast(store.value, whole.lanes);
}

Stmt RegisterPlan::rewritten(const Stmt& s) const {
  const Stmt below = ir::rewrite_children(s, [&](const Stmt& child) { return rewritten(child); });
  Stmt own = map_own_exprs(below, [&](const Expr& e) {
    return ir::rewrite(e, [&](const Expr& leaf) -> Expr {
      const auto* load = std::get_if<ir::Load>(&leaf->op);
      if (!load || load->buffer != name_) return leaf;
      ir::Load copy = *load;
      replan(copy);
      return std::make_shared<const ir::ExprNode>(
          ir::ExprNode{leaf->type, leaf->lanes, std::move(copy)});
    });
  });
  const auto* store = std::get_if<ir::Store>(&own->op);
  if (!store || store->buffer != name_) return own;
  ir::Store copy = *store;
  become_lane(copy);
  replan(copy);
  return ir::make_store(std::move(copy));
}

Stmt RegisterPlan::applied(const ir::Alloc& alloc) const {
  ir::Alloc copy = alloc;
  copy.buffer.shape = shape;
  const bool masked = std::ranges::any_of(
      pieces_, [](const auto& entry) { return entry.second.uniform && entry.second.masked; });
  const bool in_order = !lane_dim_ || *lane_dim_ + 1 == shape.size();
  if (masked || !in_order || !whole_.empty()) copy.body = rewritten(alloc.body);
  return ir::make_alloc(std::move(copy));
}

}  // namespace polyte::lower
