#include "poly/order_tree.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "ir/domain.h"
#include "poly/row_span.h"
#include "support/is_among.h"

namespace polyte::poly {
namespace {

constexpr std::size_t kMostSkewed = 4;  // loops

template <class Node>
OrderTree make(Node node) {
  return std::make_shared<const OrderNode>(OrderNode{std::move(node)});
}

std::string text_of(const OrderBand& band) {
  std::string text = band.permutable ? "P<" : "b<";
  for (const OrderLoop& loop : band.loops) text += loop.coincident ? 'c' : '-';
  for (const std::string& statement : statements_below(band.child)) {
    text += ' ' + statement + ':';
    for (const OrderLoop& loop : band.loops)
      text += (&loop == &band.loops.front() ? "" : ",") + ir::to_string(loop.rows.at(statement));
  }
  return text + '>';
}

// Loops over those iterators that the rows around do not tell.
OrderTree with_own_loops(const ir::Statement& statement, RowSpan around) {
  OrderBand own{{}, false, order_leaf(statement.name)};
  for (const std::string& it : statement.iterators)
    if (around.add(ir::Affine::symbol(it)))
      own.loops.push_back({{{statement.name, ir::Affine::symbol(it)}}, false});
  return own.loops.empty() ? own.child : order_band(std::move(own));
}

// Iterators of one value, known without others.
std::set<std::string> single_iterators(const ir::Statement& s) {
  std::set<std::string> single;
  const ir::DomainBounds bounds = ir::bounds_of(s.domain, s.iterators);
  for (std::size_t i = 0; i < s.iterators.size(); ++i) {
    const ir::Bounds& own = bounds.of[i];
    if (own.lower.size() == 1 && own.upper.size() == 1 && own.lower[0].is_constant() &&
        own.upper[0] == own.lower[0])
      single.insert(s.iterators[i]);
  }
  return single;
}

// Loops over iterators of one value that all statements of the tree have, and no row around tells.
OrderBand single_loops(const OrderTree& tree, const ir::Program& program,
                       std::map<std::string, RowSpan>& around) {
  OrderBand band;
  const std::vector<std::string> statements = statements_below(tree);
  if (statements.empty()) return band;
  std::set<std::string> common = single_iterators(program.statement(statements.front()));
  for (const std::string& name : statements) {
    const std::set<std::string> own = single_iterators(program.statement(name));
    std::erase_if(common, [&](const std::string& it) { return !own.contains(it); });
  }
  for (const std::string& it : common) {
    const ir::Affine row = ir::Affine::symbol(it);
    std::map<std::string, RowSpan> with = around;
    OrderLoop loop;
    for (const std::string& name : statements)
      if (with.at(name).add(row)) loop.rows[name] = row;
    if (loop.rows.size() < statements.size()) continue;
    band.loops.push_back(std::move(loop));
    around = std::move(with);
  }
  return band;
}

// isl leaves out loops of one iteration and rows that others imply. A nest needs as many
// independent rows for a statement as it has iterators (their span is all of them, row_span.h): the
// missing ones become loops of its own at its leaf. Loops of one iteration that all statements
// below have go around them instead: what is innermost may have lanes.
OrderTree with_all_loops(const OrderTree& tree, const ir::Program& program,
                         std::map<std::string, RowSpan> around) {
  if (OrderBand single = single_loops(tree, program, around); !single.loops.empty()) {
    single.child = with_all_loops(tree, program, std::move(around));
    return order_band(std::move(single));
  }
  if (const auto* leaf = std::get_if<OrderLeaf>(&tree->op))
    return with_own_loops(program.statement(leaf->statement), around.at(leaf->statement));
  if (const auto* band = std::get_if<OrderBand>(&tree->op)) {
    for (const OrderLoop& loop : band->loops)
      for (const auto& [statement, row] : loop.rows) around.at(statement).add(row);
    return order_band(
        {band->loops, band->permutable, with_all_loops(band->child, program, std::move(around))});
  }
  std::vector<OrderTree> children;
  for (const OrderTree& child : std::get<OrderSequence>(tree->op).children)
    children.push_back(with_all_loops(child, program, around));
  return order_sequence(std::move(children));
}

OrderBand band_over(const std::vector<std::string>& iterators, OrderTree child) {
  OrderBand band{{}, false, std::move(child)};
  for (const std::string& it : iterators) {
    OrderLoop& loop = band.loops.emplace_back();
    for (const std::string& s : statements_below(band.child)) loop.rows[s] = ir::Affine::symbol(it);
  }
  return band;
}

// Bands of the core as they are; below a cluster each statement gets loops of its own for the
// iterators that no band around has.
OrderTree order_below(const Core& core, std::vector<std::string> around) {
  std::vector<OrderTree> children;
  if (const auto* band = std::get_if<Band>(&core->op)) {
    std::vector<std::string> loops;
    for (const BandMember& member : band->members) loops.push_back(member.loop);
    around.insert(around.end(), loops.begin(), loops.end());
    OrderBand order = band_over(loops, order_below(band->child, around));
    for (std::size_t l = 0; l < loops.size(); ++l)
      order.loops[l].coincident = band->members[l].coincident;
    order.permutable = band->permutable;
    return order_band(std::move(order));
  }
  if (const auto* sequence = std::get_if<CoreSequence>(&core->op)) {
    for (const Core& child : sequence->children) children.push_back(order_below(child, around));
    return order_sequence(std::move(children));
  }
  for (const ir::Statement* s : std::get<Cluster>(core->op).statements) {
    std::vector<std::string> own = s->iterators;
    std::erase_if(own, [&](const std::string& it) { return is_among(it, around); });
    OrderBand order = band_over(own, order_leaf(s->name));
    children.push_back(own.empty() ? order.child : order_band(std::move(order)));
  }
  return order_sequence(std::move(children));
}

}  // namespace

// Statements that isl has left out, for they have no instance, follow the tree.
OrderTree completed(const OrderTree& tree, const ir::Program& program) {
  std::map<std::string, RowSpan> around;
  for (const ir::Statement& s : program.statements) around.emplace(s.name, RowSpan(s.iterators));
  const std::vector<std::string> there = statements_below(tree);
  std::vector<OrderTree> all = {with_all_loops(tree, program, around)};
  for (const ir::Statement& s : program.statements)
    if (std::ranges::find(there, s.name) == there.end())
      all.push_back(with_own_loops(s, around.at(s.name)));
  return order_sequence(std::move(all));
}

OrderTree order_band(OrderBand band) { return make(std::move(band)); }
OrderTree order_leaf(std::string statement) { return make(OrderLeaf{std::move(statement)}); }

OrderTree order_sequence(std::vector<OrderTree> children) {
  std::vector<OrderTree> flat;
  for (OrderTree& child : children) {
    if (const auto* inner = std::get_if<OrderSequence>(&child->op))
      flat.insert(flat.end(), inner->children.begin(), inner->children.end());
    else
      flat.push_back(std::move(child));
  }
  return flat.size() == 1 ? flat.front() : make(OrderSequence{std::move(flat)});
}

// Rows i + t without t are i; a loop of which only numbers are left orders nothing and goes.
OrderTree without_iterator(const OrderTree& tree, const std::string& iterator) {
  if (std::holds_alternative<OrderLeaf>(tree->op)) return tree;
  if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
    std::vector<OrderTree> children;
    for (const OrderTree& child : sequence->children)
      children.push_back(without_iterator(child, iterator));
    return order_sequence(std::move(children));
  }
  OrderBand band = std::get<OrderBand>(tree->op);
  std::erase_if(band.loops, [&](OrderLoop& loop) {
    for (auto& [statement, row] : loop.rows)
      row = row - ir::Affine::symbol(iterator) * row.coefficient(iterator);
    return std::ranges::all_of(loop.rows,
                               [](const auto& each) { return each.second.is_constant(); });
  });
  band.child = without_iterator(band.child, iterator);
  return band.loops.empty() ? band.child : order_band(std::move(band));
}

