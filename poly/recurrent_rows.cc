#include "poly/recurrent_rows.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::poly {
namespace {

using schedule::LoopKind;
using schedule::NestLeaf;
using schedule::NestLoop;
using schedule::NestTree;
using schedule::tiles_of;
using schedule::within_tile;

constexpr std::int64_t kLeastRows = 8;     // of a block: as many chains as the units take
constexpr std::int64_t kWorthWhile = 64;   // rows
constexpr std::int64_t kMostCopies = 128;  // statements of a block, written out
constexpr int kSpareRegisters = 2;

// What bounds the terms of row i: j runs over begin .. i - behind.
struct Terms {
  std::int64_t first_row = 0, rows = 0;
  std::int64_t begin = 0, behind = 0;
};

// The constraint read as a lower bound: c = a - b - n >= 0 gives n, a - b >= n. Empty b: of a
// alone.
std::optional<std::int64_t> least_difference(const ir::Constraint& c, const std::string& a,
                                             const std::string& b) {
  ir::Affine rest = c.expr - ir::Affine::symbol(a);
  if (!b.empty()) rest = rest + ir::Affine::symbol(b);
  if (c.equality || !rest.is_constant()) return std::nullopt;
  return -rest.constant();
}

// Only where all of the domain is of this form, which a triangle is:
//
//   i >= first,  i <= end,  j >= begin,  i - j >= behind
//
// Each constraint passes one of the tests.
std::optional<Terms> terms_of(const ir::Statement& s, const std::string& row,
                              const std::string& step) {
  Terms terms;
  std::optional<std::int64_t> first, end, begin, behind;
  for (const ir::Constraint& c : s.domain) {
    if (const auto least = least_difference(c, row, ""))
      first = std::max(*least, first.value_or(*least));
    else if (const auto low = least_difference(c, step, ""))
      begin = std::max(*low, begin.value_or(*low));
    else if (const auto apart = least_difference(c, row, step))
      behind = std::max(*apart, behind.value_or(*apart));
    else if (const ir::Affine up = c.expr + ir::Affine::symbol(row); up.is_constant())
      end = up.constant();
    else
      return std::nullopt;
  }
  if (!end || !begin || !behind || *behind < 1) return std::nullopt;
  terms.first_row = first.value_or(*begin + *behind);
  terms.rows = *end + 1 - terms.first_row;
  terms.begin = *begin, terms.behind = *behind;
  return terms;
}

class RowBlocks {
 public:
  RowBlocks(const ir::Program& program, const schedule::NestPlan& nest, const ir::Statement& sum,
            const OrderPlan::Inner& inner, const Machine& machine)
      : sum_(sum),
        inner_(inner),
        called_(name_of_sum(program, sum)),
        parts_(called_ + "_v"),
        plan_(nest) {
    lanes_ = machine.lanes(program.buffer(sum.writes.front().buffer).dtype);
    rows_ = std::max<std::int64_t>(kLeastRows, lanes_);
    fits_ = rows_ + kSpareRegisters <= machine.vector_registers;
  }

  std::optional<schedule::NestPlan> run() {
    const auto terms = terms_of(sum_, inner_.around, inner_.loop);
    const bool is_mapped = std::ranges::any_of(plan_.maps, [&](const schedule::PlannedMap& map) {
      return std::ranges::find(map.items, sum_.name, &schedule::PlannedMap::Item::statement) !=
             map.items.end();
    });
    if (!fits_ || !terms || terms->rows < kWorthWhile || is_mapped || plan_.is_one_step)
      return std::nullopt;
    plan_.tree = visit(plan_.tree);
    if (!found_) return std::nullopt;
    plan_.tree_by = schedule::Provenance::TileModel;
    divide(*terms);
    plan_.reassociated.insert(sum_.reductions.begin(), sum_.reductions.end());
    return std::move(plan_);
  }

 private:
  const ir::Statement& sum_;
  const OrderPlan::Inner& inner_;
  const std::string called_, parts_;
  schedule::NestPlan plan_;
  std::int64_t lanes_ = 1, rows_ = 1;
  bool fits_ = false, found_ = false;

  std::string update() const { return parts_ + ".update"; }
  std::string steps() const { return tiles_of(inner_.loop); }
  std::string far() const { return inner_.loop + ".far"; }
  std::string near() const { return inner_.loop + ".near"; }

