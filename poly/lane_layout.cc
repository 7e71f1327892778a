#include "poly/lane_layout.h"

#include "poly/price_rates.h"
#include "poly/sum_tile.h"

namespace polyte::poly {

using schedule::LayoutIndex;

std::vector<schedule::PlannedStage> stages_of(const ir::Program& program,
                                              const LaneLayouts& layouts) {
  std::vector<schedule::PlannedStage> stages;
  for (const auto& [buffer, layout] : layouts) {
    schedule::PlannedStage stage{.tensor = buffer};
    for (std::size_t d = 0; d < program.buffer(buffer).shape.size(); ++d) {
      stage.dimensions.push_back(dimension_name(buffer, d));
      if (d != layout.dimension) stage.layout.push_back({stage.dimensions[d]});
    }
    const std::string& along = stage.dimensions[layout.dimension];
    // Lanes that are `step` apart become neighbours: of d the layout has d % step, then d // step.
    if (layout.step == 1) {
      stage.layout.push_back({along});
    } else {
      const schedule::TileSize step = schedule::Elements{layout.step};
      stage.layout.push_back({along, LayoutIndex::Part::WithinTile, step});
      stage.layout.push_back({along, LayoutIndex::Part::Tile, step});
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

double cycles_of_copies(const ir::Program& program, const LaneLayouts& layouts) {
  double cycles = 0;
  for (const auto& [name, layout] : layouts) {
    const ir::Buffer& buffer = program.buffer(name);
    double elements = 1;
    for (const ir::Affine& extent : buffer.shape)
      elements *= extent.is_constant() ? static_cast<double>(extent.constant()) : kOpenSize;
    // A temporary is written in its layout at once; an operand is copied in, a result out, an inout
    // both.
    const double copies = buffer.role == ir::Role::InOut  ? 2
                          : buffer.role == ir::Role::Temp ? 0
                                                          : 1;
    const double bytes = size_in_bytes(buffer.dtype);
    // Per element: both sides go through memory, and on one of them the lines come again from the
    // second cache, as a copy between two layouts strides along it.
    const double of_one = 2 * bytes / kMemory + kLine / kLevel2 + kGather / kLoadsACycle;
    cycles += copies * elements * of_one;
  }
  return cycles;
}

}  // namespace polyte::poly