OrderTree order_of(const Core& core) { return order_below(core, {}); }

std::vector<std::string> statements_below(const OrderTree& tree) {
  if (const auto* leaf = std::get_if<OrderLeaf>(&tree->op)) return {leaf->statement};
  if (const auto* band = std::get_if<OrderBand>(&tree->op)) return statements_below(band->child);
  std::vector<std::string> all;
  for (const OrderTree& child : std::get<OrderSequence>(tree->op).children)
    std::ranges::move(statements_below(child), std::back_inserter(all));
  return all;
}

bool is_innermost(const OrderBand& band) {
  const auto is_leaf = [](const OrderTree& tree) {
    return std::holds_alternative<OrderLeaf>(tree->op);
  };
  if (const auto* sequence = std::get_if<OrderSequence>(&band.child->op))
    return std::ranges::all_of(sequence->children, is_leaf);
  return is_leaf(band.child);
}

namespace {

// The band of the whole tree, where it is one permutable band with the innermost loops of all
// statements; null: it is not.
const OrderBand* permutable_whole(const OrderTree& tree) {
  const auto* band = std::get_if<OrderBand>(&tree->op);
  return band && band->permutable && is_innermost(*band) ? band : nullptr;
}

}  // namespace

// Lamport's hyperplane method: in a permutable band all dependence distances are non-negative in
// each row, so that the sum of rows f + o is positive wherever one of the two is. With the sum as
// the row of f, the loop o below it may be parallel. One tree for each pair.
std::vector<OrderTree> wavefronts_of(const OrderTree& tree) {
  const OrderBand* band = permutable_whole(tree);
  if (!band) return {};
  std::vector<OrderTree> fronts;
  for (std::size_t front = 0; front < band->loops.size(); ++front)
    for (std::size_t other = 0; other < band->loops.size(); ++other) {
      if (front == other || band->loops[front].coincident || band->loops[other].coincident)
        continue;
      OrderBand changed = *band;
      for (auto& [statement, row] : changed.loops[front].rows)
        row = row + band->loops[other].rows.at(statement);
      fronts.push_back(order_band(std::move(changed)));
    }
  return fronts;
}

