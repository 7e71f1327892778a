#include "lower/place_launches.h"

#include <algorithm>

#include "lower/names.h"

namespace polyte::lower {
namespace {

using ir::LoopKind;
using ir::Stmt;

bool has_blocks(const Stmt& s) {
  bool found = false;
  ir::for_each_stmt(s, [&](const Stmt& each) {
    const auto* loop = std::get_if<ir::For>(&each->op);
    found = found || (loop && loop->kind == LoopKind::Block);
  });
  return found;
}

bool is_empty(const Stmt& s) {
  const auto* block = std::get_if<ir::Block>(&s->op);
  return block && block->body.empty();
}

Stmt without_cpu_threads(const Stmt& s, std::vector<std::string>& notes) {
  Stmt below =
      ir::rewrite_children(s, [&](const Stmt& child) { return without_cpu_threads(child, notes); });
  const auto* loop = std::get_if<ir::For>(&below->op);
  if (!loop || loop->kind != LoopKind::Parallel) return below;
  notes.push_back("loop '" + loop->loop +
                  "' is parallel on a CPU: a GPU runs it serially, bind it to block or thread");
  ir::For copy = *loop;
  copy.kind = LoopKind::Serial;
  return ir::make_for(std::move(copy));
}

class LaunchPlacer {
 public:
  explicit LaunchPlacer(const ir::LoopProgram& program) : names_(program, true) {}

  // What holds loops of blocks stays with the host, which runs serial loops around launches;
  // anything else becomes a launch of one block.
  Stmt placed(const Stmt& s) {
    if (is_empty(s)) return s;
    if (!has_blocks(s)) return of_one_block(s);
    const auto* loop = std::get_if<ir::For>(&s->op);
    if (loop && loop->kind == LoopKind::Block) return together(*loop);
    return ir::rewrite_children(s, [&](const Stmt& child) { return placed(child); });
  }

 private:
  Names names_;

  // A grid is loops of blocks and nothing between them: guards and memory of the blocks go inside.
  // No two blocks touch an element that one of them writes, so each may have such memory for
  // itself.
  //
  //   block i { if c { block j { B } } }   ->   block i { block j { if c { B } } }
  static Stmt together(ir::For loop) {
    if (const Stmt inner = inner_blocks(loop.body))
      loop.body = together(std::get<ir::For>(inner->op));
    return ir::make_for(std::move(loop));
  }

  // The loop of blocks that is all of `s`, with what stands around it inside; null: none is.
  static Stmt inner_blocks(const Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    if (loop) return loop->kind == LoopKind::Block ? s : nullptr;
    const auto* guard = std::get_if<ir::If>(&s->op);
    const auto* alloc = std::get_if<ir::Alloc>(&s->op);
    const Stmt inner = guard   ? inner_blocks(guard->body)
                       : alloc ? inner_blocks(alloc->body)
                               : nullptr;
    if (!inner) return nullptr;
    ir::For within = std::get<ir::For>(inner->op);
    within.body = guard ? ir::make_if({guard->conditions, guard->condition, within.body})
                        : ir::make_alloc({alloc->buffer, within.body});
    return ir::make_for(std::move(within));
  }

  // Memory of the device begins before the launch: it is one thread's, whose iterations may
  // have the same.
  Stmt of_one_block(const Stmt& s) {
    const std::string name = names_.fresh("launch");
    std::vector<ir::LoopBuffer> outside;
    Stmt all = ir::make_for({name, {0}, {1}, LoopKind::Block, name, without_heap(s, outside)});
    for (const ir::LoopBuffer& buffer : outside) all = ir::make_alloc({buffer, std::move(all)});
    return all;
  }

  static Stmt without_heap(const Stmt& s, std::vector<ir::LoopBuffer>& outside) {
    const auto* alloc = std::get_if<ir::Alloc>(&s->op);
    if (!alloc || alloc->buffer.memory != ir::Memory::Heap)
      return ir::rewrite_children(s,
                                  [&](const Stmt& child) { return without_heap(child, outside); });
    outside.push_back(alloc->buffer);
    return without_heap(alloc->body, outside);
  }
};

}  // namespace

ir::LoopProgram place_launches(const ir::LoopProgram& program, std::vector<std::string>& notes) {
  ir::LoopProgram result = program;
  result.body = LaunchPlacer(program).placed(without_cpu_threads(program.body, notes));
  return result;
}

}  // namespace polyte::lower
