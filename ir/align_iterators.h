// Names of iterators that say what goes together: a statement that reads t[m, k] calls its
// iterators as the statement that writes t[b, n] does, b and n. Each operator names its
// loops by itself, whereas code that looks for loops shared by several statements (nests, one pass
// over a softmax and a product) compares names.
//
//   t[m, n] = sum[k] x[m, k] * w[k, n]              t[m, n] = sum[k] x[m, k] * w[k, n]
//   top[i] = max[j] t[i, j]                         top[m] = max[n] t[m, n]
#pragma once

#include "ir/program.h"

namespace polyte::ir {

// Equal but for iterators' names. Subscripts that are no iterators say nothing; of two wishes the
// first one counts. Programs with ordered regions stay as they are: there names are a region's.
Program align_iterators(Program program);

}  // namespace polyte::ir
