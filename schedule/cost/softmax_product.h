// Two contractions with the softmax of a row between them, as attention has them:
//
//   t[h, i, j] = sum[d] q[h, i, d] * k[h, j, d]    scores of row i and key j
//   s[h, i, j] = t[h, i, j] / 8                    what is made of a score at its point
//   m[h, i]    = max[j] s[h, i, j]
//   e[h, i, j] = exp(s[h, i, j] - m[h, i])         the weights
//   l[h, i]    = sum[j] e[h, i, j]
//   p[h, i, j] = e[h, i, j] / l[h, i]              may stand behind the product; or e, p rounded
//   o[h, i, c] = sum[j] p[h, i, j] * v[h, j, c]
//
// One pass over the keys computes all of it, with the maximum and the sums so far (T. Dao,
// "FlashAttention-2", 2023): no score leaves the multiprocessor. Found by structure; whether it is
// worth it, and how, is the scheduler's matter.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace polyte::schedule {

struct SoftmaxProduct {
  // Of the Program's statements, those of the form, one after the other.
  std::size_t begin = 0, end = 0;
  const ir::Statement *scores_init = nullptr, *scores = nullptr;
  // The last one is what the maximum reads, unless there is none.
  std::vector<const ir::Statement*> made_of_scores;
  const ir::Statement *maximum_init = nullptr, *maximum = nullptr;
  const ir::Statement* weight = nullptr;
  const ir::Statement *total_init = nullptr, *total = nullptr;
  // p, a weight over its total; null: the product reads the weights.
  const ir::Statement* share = nullptr;
  const ir::Statement *product_init = nullptr, *product = nullptr;
  std::vector<const ir::Statement*> after;  // definitions at the points of the product

  std::string row, key, column, step;  // i, j, c, d
  std::vector<std::string> batch;      // the loops of all of them
  const ir::Load *queries = nullptr, *keys = nullptr, *values = nullptr;

  std::vector<const ir::Statement*> all() const;
};

// The first one from this statement of the Program on; what it computes in between is
// read nowhere else.
std::optional<SoftmaxProduct> find_softmax_product(const ir::Program& program,
                                                   std::size_t from = 0);

}  // namespace polyte::schedule
