// From the affine core to the nests of a GPU: which loops are blocks and which threads, where sums
// and operands are kept. Each decision is a part of the plan of a nest.
#pragma once

#include <optional>

#include "poly/affine_core.h"
#include "poly/strategy_cpu.h"

namespace polyte::poly {

// The core has no maps: rows are iterators.
NestSchedule schedule_for_gpu(const ir::Program& program, const schedule::State& reference,
                              const AffineCore& core, const Machine& machine,
                              const StrategyOptions& options);

}  // namespace polyte::poly
