#include "lower/place_buffers.h"

#include <algorithm>

#include "lower/register_plan.h"
#include "support/checked.h"

namespace polyte::lower {

using ir::Memory;
using ir::Stmt;

namespace {

// Rounded up to whole cache lines.
std::int64_t bytes_of(const ir::LoopBuffer& b) {
  const std::int64_t bytes = checked_mul(checked_product(b.shape), size_in_bytes(b.dtype));
  return checked_mul(ceil_div(bytes, 64), 64);
}

using Places = std::map<std::string, Memory>;

// The subscripts of one lane of a vector.
std::vector<ir::Index> at_lane(std::vector<ir::Index> indices, const ir::Lanes& lanes, int lane) {
  for (std::size_t d = 0; d < indices.size(); ++d)
    indices[d].affine = indices[d].affine + lanes.strides[d] * lane;
  return indices;
}

bool is_gathered(const std::vector<ir::Index>& indices) {
  return std::ranges::any_of(indices, [](const ir::Index& i) { return i.indirect != nullptr; });
}

// Elements that are computed one by one are no vector in registers: a vector copy out of them
// becomes a copy of each element.
//
//   y[8*i; 8 by 1] = acc[0; 8 by 1]   ->   y[8*i] = acc[0];  y[8*i + 1] = acc[1];  ..
Stmt by_elements(const Stmt& s, const std::string& buffer) {
  Stmt below =
      ir::rewrite_children(s, [&](const Stmt& child) { return by_elements(child, buffer); });
  const auto* store = std::get_if<ir::Store>(&below->op);
  const auto* load = store ? std::get_if<ir::Load>(&store->value->op) : nullptr;
  if (!load || load->buffer != buffer || load->otherwise || load->lanes.count == 1 ||
      load->lanes.is_masked() || store->lanes.is_masked() || is_gathered(load->indices) ||
      is_gathered(store->indices))
    return below;
  std::vector<Stmt> each;
  for (int lane = 0; lane < load->lanes.count; ++lane) {
    ir::Store one = *store;
    one.indices = at_lane(store->indices, store->lanes, lane);
    one.lanes = {.count = 1, .strides = {}};
    one.value =
        ir::make_load(store->value->type, buffer, at_lane(load->indices, load->lanes, lane));
    for (std::size_t i = 0; i < one.origin.strides.size(); ++i)
      one.origin.instance[i] = one.origin.instance[i] + one.origin.strides[i] * lane;
    one.origin.strides.clear();
    for (ir::Affine& value : one.origin.instance)
      value = ir::substitute(value, {{ir::kLaneNumber, ir::Affine(lane)}});
    each.push_back(ir::make_store(std::move(one)));
  }
  return ir::make_block(std::move(each));
}

// Register buffers as planned (register_plan.h); those without a plan go to the stack, with a note.
// A buffer that is computed element by element and copied out in vectors gets its plan once the
// copy is by elements, too.
Stmt plan_registers(const Stmt& s, std::vector<std::string>& notes) {
  Stmt below =
      ir::rewrite_children(s, [&](const Stmt& child) { return plan_registers(child, notes); });
  const auto* alloc = std::get_if<ir::Alloc>(&below->op);
  if (!alloc || alloc->buffer.memory != Memory::Register) return below;
  const RegisterPlan plan(*alloc);
  if (plan.reason.empty()) return plan.applied(*alloc);
  ir::Alloc apart = *alloc;
  apart.body = by_elements(alloc->body, alloc->buffer.name);
  if (const RegisterPlan other(apart); other.reason.empty()) return other.applied(apart);
  notes.push_back("buffer '" + alloc->buffer.name + "' is not kept in registers: " + plan.reason);
  ir::Alloc copy = *alloc;
  copy.buffer.memory = Memory::Stack;
  return ir::make_alloc(std::move(copy));
}

// The largest leave the stack first; of equal ones the earlier.
void limit_stack(const Stmt& body, Places& places, std::vector<std::string>& notes) {
  // Bytes, in order of appearance.
  std::vector<std::pair<std::int64_t, const ir::LoopBuffer*>> on_stack;
  std::int64_t total = 0;
  ir::for_each_stmt(body, [&](const Stmt& s) {
    const auto* alloc = std::get_if<ir::Alloc>(&s->op);
    if (!alloc || alloc->buffer.memory != Memory::Stack) return;
    on_stack.emplace_back(bytes_of(alloc->buffer), &alloc->buffer);
    total = checked_add(total, on_stack.back().first);
  });
  while (total > kStackLimit) {
    const auto largest = std::ranges::max_element(
        on_stack, [](const auto& a, const auto& b) { return a.first < b.first; });
    const ir::LoopBuffer& b = *largest->second;
    total -= largest->first;
    largest->first = -1;
    places[b.name] = Memory::Heap;
    notes.push_back("buffer '" + b.name + "' (" + std::to_string(bytes_of(b)) +
                    " bytes) is in the kernel's scratch: stack buffers are limited to " +
                    std::to_string(kStackLimit) + " bytes");
  }
}

Stmt moved(const Stmt& s, const Places& places) {
  Stmt below = ir::rewrite_children(s, [&](const Stmt& child) { return moved(child, places); });
  const auto* alloc = std::get_if<ir::Alloc>(&below->op);
  const auto place = alloc ? places.find(alloc->buffer.name) : places.end();
  if (place == places.end()) return below;
  ir::Alloc copy = *alloc;
  copy.buffer.memory = place->second;
  return ir::make_alloc(std::move(copy));
}

}  // namespace

ir::LoopProgram place_buffers(const ir::LoopProgram& program, std::vector<std::string>& notes) {
  ir::LoopProgram result = program;
  result.body = plan_registers(program.body, notes);
  Places places;
  limit_stack(result.body, places, notes);
  if (!places.empty()) result.body = moved(result.body, places);
  return result;
}

}  // namespace polyte::lower
