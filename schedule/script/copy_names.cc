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

// The `copy` nest of a stage, x.in as x.in_2 in its leaf.
NestTree named(const NestTree& copy, const CopyNames& names) {
  if (const auto* loop = std::get_if<NestLoop>(&copy->op))
    return nest_path({{loop->name, loop->kind}}, named(loop->body, names));
  if (const auto* leaf = std::get_if<NestLeaf>(&copy->op))
    if (const auto found = names.find(leaf->statement); found != names.end())
      return nest_statement(found->second);
  return copy;
}

void rename(std::string& statement, const CopyNames& names) {
  if (const auto found = names.find(statement); found != names.end()) statement = found->second;
}

// The members in which directives name a loop with its statement, which may be a copy.
template <typename T>
void rename_in(T& operation, const CopyNames& names) {
  if constexpr (requires { operation.loop.statement; }) rename(operation.loop.statement, names);
  if constexpr (requires { operation.outer.statement; }) rename(operation.outer.statement, names);
  if constexpr (requires { operation.inner.statement; }) rename(operation.inner.statement, names);
  if constexpr (std::is_same_v<T, Stage>)
    if (operation.copy) operation.copy = named(operation.copy, names);
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
  if (names.empty()) return;
  for (Directive& directive : nest)
    std::visit([&](auto& operation) { rename_in(operation, names); }, directive.operation);
}

}  // namespace polyte::schedule
