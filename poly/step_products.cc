#include "poly/step_products.h"

#include <algorithm>
#include <map>
#include <optional>

#include "poly/product_subscripts.h"

namespace polyte::poly {

bool is_across(const ir::Load& load, const std::string& lane, const std::string& step) {
  return load.indices.size() == 2 && !load.otherwise && !load.indices[0].indirect &&
         !load.indices[1].indirect && load.indices[0].affine.as_symbol() == lane &&
         load.indices[1].affine.as_symbol() == step;
}

namespace {

// Whether the operands suit the lanes, one of them packed where it has to be.
bool find_lanes(Product& product) {
  for (const ir::Expr& value : product.sum->values)
    for (const ir::Load* load : ir::loads_of(value)) {
      if (lies_along(*load, product.lane)) continue;
      if (product.across || !is_across(*load, product.lane, product.step)) return false;
      product.across = load;
    }
  return true;
}

// A sum over three loops of the band, one of each role, into A[row, lane].
std::optional<Product> product_of(const ir::Statement& s, const OrderBand& band) {
  if (s.combiner != ir::Combiner::Sum || s.writes.size() != 1 || s.guard || band.loops.size() != 3)
    return std::nullopt;
  Product product{.sum = &s};
  std::vector<std::string> element;
  for (const ir::Index& index : s.writes.front().indices) {
    const auto it = index.affine.as_symbol();
    if (index.indirect || !it) return std::nullopt;
    element.push_back(*it);
  }
  if (element.size() != 2) return std::nullopt;
  product.row = element[0], product.lane = element[1];
  // Each of the three loops is the row, the lane or the step: one bit per role.
  int found = 0;
  std::map<std::string, bool> runs_down;
  for (std::size_t l = 0; l < 3; ++l) {
    const ir::Affine& value = band.loops[l].rows.at(s.name);
    const auto down = (value * -1).as_symbol(), row = down ? down : value.as_symbol();
    if (!row) return std::nullopt;
    runs_down[*row] = down.has_value();
    if (*row == product.row)
      product.roles.row = l, found |= 1;
    else if (*row == product.lane)
      product.roles.lane = l, found |= 2;
    else
      product.step = *row, product.roles.step = l, found |= 4;
  }
  if (found != 7 || !find_lanes(product)) return std::nullopt;
  // Steps stay below the row or the lane, as those of a recurrence do: A[i, k] with k < i is
  // finished. Lanes lie upwards.
  product.is_mirrored = runs_down[product.step];
  if (runs_down[product.lane]) return std::nullopt;
  for (const std::string& it : {product.row, product.lane}) {
    if (runs_down[it] != product.is_mirrored) continue;
    if (product.is_mirrored ? !least_above(s, product.step, it) : !least_above(s, it, product.step))
      continue;
    product.is_bounded_twice = !product.bound.empty();
    product.bound = it;
  }
  if (product.bound.empty()) return std::nullopt;
  if (least_above(s, product.row, product.lane)) product.side = -1;
  if (least_above(s, product.lane, product.row)) product.side = 1;
  if (product.is_bounded_twice && product.side != 0) {  // the nearer bound implies the other
    product.bound = product.side < 0 ? product.lane : product.row;
    product.is_bounded_twice = false;
  }
  return product;
}

}  // namespace

// Products run in one set of blocks, so all have the roles of the first one.
std::vector<Product> products_of(const ir::Program& program, const OrderBand& band) {
  std::vector<Product> products;
  for (const std::string& name : statements_below(band.child)) {
    auto product = product_of(program.statement(name), band);
    if (product && (products.empty() || products.front().roles == product->roles))
      products.push_back(*std::move(product));
  }
  return products;
}

const OrderBand* band_of_steps(const ir::Program& program, const OrderTree& tree) {
  if (const auto* sequence = std::get_if<OrderSequence>(&tree->op)) {
    for (const OrderTree& child : sequence->children)
      if (const OrderBand* band = band_of_steps(program, child)) return band;
    return nullptr;
  }
  const auto* band = std::get_if<OrderBand>(&tree->op);
  const bool is_one =
      band && band->permutable && is_innermost(*band) && !products_of(program, *band).empty();
  return is_one ? band : nullptr;
}

}  // namespace polyte::poly
