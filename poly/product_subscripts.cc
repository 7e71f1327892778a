#include "poly/product_subscripts.h"

namespace polyte::poly {

std::optional<std::int64_t> least_above(const ir::Statement& statement, const std::string& a,
                                        const std::string& b) {
  for (const ir::Constraint& c : statement.domain) {
    // a - b - n >= 0: what is left without a - b is the number -n.
    const ir::Affine rest = c.expr - ir::Affine::symbol(a) + ir::Affine::symbol(b);
    if (!c.equality && rest.is_constant() && rest.constant() <= 0) return -rest.constant();
  }
  return std::nullopt;
}

// A vector of the operand is a broadcast (no subscript moves with the lane) or one load of
// neighbours (the last subscript does, by one).
bool lies_along(const ir::Load& load, const std::string& lane) {
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const ir::Index& index = load.indices[d];
    const bool is_last = d + 1 == load.indices.size();
    if (index.indirect) return false;
    if (index.affine.uses(lane) && !(is_last && index.affine.coefficient(lane) == 1)) return false;
  }
  return true;
}

}  // namespace polyte::poly
