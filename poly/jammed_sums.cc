#include "poly/jammed_sums.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "poly/recurrent_rows.h"
#include "schedule/state/digits.h"

namespace polyte::poly {
namespace {

using schedule::LoopKind;
using schedule::NestLeaf;
using schedule::NestLoop;
using schedule::NestTree;

constexpr std::int64_t kTogether = 8;  // iterations: as many rows are read side by side
// Sums of rows in a pass, a register each. Lines from memory arrive sooner in more streams; from
// the caches few rows are enough, and end sooner.
constexpr std::int64_t kFromCache = 4, kFromMemory = 12;
constexpr std::int64_t kWorthWhile = 32;  // iterations of a loop

using Sums = std::map<std::string, OrderPlan::Inner>;

class Jammer {
 public:
  // `sums`: those that a pass may have in parts, on this machine; both null: phases alone.
  Jammer(const ir::Program& program, const schedule::State& reference,
         const schedule::NestPlan& nest, const Sums* sums, const Machine* machine)
      : program_(program),
        reference_(reference),
        sums_(sums),
        machine_(machine),
        result_{nest, {}, {}} {}

  std::optional<JammedSums> run() {
    NestTree tree = visit(result_.nest.tree);
    if (result_.loop_of.empty() || (sums_ && !has_passes_)) return std::nullopt;
    result_.nest.tree = std::move(tree);
    result_.nest.tree_by = schedule::Provenance::TileModel;
    return std::move(result_);
  }

 private:
  const ir::Program& program_;
  const schedule::State& reference_;
  const Sums* const sums_;
  const Machine* const machine_;
  JammedSums result_;
  bool has_passes_ = false;

  // What an element of a tensor is to a loop over rows and one along them.
  struct Touched {
    std::string buffer;
    std::vector<ir::Affine> indices;  // over the two loops
    bool is_written = false, is_of_both = false;
  };
  struct RowLoop {  // one statement along the rows
    const ir::Statement* statement = nullptr;
    std::string loop;
    bool is_sum = false;  // into one cell per row, in parts
    std::vector<Touched> touched;
    std::set<ir::Constraint> bounds;    // of the two loops
    std::int64_t rows = 1, length = 1;  // at most
  };
  using Pass = std::vector<RowLoop>;  // over the same elements at the same time

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
    if (is_new && std::ranges::any_of(children, is_sum)) {
      const auto passes = sums_ ? passes_of(*loop, children) : std::nullopt;
      return passes ? in_passes(*loop, *passes) : jammed(*loop, children);
    }
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

  // Of a loop within tiles the loop that the map has made.
  std::string untiled(const std::string& loop) const {
    if (const auto& tile = result_.nest.tile)
      for (const std::string& each : tile->loops)
        if (schedule::within_tile(each) == loop) return each;
    return loop;
  }

  // A sum in vectors, of which the loop moves no cell: it is in no subscript of the write, so
  // that all its iterations update the same cells, and the lanes are a row of them.
  bool is_jammed(const NestLoop& loop, const NestTree& child) const {
    const auto* vector = std::get_if<NestLoop>(&child->op);
    const auto* leaf = vector ? std::get_if<NestLeaf>(&vector->body->op) : nullptr;
    if (!leaf || vector->kind != LoopKind::Vector || !leaf->when.empty()) return false;
    const ir::Statement& s = program_.statement(leaf->statement);
    if (s.combiner == ir::Combiner::None) return false;
    const auto iterator = iterator_of(s.name, loop.name);
    if (!iterator || !is_long(s, *iterator) || !iterator_of(s.name, untiled(vector->name)))
      return false;
    return std::ranges::none_of(s.writes.front().indices, [&](const ir::Index& index) {
      return index.affine.uses(*iterator);
    });
  }

  bool is_long(const ir::Statement& s, const std::string& iterator) const {
    return extent(s, iterator) >= kWorthWhile;
  }

