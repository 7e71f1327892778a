// The sums that can run along with a maximum: A += exp(e - M) or exp(e - M) * v, M being the
// maximum of e; exp(e - M) may have a definition of its own, the sum's weights, and be rounded to
// a narrower type. Both the rewrite and its proof look for this form, and build the scale that goes
// with it, each on its own Program.
#pragma once

#include <optional>

#include "ir/program.h"

namespace polyte::schedule {

struct SoftmaxSum {
  const ir::Load* maximum = nullptr;  // the load of M
  ir::Expr exponent;                  // e
};
// Temporaries with one plain definition w[i, j] = exp(e - M[i]), or bf16 of that or of another
// weight before it, an iterator per dimension; in the Program's order.
std::vector<const ir::Statement*> softmax_weights(const ir::Program& program,
                                                  const std::string& maximum);
// The statement with what it reads of weights, which are in the Program's order, replaced
// by their definitions.
ir::Statement with_weights(const ir::Statement& update,
                           const std::vector<const ir::Statement*>& weights);
// nullopt where the update is no such sum of this maximum. What is returned lives as long
// as the statement.
std::optional<SoftmaxSum> softmax_sum(const ir::Statement& update, const std::string& maximum);
// select(old == -inf, 0, A[cell] * exp(old - M)), old and M at the sum's place of the maximum.
ir::Expr softmax_scale(const ir::Statement& update, const SoftmaxSum& sum, const std::string& old);

}  // namespace polyte::schedule
