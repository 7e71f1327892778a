#include "lower/place_registers.h"

#include <algorithm>
#include <set>

#include "ir/matrix_load.h"

namespace polyte::lower {

using ir::Stmt;

namespace {

// The first subscript of the buffer that is not a number; empty: there is none. Registers have no
// address on a GPU: a subscript that is computed would have to be looked up in memory.
std::string varying_subscript(const ir::Alloc& alloc) {
  std::string found;
  std::set<std::string> tile;  // loops of instructions of warps: all of these, at once
  ir::for_each_stmt(alloc.body, [&](const Stmt& s) {
    if (alloc.buffer.of_lanes && ir::is_of_warp(s))
      ir::for_each_stmt(s, [&](const Stmt& each) {
        if (const auto* loop = std::get_if<ir::For>(&each->op)) tile.insert(loop->var);
      });
  });
  const auto see = [&](const std::string& buffer, const std::vector<ir::Index>& indices) {
    if (buffer != alloc.buffer.name || !found.empty()) return;
    const auto varies = [&](const ir::Index& index) {
      // The last subscript of a buffer that lanes share is the lane itself.
      if (alloc.buffer.of_lanes && &index == &indices.back()) return false;
      std::set<std::string> symbols;
      index.affine.collect_symbols(symbols);
      return index.indirect != nullptr ||
             std::ranges::any_of(symbols, [&](const std::string& s) { return !tile.contains(s); });
    };
    if (const auto at = std::ranges::find_if(indices, varies); at != indices.end())
      found = ir::to_string(at->affine);
  };
  ir::for_each_stmt(alloc.body, [&](const Stmt& s) {
    if (const auto* store = std::get_if<ir::Store>(&s->op)) see(store->buffer, store->indices);
  });
  ir::for_each_expr(alloc.body, [&](const ir::Expr& root) {
    for (const ir::Load* load : ir::loads_of(root)) see(load->buffer, load->indices);
  });
  return found;
}

// From the inside out, so that each allocation is seen once, with its whole body.
Stmt placed(const Stmt& s, std::vector<std::string>& notes) {
  Stmt below = ir::rewrite_children(s, [&](const Stmt& child) { return placed(child, notes); });
  const auto* alloc = std::get_if<ir::Alloc>(&below->op);
  if (!alloc || alloc->buffer.memory != ir::Memory::Register) return below;
  const std::string subscript = varying_subscript(*alloc);
  if (subscript.empty()) return below;
  notes.push_back("buffer '" + alloc->buffer.name + "' is not kept in registers: subscript " +
                  subscript + " is not constant");
  ir::Alloc copy = *alloc;
  copy.buffer.memory = ir::Memory::Stack;
  return ir::make_alloc(std::move(copy));
}

}  // namespace

ir::LoopProgram place_registers(const ir::LoopProgram& program, std::vector<std::string>& notes) {
  ir::LoopProgram result = program;
  result.body = placed(program.body, notes);
  return result;
}

}  // namespace polyte::lower
