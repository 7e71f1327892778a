#include "schedule/script/copy_names.h"

#include <algorithm>
#include <map>

namespace polyte::schedule {
namespace {

using CopyNames = std::map<std::string, std::string>;  // x.in -> x.in_2

// The stage if it copies its tensor in; sums kept in registers do not.
const Stage* as_copy(const Directive& directive) {
  const auto* stage = std::get_if<Stage>(&directive.operation);
  return stage && (stage->copy || stage->memory != Memory::Register) ? stage : nullptr;
}

void rename(std::string& statement, const CopyNames& names) {
  if (const auto found = names.find(statement); found != names.end()) statement = found->second;
}

void rename(std::vector<std::string>& statements, const CopyNames& names) {
  for (std::string& statement : statements) rename(statement, names);
}

void rename(LoopName& loop, const CopyNames& names) { rename(loop.statement, names); }

void rename(std::optional<LoopName>& loop, const CopyNames& names) {
  if (loop) rename(*loop, names);
}

void rename(std::vector<Map::Item>& items, const CopyNames& names) {
  for (Map::Item& item : items) rename(item.statement, names);
}

// x.in as x.in_2 in the leaves.
void rename(NestTree& tree, const CopyNames& names) {
  if (!tree) return;
  NestNode node = *tree;
  if (auto* loop = std::get_if<NestLoop>(&node.op)) rename(loop->body, names);
  if (auto* sequence = std::get_if<NestSequence>(&node.op))
    for (NestTree& child : sequence->children) rename(child, names);
  if (auto* leaf = std::get_if<NestLeaf>(&node.op)) rename(leaf->statement, names);
  tree = std::make_shared<const NestNode>(std::move(node));
}

void rename(std::span<Directive> directives, const CopyNames& names);

void rename(const Size&, const CopyNames&) {}  // cut k at 4

// The members in which directives name a statement, by itself, in front of a loop or in a nest. It
// may be a copy.
template <typename T>
void rename_in(T& operation, const CopyNames& names) {
  if constexpr (requires { operation.statement; }) rename(operation.statement, names);
  if constexpr (requires { operation.statements; }) rename(operation.statements, names);
  if constexpr (requires { operation.items; }) rename(operation.items, names);
  if constexpr (requires { operation.loop.statement; }) rename(operation.loop, names);
  if constexpr (requires { operation.outer.statement; }) rename(operation.outer, names);
  if constexpr (requires { operation.inner.statement; }) rename(operation.inner, names);
  if constexpr (requires { operation.at; }) rename(operation.at, names);
  if constexpr (requires { operation.copy; }) rename(operation.copy, names);
  if constexpr (requires { operation.tree; }) rename(operation.tree, names);
  if constexpr (requires { operation.steps; }) rename(operation.steps, names);
}

void rename(std::span<Directive> directives, const CopyNames& names) {
  for (Directive& directive : directives)
    std::visit([&](auto& operation) { rename_in(operation, names); }, directive.operation);
}

}  // namespace

// The n-th stage of a tensor, counted over the nests before, makes x.in_n (fresh in
// primitives/stage_plan.h); the first one x.in.
void name_copies(std::span<const Directive> before, std::span<Directive> nest) {
  CopyNames names;
  for (const Directive& directive : nest) {
    const Stage* stage = as_copy(directive);
    if (!stage) continue;
    const auto earlier = std::ranges::count_if(before, [&](const Directive& other) {
      const Stage* copy = as_copy(other);
      return copy && copy->tensor == stage->tensor;
    });
    if (earlier > 0)
      names[stage->tensor + ".in"] = stage->tensor + ".in_" + std::to_string(earlier + 1);
  }
  if (!names.empty()) rename(nest, names);
}

}  // namespace polyte::schedule
