#include "schedule/script/split_begins.h"

#include <algorithm>
#include <map>
#include <set>

#include "schedule/state/tile_begins.h"

namespace polyte::schedule {
namespace {

// Directives that change what a loop of an iterator's name counts.
template <typename T>
constexpr bool kRenumbers =
    std::is_same_v<T, Map> || std::is_same_v<T, Remap> || std::is_same_v<T, Skew> ||
    std::is_same_v<T, Shift> || std::is_same_v<T, Reverse> || std::is_same_v<T, Rename> ||
    std::is_same_v<T, AffineMap> || std::is_same_v<T, Wavefront>;

// After such a directive, a loop with an iterator's name need not count that iterator, so that
// splits behind it keep counting from 0.
bool renumbers(const Directive& directive) {
  const auto of = [](const auto& operation) {
    return kRenumbers<std::decay_t<decltype(operation)>>;
  };
  const auto* merge = std::get_if<Merge>(&directive.operation);
  return std::visit(of, directive.operation) || (merge && !merge->with.empty());
}

// For each loop in lanes, the loops directly around it, unrolled ones left out.
using AroundLanes = std::map<std::string, std::set<std::string>>;
void add_lanes(const NestTree& tree, const std::string& around, AroundLanes& into) {
  if (const auto* sequence = std::get_if<NestSequence>(&tree->op))
    for (const NestTree& child : sequence->children) add_lanes(child, around, into);
  const auto* loop = std::get_if<NestLoop>(&tree->op);
  if (!loop) return;
  if (loop->kind == LoopKind::Vector) into[loop->name].insert(around);
  add_lanes(loop->body, loop->kind == LoopKind::Unrolled ? around : loop->name, into);
}

struct Lines {
  std::map<std::string, std::vector<Split*>> splits;  // by loop
  AroundLanes around_lanes;
};

// A row's vectors follow each other: <n.i> directly within n.o.
Lanes lanes_along(const std::string& loop, const AroundLanes& around) {
  const auto found = around.find(within_tile(loop));
  if (found == around.end()) return Lanes::None;
  return found->second == std::set{tiles_of(loop)} ? Lanes::OfRow : Lanes::OfTile;
}

void collect(std::span<Directive> directives, Lines& lines) {
  for (Directive& directive : directives) {
    if (auto* together = std::get_if<Transaction>(&directive.operation))
      collect(together->steps, lines);
    auto* split = std::get_if<Split>(&directive.operation);
    if (split && split->from.text.empty()) lines.splits[split->loop.loop].push_back(split);
    if (const auto* nest = std::get_if<Nest>(&directive.operation))
      add_lanes(nest->tree, "", lines.around_lanes);
  }
}

// The statements whose loop these lines split.
std::vector<const ir::Statement*> meant_by(const std::vector<Split*>& splits,
                                           const ir::Program& program) {
  std::vector<const ir::Statement*> statements;
  for (const ir::Statement& s : program.statements)
    if (std::ranges::any_of(splits, [&](const Split* split) {
          return split->loop.statement.empty() || split->loop.statement == s.name;
        }))
      statements.push_back(&s);
  return statements;
}

}  // namespace

void count_from_begins(const ir::Program& program, std::span<Directive> nest) {
  const auto end = std::ranges::find_if(nest, renumbers);
  Lines lines;
  collect({nest.begin(), end}, lines);
  for (const auto& [loop, splits] : lines.splits) {
    const auto begin = first_of_tiles(program, meant_by(splits, program), loop,
                                      lanes_along(loop, lines.around_lanes));
    if (begin && *begin != 0)
      for (Split* split : splits) split->from.text = std::to_string(*begin);
  }
}

}  // namespace polyte::schedule
