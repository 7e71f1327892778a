// group_products: what a warpgroup's instructions make meanwhile is awaited. Those that stand side
// by side are one group,
//
//   tensorized wgmma_bf16_m64n128k16 ..              open products
//   tensorized wgmma_bf16_m64n128k16 ..     ->       tensorized wgmma_bf16_m64n128k16 ..
//                                                    tensorized wgmma_bf16_m64n128k16 ..
//                                                    commit products
//                                                    await products but 0
//
// and the wait comes at once behind them: their sums are in registers, and what they read may be
// overwritten, where the region ends, as it is with every other instruction. So barriers can be
// placed without knowing of them.
#pragma once

#include "ir/loop_program.h"

namespace polyte::lower {

ir::LoopProgram group_products(const ir::LoopProgram& program);

}  // namespace polyte::lower