std::vector<std::vector<OrderTree>> skewed_around(const OrderTree& tree, std::size_t kept) {
  const OrderBand* band = permutable_whole(tree);
  const std::size_t n = band ? band->loops.size() : 0;
  if (n < 2 || n > kMostSkewed) return {};
  std::vector<std::vector<OrderTree>> trees(n);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < n; ++i) names.push_back("r" + std::to_string(i));
  // For each row in turn: itself, or its sum with another one; choices whose rows (symbols r0, r1,
  // ..) become dependent are dropped.
  const auto choose = [&](const auto& self, std::size_t i, const OrderBand& changed,
                          const RowSpan& span, std::size_t sums) -> void {
    if (i == n) return trees[sums].push_back(order_band(changed));
    for (std::size_t other = 0; other < n; ++other) {
      const bool is_sum = other != i;
      if (is_sum && i == kept) continue;
      const auto own = ir::Affine::symbol(names[i]);
      RowSpan longer = span;
      if (!longer.add(is_sum ? own + ir::Affine::symbol(names[other]) : own)) continue;
      OrderBand next = changed;
      if (is_sum) {
        next.loops[i].coincident = band->loops[i].coincident && band->loops[other].coincident;
        for (auto& [statement, row] : next.loops[i].rows)
          row = row + band->loops[other].rows.at(statement);
      }
      self(self, i + 1, next, longer, sums + (is_sum ? 1 : 0));
    }
  };
  choose(choose, 0, *band, RowSpan(names), 0);
  return trees;
}

std::vector<OrderTree> straightened(const OrderTree& tree, const ir::Program& program) {
  const OrderBand* band = permutable_whole(tree);
  if (!band) return {};
  std::vector<OrderTree> trees;
  for (std::size_t kept = 1; kept < band->loops.size(); ++kept) {
    const auto end = band->loops.begin() + static_cast<std::ptrdiff_t>(kept);
    trees.push_back(
        completed(order_band({{band->loops.begin(), end}, true, band->child}), program));
  }
  return trees;
}

std::string to_string(const OrderTree& tree) {
  if (const auto* leaf = std::get_if<OrderLeaf>(&tree->op)) return leaf->statement;
  if (const auto* band = std::get_if<OrderBand>(&tree->op))
    return text_of(*band) + ' ' + to_string(band->child);
  std::string text = "{ ";
  const auto& children = std::get<OrderSequence>(tree->op).children;
  for (const OrderTree& child : children)
    text += (&child == &children.front() ? "" : "; ") + to_string(child);
  return text + " }";
}

}  // namespace polyte::poly
