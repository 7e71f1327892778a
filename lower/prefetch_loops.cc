#include "lower/prefetch_loops.h"

#include "schedule/script/hints.h"

namespace polyte::lower {

using ir::Affine;
using ir::LoopKind;
using ir::Stmt;
using schedule::State;

namespace {

constexpr std::int64_t kUnrolledPrefetches = 16;  // beyond, a loop

}  // namespace

// One prefetch per cache line along the last dimension, and one per element of the others. A row
// that begins inside a line may reach one line more than are counted; that line gets no hint.
Stmt prefetch_loops(const State& state, const schedule::PrefetchHint& hint) {
  const auto box = schedule::ahead_of(state, hint);
  if (!box) return nullptr;
  const DType type = state.dtype_of(hint.buffer);
  const std::int64_t of_line = schedule::kCacheLine / size_in_bytes(type);
  const LoopKind kind =
      schedule::lines_of(*box, type) <= kUnrolledPrefetches ? LoopKind::Unrolled : LoopKind::Serial;
  ir::Prefetch prefetch{hint.buffer, {}, hint.level};
  std::vector<std::pair<std::string, std::int64_t>> loops;
  // for d0 in 0..rows: for d1 in 0..lines: prefetch B[o0 + d0, o1 + 16*d1]   (f32, lines of 64
  // bytes)
  for (std::size_t d = 0; d < box->extent.size(); ++d) {
    const bool is_last = d + 1 == box->extent.size();
    const std::int64_t step = is_last ? of_line : 1, count = (box->extent[d] + step - 1) / step;
    prefetch.indices.emplace_back(box->origin[d]);
    if (count < 1) return nullptr;
    if (count == 1) continue;
    loops.emplace_back(hint.buffer + ".ahead" + std::to_string(d), count);
    prefetch.indices.back().affine = box->origin[d] + Affine::symbol(loops.back().first) * step;
  }
  Stmt body = ir::make_prefetch(std::move(prefetch));
  for (std::size_t i = loops.size(); i-- > 0;)
    body = ir::make_for(
        {loops[i].first, {0}, {loops[i].second}, kind, loops[i].first, std::move(body)});
  return body;
}

}  // namespace polyte::lower
