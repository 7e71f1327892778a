// The sums that can run along with a maximum: A += exp(e - M) or exp(e - M) * v, M being the maximum of e. Both the
// rewrite and its proof look for this form, and build the scale that goes with it, each on its own Program.
#pragma once

#include <optional>

#include "ir/program.h"

namespace polyte::schedule {

struct SoftmaxSum {
  const ir::Load* maximum = nullptr;  // the load of M
  ir::Expr exponent;                  // e
};
// nullopt where the update is no such sum of this maximum.
std::optional<SoftmaxSum> softmax_sum(const ir::Statement& update, const std::string& maximum);
// select(old == -inf, 0, A[cell] * exp(old - M)), old and M at the sum's place of the maximum.
ir::Expr softmax_scale(const ir::Statement& update, const SoftmaxSum& sum, const std::string& old);

}  // namespace polyte::schedule
