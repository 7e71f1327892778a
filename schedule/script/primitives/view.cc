// view C as [64, 63]:   C: f32[4032]  C[63*m + n]   ->   C: f32[64, 63]  C[m, n]
//
// The elements stay in their places: each new dimension is a digit of an old subscript
// (ir/views.h). Directives that follow count by the new dimensions; loops and storage are those of
// the tensor as it is declared. A rewrite of the Program, proved as such; no order changes.
#include "ir/views.h"

#include <algorithm>

#include "schedule/script/primitives/rewriting.h"

namespace polyte::schedule {

namespace {

std::string shape_text(const ir::Extents& shape) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

}  // namespace

Applied view(const State& state, const View& directive, const PrimitiveContext& context) {
  const std::string& tensor = directive.tensor;
  const ir::Buffer* buffer = state.basis->find_buffer(tensor);
  if (!buffer) {
    Names known;
    for (const ir::Buffer& other : state.basis->buffers) known.push_back(other.name);
    return malformed("no tensor is called " + tensor + inlined_text(state, tensor) + " (they are " +
                     join_words(known) + ")");
  }
  for (const StagedBuffer& staged : state.staged)
    if (staged.of == tensor)
      return malformed(tensor + " is staged already: view comes before its stage");
  for (const auto& [temporary, host] : state.reused)
    if (temporary == tensor || host == tensor)
      return malformed(temporary + " lies in the memory of " + host + ": view comes before reuse");
  ir::View view{tensor, {}};
  for (const Size& extent : directive.shape) {
    const auto value = evaluate(extent, context);
    if (!value) return value.error();
    if (*value < 1)
      return malformed("an extent of a view is " + std::to_string(*value) + ", expected 1 or more");
    view.shape.push_back(*value);
  }
  if (std::ranges::any_of(buffer->shape,
                          [](const ir::Affine& extent) { return !extent.is_constant(); }))
    return conservative("the extents of " + tensor + " are open");
  if (const ir::Extents stored = ir::constant_shape(*buffer); !ir::is_view_of(stored, view.shape))
    return malformed(
        shape_text(view.shape) + " is no view of " + shape_text(stored) +
        ": its extents have to be factors of those, or products of neighbours, in order");
  const auto known = state.viewed.find(tensor);
  if (known != state.viewed.end() && !ir::is_view_of(known->second, view.shape))
    return malformed(shape_text(view.shape) + " is no view of " + shape_text(known->second) +
                     ", in which " + tensor + " is stored: it is seen as " +
                     shape_text(ir::constant_shape(*buffer)) + " already");
  const auto program = ir::with_view(*state.basis, view);
  if (!program) return conservative("no view of " + tensor + ": " + program.error().reason);
  State next = state;
  next.basis = std::make_shared<const ir::Program>(*program);
  for (ScheduledStatement& s : next.statements) {
    const auto body = ir::with_view(*state.basis, s.body, view);
    if (!body) return conservative("no view of " + tensor + ": " + body.error().reason);
    s.body = *body;
  }
  // The shape in which the tensor is stored: of a second view the first one's entry stays.
  next.viewed.emplace(tensor, ir::constant_shape(*buffer));
  next.rewrites.push_back({.kind = Rewrite::Kind::View, .tensor = tensor, .after = next.basis});
  if (!context.prover) return next;
  if (auto refusal = context.prover->check_rewrites(next)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