  // Other loops over the rows, of statements that share the region's loop, have its blocks.
  NestTree visit(const NestTree& tree) {
    if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op)) {
      std::vector<NestTree> children;
      for (const NestTree& child : sequence->children) children.push_back(visit(child));
      return schedule::nest_sequence(std::move(children));
    }
    const auto* loop = std::get_if<NestLoop>(&tree->op);
    if (!loop) return tree;
    if (loop->name != inner_.around)
      return schedule::nest_path({{loop->name, loop->kind}}, visit(loop->body));
    if (const auto rows = blocks(*loop)) {
      found_ = true;
      return *rows;
    }
    return schedule::nest_path({{tiles_of(loop->name)}, {within_tile(loop->name), loop->kind}},
                               visit(loop->body));
  }

  static std::vector<NestTree> children_of(const NestTree& body) {
    if (const auto* sequence = std::get_if<schedule::NestSequence>(&body->op))
      return sequence->children;
    return {body};
  }

  bool is_sum(const NestTree& child) const {
    const auto* loop = std::get_if<NestLoop>(&child->op);
    const auto* leaf = loop ? std::get_if<NestLeaf>(&loop->body->op) : nullptr;
    return leaf && leaf->statement == sum_.name && loop->name == inner_.loop &&
           loop->kind == LoopKind::Serial && leaf->when.empty();
  }

  // The rows' loop in blocks, where the sum stands in it beside statements without loops.
  std::optional<NestTree> blocks(const NestLoop& loop) const {
    const std::vector<NestTree> children = children_of(loop.body);
    const auto sums = std::ranges::count_if(children, [&](const NestTree& c) { return is_sum(c); });
    const bool are_plain = std::ranges::all_of(children, [&](const NestTree& child) {
      return is_sum(child) || std::holds_alternative<NestLeaf>(child->op);
    });
    const auto copies = static_cast<std::int64_t>(children.size()) * rows_;
    if (sums != 1 || !are_plain || loop.kind != LoopKind::Serial || copies > kMostCopies)
      return std::nullopt;
    const std::string row = within_tile(loop.name), lane = within_tile(inner_.loop);
    const schedule::NestPath tile = {{row, LoopKind::Unrolled}, {lane, LoopKind::Vector}};
    std::vector<NestTree> one_by_one;
    for (const NestTree& child : children) {
      if (!is_sum(child)) {
        one_by_one.push_back(child);
        continue;
      }
      one_by_one.push_back(schedule::nest_path({{near()}, {lane, LoopKind::Vector}},
                                               schedule::nest_statement(update() + ".near")));
      one_by_one.push_back(
          schedule::nest_path({{lane, LoopKind::Unrolled}}, schedule::nest_statement(sum_.name)));
    }
    std::vector<NestTree> parts;
    parts.push_back(schedule::nest_path(tile, schedule::nest_statement(parts_ + ".init")));
    parts.push_back(
        schedule::nest_path(joined({{far()}}, tile), schedule::nest_statement(update() + ".far")));
    parts.push_back(schedule::nest_path({{row, LoopKind::Unrolled}},
                                        schedule::nest_sequence(std::move(one_by_one))));
    return schedule::nest_path({{tiles_of(loop.name)}}, schedule::nest_sequence(std::move(parts)));
  }

  // Parts of the sums, a vector per row, and the cut between the terms that every row of a block
  // can take before the block begins (far) and the others (near). Row i has terms begin .. i -
  // behind, so that the block's first row bounds the far ones; they are counted in whole vectors:
  //
  //   far: floor((first - behind - begin + 1) / lanes) vectors
  void divide(const Terms& terms) {
    plan_.splits.emplace_back(
        schedule::PlannedParts{called_, inner_.loop, schedule::Vectors{1}, parts_});
    plan_.splits.emplace_back(schedule::PlannedSplit{"", inner_.around, schedule::Elements{rows_}});
    const ir::Affine first = ir::Affine::symbol(tiles_of(inner_.around)) * rows_ + terms.first_row;
    const ir::Affine whole = ir::floor_div(first - terms.behind - terms.begin + 1, lanes_);
    plan_.splits.emplace_back(schedule::PlannedCut{{update(), steps()}, whole, far(), near()});
    plan_.steps.emplace_back(schedule::PlannedTail{{update() + ".near", within_tile(inner_.loop)}});
    plan_.steps.emplace_back(
        schedule::PlannedStage{.tensor = parts_,
                               .at = schedule::LoopName{parts_ + ".init", tiles_of(inner_.around)},
                               .memory = schedule::Memory::Register});
  }
};

}  // namespace

std::string name_of_sum(const ir::Program& program, const ir::Statement& sum) {
  const std::string& tensor = sum.writes.front().buffer;
  const auto updates = std::ranges::count_if(program.statements, [&](const ir::Statement& s) {
    return s.combiner != ir::Combiner::None && s.writes.front().buffer == tensor;
  });
  return updates == 1 ? tensor : sum.name;
}

std::optional<schedule::NestPlan> with_recurrent_rows(const ir::Program& program,
                                                      const schedule::NestPlan& nest,
                                                      const std::string& sum,
                                                      const OrderPlan::Inner& inner,
                                                      const Machine& machine) {
  return RowBlocks(program, nest, program.statement(sum), inner, machine).run();
}

}  // namespace polyte::poly