  std::int64_t extent(const ir::Statement& s, const std::string& iterator) const {
    constexpr std::int64_t kUnknown = 1 << 20;
    const ir::Ranges ranges = schedule::iterator_ranges(reference_, reference_.at(s.name));
    const auto range = ranges.find(iterator);
    if (range == ranges.end() || !range->second.min || !range->second.max) return kUnknown;
    return *range->second.max - *range->second.min + 1;
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
    split_below(loop, kTogether);
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

  // One statement with loops over rows and along them, in the names of the loops, so that
  // accesses of several statements can be compared; nothing where something is not known.
  std::optional<RowLoop> row_loop(const NestLoop& rows, const NestTree& child) const {
    const auto* loop = std::get_if<NestLoop>(&child->op);
    const auto* leaf = loop ? std::get_if<NestLeaf>(&loop->body->op) : nullptr;
    if (!leaf || !leaf->when.empty()) return std::nullopt;
    RowLoop found;
    found.statement = &program_.statement(leaf->statement);
    found.loop = loop->name;
    const auto sum = sums_->find(leaf->statement);
    found.is_sum =
        loop->kind == LoopKind::Serial && sum != sums_->end() && sum->second.loop == loop->name;
    const auto row = iterator_of(leaf->statement, rows.name),
               element = iterator_of(leaf->statement, loop->name);
    if (!row || !element || (!found.is_sum && loop->kind != LoopKind::Vector)) return std::nullopt;
    found.rows = extent(*found.statement, *row);
    found.length = extent(*found.statement, *element);
    const ir::Bindings over_loops = {{*row, ir::Affine::symbol(rows.name)},
                                     {*element, ir::Affine::symbol(loop->name)}};
    const auto touch = [&](const std::string& buffer, const std::vector<ir::Index>& indices,
                           bool is_written) {
      Touched touched{buffer, {}, is_written, false};
      bool of_row = false, of_element = false, is_known = true;
      for (const ir::Index& index : indices) {
        is_known = is_known && !index.indirect;
        of_row = of_row || index.affine.uses(*row);
        of_element = of_element || index.affine.uses(*element);
        touched.indices.push_back(ir::substitute(index.affine, over_loops));
      }
      touched.is_of_both = of_row && of_element;
      found.touched.push_back(std::move(touched));
      return is_known && (!is_written || !found.is_sum || of_row);
    };
    bool is_known = true;
    for (const ir::Access& write : found.statement->writes)
      is_known = touch(write.buffer, write.indices, true) && is_known;
    for (const ir::Expr& value : found.statement->values)
      for (const ir::Load* load : ir::loads_of(value))
        is_known = touch(load->buffer, load->indices, false) && is_known;
    for (const ir::Constraint& c : found.statement->domain) {
      if (!c.expr.uses(*row) && !c.expr.uses(*element)) continue;
      is_known = is_known && !(c.expr.uses(*row) && c.expr.uses(*element));
      found.bounds.insert(ir::substitute(c, over_loops));
    }
    if (!is_known) return std::nullopt;
    return found;
  }

  // None needs what another makes of a whole row, and all run over the same rows.
  static bool may_join(const Pass& pass, const RowLoop& next) {
    return std::ranges::all_of(pass, [&](const RowLoop& before) {
      if (before.loop != next.loop || before.bounds != next.bounds) return false;
      return std::ranges::all_of(before.touched, [&](const Touched& a) {
        return std::ranges::all_of(next.touched, [&](const Touched& b) {
          return a.buffer != b.buffer || is_same(a, b) || (!a.is_written && !b.is_written);
        });
      });
    });
  }
  static bool is_same(const Touched& a, const Touched& b) {
    return a.buffer == b.buffer && a.is_of_both && a.indices == b.indices;
  }
  static bool shares_elements(const Pass& pass) {
    for (auto one = pass.begin(); one != pass.end(); ++one)
      for (const RowLoop& other : std::span(one + 1, pass.end()))
        for (const Touched& a : one->touched)
          if (std::ranges::any_of(other.touched, [&](const Touched& b) { return is_same(a, b); }))
            return true;
    return false;
  }

  // As few passes over the rows as can be. nullopt where rows one by one are as good: no element is
  // of two statements, and no sum along a row is in a pass.
  std::optional<std::vector<Pass>> passes_of(const NestLoop& loop,
                                             const std::vector<NestTree>& children) const {
    std::vector<Pass> passes;
    for (const NestTree& child : children) {
      auto next = row_loop(loop, child);
      if (!next) return std::nullopt;
      if (passes.empty() || !may_join(passes.back(), *next)) passes.emplace_back();
      passes.back().push_back(*std::move(next));
    }
    const auto has_sum = [](const Pass& pass) {
      return std::ranges::any_of(pass, &RowLoop::is_sum);
    };
    const bool gains = std::ranges::any_of(passes, shares_elements) ||
                       (passes.size() > 1 && std::ranges::any_of(passes, has_sum));
    if (!gains) return std::nullopt;
    return passes;
  }

  // How many rows come together. What a later pass reads of them again has to stay in the cache.
  std::int64_t rows_together(const std::vector<Pass>& passes) const {
    std::map<std::string, double> row_bytes;
    double rows = 1;
    std::int64_t sums = 1;  // at most, in a pass
    for (const Pass& pass : passes) {
      sums = std::max<std::int64_t>(sums, std::ranges::count(pass, true, &RowLoop::is_sum));
      for (const RowLoop& each : pass) {
        rows = std::max(rows, static_cast<double>(each.rows));
        for (const Touched& touched : each.touched)
          if (touched.is_of_both)
            row_bytes[touched.buffer] = static_cast<double>(each.length) *
                                        size_in_bytes(program_.buffer(touched.buffer).dtype);
      }
    }
    double bytes = 0;  // of a row of each tensor
    for (const auto& [buffer, row] : row_bytes) bytes += row;
    const bool is_far = bytes * rows > static_cast<double>(machine_->l3.bytes);
    std::int64_t together = (is_far ? kFromMemory : kFromCache) / sums;
    if (passes.size() > 1) {
      const double near = static_cast<double>(machine_->l2.bytes) / 2;
      together = std::min(together, static_cast<std::int64_t>(near / std::max(1.0, bytes)));
    }
    return std::max<std::int64_t>(2, together);
  }

  NestTree in_passes(const NestLoop& loop, const std::vector<Pass>& passes) {
    has_passes_ = true;
    split_below(loop, rows_together(passes));
    std::vector<NestTree> all;
    for (const Pass& pass : passes) add_pass(loop, pass, all);
    return schedule::nest_path({{schedule::tiles_of(loop.name)}},
                               schedule::nest_sequence(std::move(all)));
  }

  // Sums begin in front of the pass, a vector of parts per row; their lanes are added up behind
  // it.
  void add_pass(const NestLoop& loop, const Pass& pass, std::vector<NestTree>& all) {
    const std::string rows = schedule::tiles_of(loop.name), row = schedule::within_tile(loop.name),
                      vector = schedule::tiles_of(pass[0].loop),
                      lane = schedule::within_tile(pass[0].loop);
    const auto in_vectors = [&](const std::string& statement) {
      return schedule::nest_path({{lane, LoopKind::Vector}}, schedule::nest_statement(statement));
    };
    // The split of a statement that is no sum cuts the tail for all.
    const bool has_split = !std::ranges::all_of(pass, &RowLoop::is_sum);
    std::vector<NestTree> steps, ends;
    for (const RowLoop& each : pass) {
      const ir::Statement& s = *each.statement;
      if (!each.is_sum) {
        result_.nest.splits.emplace_back(
            schedule::PlannedSplit{s.name, each.loop, schedule::Vectors{1}});
        steps.push_back(in_vectors(s.name));
        continue;
      }
      const std::string sum = name_of_sum(program_, s), parts = sum + "_v";
      result_.nest.splits.emplace_back(
          schedule::PlannedParts{sum, each.loop, schedule::Vectors{1}, parts});
      if (!has_split)
        result_.nest.splits.emplace_back(schedule::PlannedTail{{parts + ".update", lane}});
      result_.nest.steps.emplace_back(
          schedule::PlannedStage{.tensor = parts,
                                 .at = schedule::LoopName{parts + ".update", rows},
                                 .memory = schedule::Memory::Register});
      result_.nest.reassociated.insert(s.reductions.begin(), s.reductions.end());
      result_.nest.reassociated.insert(each.loop);
      result_.in_parts.push_back(s.name);
      result_.nest.is_one_step = false;  // a step of several directives divides no sum
      all.push_back(schedule::nest_path({{row, LoopKind::Unrolled}}, in_vectors(parts + ".init")));
      steps.push_back(in_vectors(parts + ".update"));
      ends.push_back(schedule::nest_path({{row, LoopKind::Unrolled}, {lane, LoopKind::Unrolled}},
                                         schedule::nest_statement(s.name)));
    }
    all.push_back(schedule::nest_path({{vector}, {row, LoopKind::Unrolled}},
                                      schedule::nest_sequence(std::move(steps))));
    std::ranges::move(ends, std::back_inserter(all));
  }

  // Once where all loops of this name are this one, which statements of a region share before
  // the nest. Without regions each statement has its own, and others may have loops of this name.
  void split_below(const NestLoop& loop, std::int64_t together) {
    const auto split = [&](const std::string& statement) {
      result_.nest.splits.emplace_back(
          schedule::PlannedSplit{statement, loop.name, schedule::Elements{together}});
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
  return Jammer(program, reference, nest, nullptr, nullptr).run();
}

std::optional<JammedSums> with_passes(const ir::Program& program, const schedule::State& reference,
                                      const schedule::NestPlan& nest, const Sums& sums,
                                      const Machine& machine) {
  return Jammer(program, reference, nest, &sums, &machine).run();
}

}  // namespace polyte::poly
