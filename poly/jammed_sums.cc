#include "poly/jammed_sums.h"

#include <algorithm>
#include <iterator>

#include "schedule/state/digits.h"

namespace polyte::poly {
namespace {

using schedule::LoopKind;
using schedule::NestLeaf;
using schedule::NestLoop;
using schedule::NestTree;

constexpr std::int64_t kTogether = 8;     // iterations: as many rows are read side by side
constexpr std::int64_t kWorthWhile = 32;  // iterations of a loop

class Jammer {
 public:
  Jammer(const ir::Program& program, const schedule::State& reference,
         const schedule::NestPlan& nest)
      : program_(program), reference_(reference), result_{nest, {}} {}

  std::optional<JammedSums> run() {
    NestTree tree = visit(result_.nest.tree);
    if (result_.loop_of.empty()) return std::nullopt;
    result_.nest.tree = std::move(tree);
    result_.nest.tree_by = schedule::Provenance::TileModel;
    return std::move(result_);
  }

 private:
  const ir::Program& program_;
  const schedule::State& reference_;
  JammedSums result_;

  NestTree visit(const NestTree& tree) {
    if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op)) {
      std::vector<NestTree> children;
      for (const NestTree& child : sequence->children) children.push_back(visit(child));
      return schedule::nest_sequence(std::move(children));
    }
    const auto* loop = std::get_if<NestLoop>(&tree->op);
    if (!loop) return tree;
    const std::vector<NestTree> children = children_of(loop->body);
    const auto is_sum = [&](const NestTree& child) { return is_jammed(*loop, child); };
    const bool is_new = loop->kind == LoopKind::Serial && loop->name.find('.') == std::string::npos;
    if (is_new && std::ranges::any_of(children, is_sum)) return jammed(*loop, children);
    return schedule::nest_path({{loop->name, loop->kind}}, visit(loop->body));
  }

  static std::vector<NestTree> children_of(const NestTree& body) {
    if (const auto* sequence = std::get_if<schedule::NestSequence>(&body->op))
      return sequence->children;
    return {body};
  }

  // The iterator of a statement that a loop of the nest counts, where its values are just that.
  std::optional<std::string> iterator_of(const std::string& statement,
                                         const std::string& loop) const {
    for (const schedule::PlannedMap& map : result_.nest.maps) {
      const auto item =
          std::ranges::find(map.items, statement, &schedule::PlannedMap::Item::statement);
      if (item == map.items.end()) continue;
      const auto at = std::ranges::find(map.loops, loop);
      if (at == map.loops.end()) return std::nullopt;  // of a tile
      return item->values.at(static_cast<std::size_t>(at - map.loops.begin())).as_symbol();
    }
    return loop;
  }

  // A sum in vectors, of which the loop moves no cell.
  // The condition of unroll-and-jam's gain: the loop is in no subscript of the write, so its
  // iterations all update the same cells; and the lanes are a row of the same statement, so that
  // the cells are vectors.
  bool is_jammed(const NestLoop& loop, const NestTree& child) const {
    const auto* vector = std::get_if<NestLoop>(&child->op);
    const auto* leaf = vector ? std::get_if<NestLeaf>(&vector->body->op) : nullptr;
    if (!leaf || vector->kind != LoopKind::Vector || !leaf->when.empty()) return false;
    const ir::Statement& s = program_.statement(leaf->statement);
    if (s.combiner == ir::Combiner::None) return false;
    const auto iterator = iterator_of(s.name, loop.name);
    if (!iterator || !is_long(s, *iterator) || !iterator_of(s.name, vector->name)) return false;
    return std::ranges::none_of(s.writes.front().indices, [&](const ir::Index& index) {
      return index.affine.uses(*iterator);
    });
  }

  bool is_long(const ir::Statement& s, const std::string& iterator) const {
    const ir::Ranges ranges = schedule::iterator_ranges(reference_, reference_.at(s.name));
    const auto range = ranges.find(iterator);
    if (range == ranges.end() || !range->second.min || !range->second.max) return true;
    return *range->second.max - *range->second.min + 1 >= kWorthWhile;
  }

  // Children keep their order. Those that are jammed become nests of their own below the tile, runs
  // of the others share one loop over its iterations:
  //
  //   i > { A; <j> > s; B }   ->   i.o > { i.i > A; j.o > [i.i] > <j.i> > s; i.i > B }
  NestTree jammed(const NestLoop& loop, const std::vector<NestTree>& children) {
    const std::string one = schedule::within_tile(loop.name);
    std::vector<NestTree> parts, one_by_one;
    const auto flush = [&] {
      if (!one_by_one.empty())
        parts.push_back(schedule::nest_path({{one}}, schedule::nest_sequence(one_by_one)));
      one_by_one.clear();
    };
    split_below(loop);
    for (const NestTree& child : children) {
      if (!is_jammed(loop, child)) {
        one_by_one.push_back(child);
        continue;
      }
      flush();
      const auto& vector = std::get<NestLoop>(child->op);
      const std::string& statement = std::get<NestLeaf>(vector.body->op).statement;
      result_.nest.splits.emplace_back(
          schedule::PlannedSplit{statement, vector.name, schedule::Vectors{1}});
      parts.push_back(schedule::nest_path({{schedule::tiles_of(vector.name)},
                                           {one, LoopKind::Unrolled},
                                           {schedule::within_tile(vector.name), LoopKind::Vector}},
                                          vector.body));
    }
    flush();
    return schedule::nest_path({{schedule::tiles_of(loop.name)}},
                               schedule::nest_sequence(std::move(parts)));
  }

  // Once where all loops of this name are this one, which statements of a region share before
  // the nest. Without regions each statement has its own, and others may have loops of this name.
  void split_below(const NestLoop& loop) {
    const auto split = [&](const std::string& statement) {
      result_.nest.splits.emplace_back(
          schedule::PlannedSplit{statement, loop.name, schedule::Elements{kTogether}});
    };
    const std::vector<std::string> below = statements_below(loop.body);
    for (const std::string& statement : below) result_.loop_of[statement] = loop.name;
    const auto is_elsewhere = [&](const ir::Statement& s) {
      return has_loop(s, loop.name) && std::ranges::find(below, s.name) == below.end();
    };
    const bool has_regions = std::ranges::any_of(
        program_.statements, [](const ir::Statement& s) { return s.region_depth > 0; });
    if (has_regions && std::ranges::none_of(program_.statements, is_elsewhere))
      split("");
    else
      std::ranges::for_each(below, split);
  }

  bool has_loop(const ir::Statement& s, const std::string& loop) const {
    for (const schedule::PlannedMap& map : result_.nest.maps)
      if (std::ranges::find(map.items, s.name, &schedule::PlannedMap::Item::statement) !=
          map.items.end())
        return std::ranges::find(map.loops, loop) != map.loops.end();
    return std::ranges::find(s.iterators, loop) != s.iterators.end();
  }

  static std::vector<std::string> statements_below(const NestTree& tree) {
    if (const auto* leaf = std::get_if<NestLeaf>(&tree->op)) return {leaf->statement};
    if (const auto* inner = std::get_if<NestLoop>(&tree->op)) return statements_below(inner->body);
    std::vector<std::string> all;
    for (const NestTree& child : std::get<schedule::NestSequence>(tree->op).children)
      std::ranges::copy(statements_below(child), std::back_inserter(all));
    return all;
  }
};

}  // namespace

std::optional<JammedSums> with_jammed_sums(const ir::Program& program,
                                           const schedule::State& reference,
                                           const schedule::NestPlan& nest) {
  return Jammer(program, reference, nest).run();
}

}  // namespace polyte::poly
