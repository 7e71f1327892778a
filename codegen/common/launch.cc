#include "codegen/common/launch.h"

#include <algorithm>
#include <optional>

#include "ir/intrinsics.h"
#include "ir/matrix_load.h"
#include "ir/shared_matrix.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::codegen {
namespace {

using ir::LoopKind;

class Surveyor {
 public:
  Surveyor(Launch& launch, const std::string& kernel, ir::Ranges params)
      : launch_(launch), kernel_(kernel), ranges_(std::move(params)) {}

  // Finds the operands of warpgroup instructions, whose alignment `place` has to know.
  void find_matrices(const ir::Stmt& body) {
    ir::for_each_stmt(body, [&](const ir::Stmt& s) {
      const auto* tensorized = std::get_if<ir::Tensorized>(&s->op);
      const ir::Intrinsic* row = tensorized ? ir::find_intrinsic(tensorized->intrinsic) : nullptr;
      if (!row || row->scope != ir::Scope::Warpgroup) return;
      for_each_expr(s, [&](const ir::Expr& e) {
        for (const ir::Load* load : ir::loads_of(e)) matrices_.insert(load->buffer);
      });
    });
  }

  void visit(const ir::Stmt& s) {
    note_buffers(s);
    if (const auto* loop = std::get_if<ir::For>(&s->op)) {
      bind(*loop);
      count(*loop);
      visit(loop->body);
      if (loop->kind == LoopKind::Warp) warps_ = 0;
      return;
    }
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) place(alloc->buffer);
    ir::rewrite_children(s, [&](const ir::Stmt& child) {
      visit(child);
      return child;
    });
  }

  void bind(const ir::For& loop) {
    ir::Interval range;
    for (const ir::Affine& low : loop.lower)
      if (const auto least = ir::range_of(low, ranges_).min)
        range.min = std::max(range.min.value_or(*least), *least);
    for (const ir::Affine& high : loop.upper)
      if (const auto most = ir::range_of(high, ranges_).max)
        range.max = std::min(range.max.value_or(*most - 1), *most - 1);
    ranges_[loop.var] = range;
  }

