#include "schedule/cost/warp_product.h"

#include <array>
#include <cstdlib>

#include "ir/relations.h"
#include "schedule/cost/operand_staging.h"

namespace polyte::schedule {
namespace {

std::vector<std::int64_t> extents_of(const ir::Stmt& nest) {
  std::vector<std::int64_t> extents;
  for (const auto* loop = std::get_if<ir::For>(&nest->op); loop;
       loop = std::get_if<ir::For>(&loop->body->op))
    extents.push_back(loop->upper[0].constant() - loop->lower[0].constant());
  return extents;
}

bool is_zero(const ir::Expr& value) {
  const auto* literal = std::get_if<ir::Literal>(&value->op);
  return literal && literal->integer == 0 && literal->real == 0;
}

// Reads as the instruction meets them, in copies in shared memory: where the border of a read is 0,
// the copy has written that zero, and the read has no guard.
ir::Expr of_copies(const ir::Expr& value) {
  return ir::rewrite(value, [](const ir::Expr& e) -> ir::Expr {
    const auto* load = std::get_if<ir::Load>(&e->op);
    if (!load || !has_border(*load) || !is_zero(load->otherwise)) return e;
    return ir::make_load(e->type, load->buffer, load->indices);
  });
}

using Sides = std::array<WarpProduct::Side, 3>;

// One tile of the sum as loops, to be compared with what the instruction computes: each side's loop
// becomes i.o * tile + i, of which i runs here.
ir::Stmt tile_of(const ir::Program& program, const ir::Statement& update, const Sides& sides) {
  ir::Bindings tiles;
  for (const WarpProduct::Side& side : sides)
    tiles[side.loop] =
        ir::Affine::symbol(side.loop + ".o") * side.tile + ir::Affine::symbol(side.loop);
  const ir::Access& write = update.writes.front();
  const ir::Expr current =
      ir::make_load(program.buffer(write.buffer).dtype, write.buffer, write.indices);
  const ir::Expr value = of_copies(ir::combined_values(update, {current}).front());
  ir::Store store{write.buffer, write.indices, ir::substitute(value, tiles), {}, {}};
  for (ir::Index& index : store.indices) index.affine = ir::substitute(index.affine, tiles);
  ir::Stmt nest = ir::make_store(std::move(store));
  for (auto side = sides.rbegin(); side != sides.rend(); ++side)
    nest = ir::make_for(
        {side->loop, {0}, {side->tile}, ir::LoopKind::Serial, side->loop, std::move(nest)});
  return nest;
}

}  // namespace

bool WarpProduct::moves_by_one(const ir::Affine& subscript) const {
  std::int64_t sides = 0, moves = 0;
  for (const Side* side : {&row, &lane, &step})
    if (const std::int64_t each = subscript.coefficient(side->loop); each != 0)
      ++sides, moves = std::abs(each);
  return sides == 1 && moves == 1;
}

std::vector<WarpProduct> warp_products(const ir::Program& program, const ir::Statement& update,
                                       const Machine& machine, bool keep_order) {
  std::vector<WarpProduct> found;
  const std::vector<std::string> free = ir::free_iterators(update);
  if (update.writes.size() != 1 || update.guard) return found;
  for (const ir::Intrinsic& row : ir::intrinsics()) {
    if (row.scope != ir::Scope::Warp || (row.rounds && keep_order) ||
        !ir::missing_for(row, machine).empty())
      continue;
    const std::vector<std::int64_t> extents = extents_of(row.nest);
    for (const std::string& i : free)
      for (const std::string& j : free)
        for (const std::string& k : update.reductions) {
          if (i == j) continue;
          const Sides sides = {{{i, extents[0]}, {j, extents[1]}, {k, extents[2]}}};
          const auto match = ir::match_warp(row, tile_of(program, update, sides));
          if (match && match->loops == std::vector{i, j, k})
            found.push_back({&row, sides[0], sides[1], sides[2]});
        }
  }
  return found;
}

}  // namespace polyte::schedule
