#include "lower/async_candidates.h"

#include <cmath>
#include <set>

namespace polyte::lower {

using ir::Stmt;

namespace {

// +0 and not -0: cp.async fills what it does not copy with zero bits (src-size below cp-size).
bool is_zero(const ir::Expr& e) {
  const auto* zero = e ? std::get_if<ir::Literal>(&e->op) : nullptr;
  return zero && zero->integer == 0 && zero->real == 0 && !std::signbit(zero->real);
}

}  // namespace

// Shared buffers that are only filled by copies from memory of the device which the launch does not
// write: each store is a load of the same type, without arithmetic, and guarded reads fill in
// zeros.
std::map<std::string, const ir::Alloc*> async_candidates(const BlockTree& tree,
                                                         const ir::LoopProgram& program) {
  std::map<std::string, const ir::Alloc*> shared;
  std::set<std::string> of_device, others;
  std::map<std::string, DType> types;
  for (const ir::Buffer& b : program.buffers) of_device.insert(b.name), types[b.name] = b.dtype;
  ir::for_each_stmt(program.body, [&](const Stmt& s) {
    const auto* alloc = std::get_if<ir::Alloc>(&s->op);
    if (!alloc) return;
    types[alloc->buffer.name] = alloc->buffer.dtype;
    if (alloc->buffer.memory == ir::Memory::Shared) shared[alloc->buffer.name] = alloc;
    if (alloc->buffer.memory == ir::Memory::Heap) of_device.insert(alloc->buffer.name);
  });
  for (const BlockNode* region : tree.regions)
    for (const RegionAccess& access : region->accesses)
      if (access.write) of_device.erase(access.buffer);
  ir::for_each_stmt(program.body, [&](const Stmt& s) {
    const auto* store = std::get_if<ir::Store>(&s->op);
    if (!store || !shared.contains(store->buffer)) return;
    const auto* load = std::get_if<ir::Load>(&store->value->op);
    const bool is_copy = load && (load->guard.empty() || is_zero(load->otherwise)) &&
                         of_device.contains(load->buffer) && !store->atomic &&
                         types.at(load->buffer) == types.at(store->buffer);
    if (!is_copy) others.insert(store->buffer);
  });
  std::erase_if(shared, [&](const auto& each) { return others.contains(each.first); });
  return shared;
}

// Whether a vector that is read side by side is not stored side by side
// (transposed, or swizzled in single elements): cp.async copies 4 to 16 adjacent bytes to adjacent
// bytes, so that it would be split into single elements.
bool is_scattered(const Stmt& region, const ir::Alloc& alloc) {
  bool found = false;
  const auto moves_by_one = [](const std::vector<ir::Index>& indices, const std::string& var) {
    return !indices.empty() && indices.back().affine.coefficient(var) == 1;
  };
  ir::for_each_stmt(region, [&](const Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    if (!loop || loop->kind != ir::LoopKind::Vector) return;
    ir::for_each_stmt(loop->body, [&](const Stmt& below) {
      const auto* store = std::get_if<ir::Store>(&below->op);
      const auto* load = store && store->buffer == alloc.buffer.name
                             ? std::get_if<ir::Load>(&store->value->op)
                             : nullptr;
      if (!load || !moves_by_one(load->indices, loop->var)) return;
      found = found || alloc.buffer.swizzle.chunk == 1 || !moves_by_one(store->indices, loop->var);
    });
  });
  return found;
}

}  // namespace polyte::lower
