#include "codegen/common/scratch.h"

#include <algorithm>
#include <variant>

#include "support/checked.h"
#include "support/error.h"

namespace polyte::codegen {
namespace {

std::int64_t aligned_bytes(const ir::LoopBuffer& buffer) {
  const std::int64_t bytes =
      checked_mul(checked_product(buffer.shape), size_in_bytes(buffer.dtype));
  return checked_mul(ceil_div(bytes, kScratchAlignment), kScratchAlignment);
}

class Planner {
 public:
  ScratchLayout layout;

  // `shared` and `own`: bytes taken by the enclosing buffers of each part.
  void visit(const ir::Stmt& s, std::int64_t shared, std::int64_t own, bool parallel) {
    if (const auto* block = std::get_if<ir::Block>(&s->op)) {
      for (const ir::Stmt& child : block->body) visit(child, shared, own, parallel);
    } else if (const auto* loop = std::get_if<ir::For>(&s->op)) {
      if (loop->kind == ir::LoopKind::Block) return;  // what a launch allocates is not the host's
      visit(loop->body, shared, own, parallel || loop->kind == ir::LoopKind::Parallel);
    } else if (const auto* branch = std::get_if<ir::If>(&s->op)) {
      visit(branch->body, shared, own, parallel);
    } else if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) {
      place(*alloc, shared, own, parallel);
    }
  }

 private:
  void place(const ir::Alloc& alloc, std::int64_t shared, std::int64_t own, bool parallel) {
    const std::int64_t bytes = aligned_bytes(alloc.buffer);
    if (alloc.buffer.memory == ir::Memory::Stack)
      layout.stack_bytes = checked_add(layout.stack_bytes, bytes);
    if (alloc.buffer.memory == ir::Memory::Heap) {
      // `shared` and `own` are copies of the visitor's arguments: they grow for what is inside this
      // buffer's scope, while siblings begin at the same place and overlay each other.
      std::int64_t& used = parallel ? own : shared;
      const bool fresh = layout.offsets.emplace(alloc.buffer.name, used).second;
      POLYTE_CHECK(fresh, "two allocations named '" + alloc.buffer.name + "'");
      used = checked_add(used, bytes);
      std::int64_t& size = parallel ? layout.bytes_per_worker : layout.shared_bytes;
      size = std::max(size, used);
    }
    visit(alloc.body, shared, own, parallel);
  }
};

}  // namespace

ScratchLayout plan_scratch(const ir::LoopProgram& program) {
  Planner planner;
  planner.visit(program.body, 0, 0, false);
  if (planner.layout.stack_bytes > kStackLimit) {
    throw UserError(ExitStatus::ResourceLimit,
                    "kernel '" + program.name + "': stack buffers take " +
                        std::to_string(planner.layout.stack_bytes) + " bytes, expected at most " +
                        std::to_string(kStackLimit));
  }
  return std::move(planner.layout);
}

}  // namespace polyte::codegen
