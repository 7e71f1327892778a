#include "poly/register_tiles.h"

#include <algorithm>

#include "ir/contraction.h"
#include "poly/shared_nest.h"

namespace polyte::poly {
namespace {

// Of C[m, n] += A[m, k] * B[k, n]: A stays along n, B along m. In y[m] += A[m, k] * x[k] nothing
// reads A again.
bool shares_operands(const ir::Program& program, const schedule::State& reference,
                     const ir::Statement& update) {
  if (update.combiner == ir::Combiner::None || !ir::classify_contraction(program, update))
    return false;
  // Whether the same element is read again in other iterations of a free loop.
  const auto is_read_again = [&](const ir::Load* load) {
    return std::ranges::any_of(update.iterators, [&](const std::string& it) {
      const bool is_free = std::ranges::find(update.reductions, it) == update.reductions.end();
      return is_free && iterations_of(reference, update, it) > 1 &&
             ir::stride_of(program, *load, it).value_or(1) == 0;
    });
  };
  return std::ranges::all_of(update.values, [&](const ir::Expr& value) {
    return std::ranges::all_of(ir::loads_of(value), is_read_again);
  });
}

}  // namespace

// More than half of all instances belong to contractions that a register tile would serve.
bool wants_register_tiles(const ir::Program& program, const schedule::State& reference,
                          std::span<const ir::Statement* const> statements) {
  double all = 0, tiled = 0;
  for (const ir::Statement* s : statements) {
    double points = 1;
    for (const std::string& it : s->iterators)
      points *= static_cast<double>(iterations_of(reference, *s, it));
    all += points;
    if (shares_operands(program, reference, *s)) tiled += points;
  }
  return 2 * tiled > all;
}

}  // namespace polyte::poly
