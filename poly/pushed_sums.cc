#include "poly/pushed_sums.h"

#include <algorithm>

namespace polyte::poly {
namespace {

// A sum in a loop of its own, below a loop over its elements which it shares with others.
struct Pulled {
  const OrderBand* band;  // of the shared loop
  std::size_t loop;
  const OrderBand* own;
  std::string statement;
};

// Whether the element that is updated depends on the iterator.
bool is_told_by_element(const ir::Statement& sum, const std::string& it) {
  return std::ranges::any_of(sum.writes.front().indices, [&](const ir::Index& index) {
    return index.affine.uses(it) || index.indirect;
  });
}

// Finds the form and rewrites it. The two loops exchange their rows for the sum's statement:
//
//   before   band j: S at row i (its element)    own loop: row k (the step)
//   after    band c: S at row k                  own loop: row i, last in the body
//
// What the change of order breaks is for the dependences to say, so the bands lose `permutable` and
// `coincident` here.
class Turner {
 public:
  explicit Turner(const ir::Program& program) : program_(program) {}

  void find(const OrderTree& tree) {
    if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
      for (const OrderTree& child : sequence->children) find(child);
    } else if (const auto* band = std::get_if<OrderBand>(&tree->op)) {
      if (const auto* below = std::get_if<OrderSequence>(&band->child->op))
        for (const OrderTree& child : below->children) find_in(*band, child);
      find(band->child);
    }
  }

  std::vector<OrderTree> all(const OrderTree& tree) const {
    std::vector<OrderTree> turned;
    for (const Pulled& one : pulled_) turned.push_back(turn(tree, {one}));
    std::vector<Pulled> together;  // each sum once
    for (const Pulled& one : pulled_)
      if (std::ranges::find(together, one.own, &Pulled::own) == together.end())
        together.push_back(one);
    if (together.size() > 1) turned.push_back(turn(tree, together));
    return turned;
  }

 private:
  const ir::Program& program_;
  std::vector<Pulled> pulled_;

  void find_in(const OrderBand& band, const OrderTree& child) {
    const auto* own = std::get_if<OrderBand>(&child->op);
    const auto* leaf = own ? std::get_if<OrderLeaf>(&own->child->op) : nullptr;
    if (!leaf || own->loops.size() != 1) return;
    const ir::Statement& sum = program_.statement(leaf->statement);
    const auto step = own->loops.front().rows.at(sum.name).as_symbol();
    if (sum.combiner == ir::Combiner::None || !step || is_told_by_element(sum, *step)) return;
    for (std::size_t loop = 0; loop < band.loops.size(); ++loop) {
      const auto element = band.loops[loop].rows.at(sum.name).as_symbol();
      if (element && is_told_by_element(sum, *element))
        pulled_.push_back({&band, loop, own, sum.name});
    }
  }

  static OrderTree turn(const OrderTree& tree, const std::vector<Pulled>& chosen) {
    if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
      std::vector<OrderTree> children;
      for (const OrderTree& child : sequence->children) children.push_back(turn(child, chosen));
      return order_sequence(std::move(children));
    }
    const auto* band = std::get_if<OrderBand>(&tree->op);
    if (!band) return tree;
    OrderBand changed = *band;
    std::vector<OrderTree> given;  // behind all that the step needs
    for (const Pulled& sum : chosen) {
      if (sum.band != band) continue;
      OrderBand own = *sum.own;
      std::swap(own.loops.front().rows.at(sum.statement),
                changed.loops[sum.loop].rows.at(sum.statement));
      own.loops.front().coincident = false;
      given.push_back(order_band(std::move(own)));
    }
    if (given.empty())
      return order_band({band->loops, band->permutable, turn(band->child, chosen)});
    changed.permutable = false;
    for (OrderLoop& loop : changed.loops) loop.coincident = false;
    std::vector<OrderTree> children;
    for (const OrderTree& child : std::get<OrderSequence>(band->child->op).children) {
      const auto* own = std::get_if<OrderBand>(&child->op);
      if (std::ranges::find(chosen, own, &Pulled::own) == chosen.end())
        children.push_back(turn(child, chosen));
    }
    std::ranges::move(given, std::back_inserter(children));
    changed.child = order_sequence(std::move(children));
    return order_band(std::move(changed));
  }
};

}  // namespace

std::vector<OrderTree> pushed_sums_of(const OrderTree& tree, const ir::Program& program) {
  Turner turner(program);
  turner.find(tree);
  return turner.all(tree);
}

}  // namespace polyte::poly