  // Binds the host's loops around the loop of `var`; true once that is found.
  bool bind_around(const ir::Stmt& s, const std::string& var) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    if (loop && loop->var == var) return true;
    if (loop) bind(*loop);
    bool found = false;
    ir::rewrite_children(s, [&](const ir::Stmt& child) {
      found = found || bind_around(child, var);
      return child;
    });
    if (loop && !found) ranges_.erase(loop->var);
    return found;
  }

  // An axis of the grid, made before the loop is bound and after the loops of blocks outside it
  // are. A bound over these becomes a condition of the block, and the grid takes its extreme value:
  //
  //   block i in 0..8 { block j in 0..(i + 1) { B } }    grid 8 x 8, block (i, j) runs if j < i + 1
  Axis axis(const ir::For& loop) {
    Axis axis{loop.var, {}, {}};
    const ir::Affine var = ir::Affine::symbol(loop.var);
    for (const ir::Affine& low : loop.lower) {
      if (is_of_host(low)) {
        axis.lower.push_back(low);
      } else {
        launch_.runs.push_back(ir::at_least(var, low));
      }
    }
    for (const ir::Affine& high : loop.upper) {
      if (is_of_host(high)) {
        axis.upper.push_back(high);
      } else {
        launch_.runs.push_back(ir::less_than(var, high));
      }
    }
    if (axis.lower.empty()) axis.lower.emplace_back(least_of(loop));
    if (axis.upper.empty()) axis.upper.emplace_back(most_of(loop));
    return axis;
  }

  // The block's memory begins at a multiple of 128, and matrices of a warpgroup need one of 1024:
  // the difference is taken as slack, and offsets count from the next such multiple in it.
  void finish() {
    launch_.shared_bytes += launch_.shared_alignment - kSharedAlignment;
    for (const std::string& name : own_) launch_.buffers.erase(name);
  }

 private:
  Launch& launch_;
  const std::string& kernel_;
  ir::Ranges ranges_;
  std::set<std::string> own_;
  std::set<std::string> matrices_;  // in shared memory, of instructions of a warpgroup
  std::int64_t warps_ = 0;

  bool is_of_host(const ir::Affine& bound) const {
    return std::ranges::none_of(launch_.axes,
                                [&](const Axis& outside) { return bound.uses(outside.var); });
  }
  std::int64_t least_of(const ir::For& loop) const {
    std::optional<std::int64_t> least;
    for (const ir::Affine& low : loop.lower)
      if (const auto min = ir::range_of(low, ranges_).min)
        least = std::max(least.value_or(*min), *min);
    return least ? *least : unknown_grid(loop);
  }
  std::int64_t most_of(const ir::For& loop) const {
    std::optional<std::int64_t> most;
    for (const ir::Affine& high : loop.upper)
      if (const auto max = ir::range_of(high, ranges_).max)
        most = std::min(most.value_or(*max), *max);
    return most ? *most : unknown_grid(loop);
  }
  [[noreturn]] std::int64_t unknown_grid(const ir::For& loop) const {
    throw UserError(ExitStatus::Unsupported,
                    "kernel '" + kernel_ + "': how many blocks the loop '" + loop.loop +
                        "' has depends on another loop of blocks and on sizes: a grid is a "
                        "box; bind one of them");
  }

  void note_buffers(const ir::Stmt& s) {
    if (const auto* store = std::get_if<ir::Store>(&s->op)) launch_.buffers.insert(store->buffer);
    if (const auto* prefetch = std::get_if<ir::Prefetch>(&s->op))
      launch_.buffers.insert(prefetch->buffer);
    const auto note = [&](const ir::Expr& e) {
      if (!e) return;
      for (const ir::Load* load : ir::loads_of(e)) launch_.buffers.insert(load->buffer);
    };
    if (const auto* store = std::get_if<ir::Store>(&s->op)) {
      note(store->value);
      for (const ir::Index& index : store->indices) note(index.indirect);
    }
    if (const auto* branch = std::get_if<ir::If>(&s->op)) note(branch->condition);
  }

  // Buffers lie one behind the other and share no memory, so that no barrier is needed between
  // their uses.
  void place(const ir::LoopBuffer& buffer) {
    own_.insert(buffer.name);
    if (buffer.memory != ir::Memory::Shared) return;
    const std::int64_t alignment =
        matrices_.contains(buffer.name) ? ir::kMatrixAlignment : kSharedAlignment;
    const auto rounded = [](std::int64_t n, std::int64_t to) {
      return checked_mul(ceil_div(n, to), to);
    };
    const std::int64_t bytes =
        checked_mul(checked_product(buffer.shape), size_in_bytes(buffer.dtype));
    launch_.shared_alignment = std::max(launch_.shared_alignment, alignment);
    launch_.offsets[buffer.name] = rounded(launch_.shared_bytes, alignment);
    launch_.shared_bytes =
        checked_add(launch_.offsets[buffer.name], rounded(bytes, kSharedAlignment));
  }

  // The block has as many threads as the loop of threads that wants most: the others leave some
  // idle.
  void count(const ir::For& loop) {
    if (!ir::is_of_threads(loop.kind)) return;
    const ir::Interval range = ranges_.at(loop.var);
    if (!range.max)
      throw UserError(ExitStatus::Unsupported,
                      "kernel '" + kernel_ + "': how many threads the loop '" + loop.loop +
                          "' takes is not known when the kernel is compiled");
    const std::int64_t last = std::max<std::int64_t>(*range.max, 0);
    if (loop.kind == LoopKind::Warp) warps_ = last * ir::kLanes;
    // A loop of lanes or warps needs whole warps.
    const std::int64_t needed = loop.kind == LoopKind::Thread ? last + 1 : warps_ + ir::kLanes;
    launch_.threads = std::max(launch_.threads, needed);
  }
};

}  // namespace

bool has_threads(const ir::Stmt& s) {
  bool found = false;
  ir::for_each_stmt(s, [&](const ir::Stmt& each) {
    const auto* loop = std::get_if<ir::For>(&each->op);
    found = found || (loop && ir::is_of_threads(loop->kind)) || ir::is_of_warp(each);
  });
  return found;
}

Launch describe_launch(const ir::For& outermost, const ir::LoopProgram& program,
                       const ir::Ranges& params) {
  const std::string& kernel = program.name;
  Launch launch;
  Surveyor surveyor(launch, kernel, params);
  surveyor.bind_around(program.body, outermost.var);
  for (const ir::For* loop = &outermost; loop && loop->kind == LoopKind::Block;
       loop = std::get_if<ir::For>(&launch.body->op)) {
    launch.axes.push_back(surveyor.axis(*loop));
    surveyor.bind(*loop);
    launch.body = loop->body;
  }
  POLYTE_CHECK(launch.axes.size() <= 3, "more loops of blocks than a grid has axes");
  surveyor.find_matrices(launch.body);
  surveyor.visit(launch.body);
  surveyor.finish();
  return launch;
}

}  // namespace polyte::codegen
