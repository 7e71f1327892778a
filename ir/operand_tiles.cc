// What an instruction touches, as tiles of its operands: by the nest that stands in a tree for it.
#include <algorithm>

#include "ir/point_nest.h"

namespace polyte::ir {
namespace {

// For a nest i in i0..i0+16, k in k0..k0+8 around `c[i] += a[i, k]`, the tile of `a` begins at
// a[i0, k0] and has the dimensions 16 by (1, 0) and 8 by (0, 1); that of `c` has i only, since k
// does not move it.
std::optional<OperandTile> tile_of(const std::string& buffer, DType type,
                                   const std::vector<Index>& indices, const PointNest& nest) {
  OperandTile tile{buffer, type, indices, {}};
  Bindings first;
  for (const NestLoop& loop : nest.loops) {
    first[loop.var] = loop.lower;
    OperandTile::Dimension dimension{loop.extent, {}};
    bool moves = false;
    for (const Index& index : indices) {
      const auto step = step_of(index, loop.var);
      if (!step) return std::nullopt;
      dimension.steps.push_back(*step);
      moves = moves || *step != 0;
    }
    if (moves) tile.dimensions.push_back(std::move(dimension));
  }
  for (Index& index : tile.first) index.affine = substitute(index.affine, first);
  return tile;
}

}  // namespace

std::optional<std::vector<OperandTile>> tiles_of(const Tensorized& tensorized) {
  const auto nest = point_nest(tensorized.body);
  if (!nest) return std::nullopt;
  std::vector<OperandTile> tiles;
  const auto add = [&](const std::string& buffer, DType type, const std::vector<Index>& indices) {
    auto tile = tile_of(buffer, type, indices, *nest);
    if (tile) tiles.push_back(std::move(*tile));
    return tile.has_value();
  };
  if (!add(nest->store->buffer, nest->store->value->type, nest->store->indices))
    return std::nullopt;
  bool all = true;
  for_each_node(nest->store->value, [&](const ExprNode& node) {
    if (const auto* load = std::get_if<Load>(&node.op))
      all = all && add(load->buffer, node.type, load->indices);
  });
  if (!all) return std::nullopt;
  return tiles;
}

std::optional<Lanes> lanes_of(const OperandTile& tile) {
  const OperandTile::Dimension* along = nullptr;
  for (const OperandTile::Dimension& dimension : tile.dimensions) {
    if (std::ranges::all_of(dimension.steps, [](std::int64_t step) { return step == 0; })) continue;
    if (along) return std::nullopt;
    along = &dimension;
  }
  if (!along) return Lanes{};
  return Lanes{static_cast<int>(along->extent), along->steps, std::nullopt};
}

}  // namespace polyte::ir
