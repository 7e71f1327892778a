#include "poly/attention_base.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::poly {

AttentionBase::AttentionBase(const AttentionNest& nest)
    : nest_(nest), form_(nest.form), program_(*nest.program) {
  const auto extent = [&](const std::string& loop) {
    return iterations_of(*nest.reference, *form_.scores, loop);
  };
  sizes_ = {.rows = extent(form_.row), .keys = extent(form_.key), .steps = extent(form_.step)};
  sizes_.columns = iterations_of(*nest.reference, *form_.product, form_.column);
  for (const std::string& loop : form_.batch) sizes_.batches *= extent(loop);
  // With p = e / l the division moves behind the product: u = sum e * v, then o = u / l. The
  // Program's product becomes the latter, and the sum a new tensor u.
  sum_ = form_.share ? fresh(written(*form_.product) + "_u") : written(*form_.product);
  sum_init_ = form_.share ? sum_ + ".init" : form_.product_init->name;
  sum_update_ = form_.share ? sum_ + ".update" : form_.product->name;
  if (form_.share) after_.push_back(written(*form_.product));
  for (const ir::Statement* s : form_.after) after_.push_back(s->name);
}

// Cycles without this form: one nest, if isl has fused it, runs a row per block; nests apart take
// three launches.
double AttentionBase::cycles_apart(double fma_a_cycle, double bytes) const {
  const Gpu& gpu = *nest_.machine->gpu;
  return nest_.is_one ? row_cycles(sizes_, gpu)
                      : least_launch_cycles(sizes_, gpu, fma_a_cycle, bytes);
}

std::int64_t AttentionBase::box(const std::string& loop, std::int64_t rows,
                                std::int64_t keys) const {
  if (loop == form_.row) return rows;
  if (loop == form_.key) return keys;
  return loop == form_.step ? sizes_.steps : loop == form_.column ? sizes_.columns : 1;
}

std::string AttentionBase::fresh(std::string name) const {
  while (program_.find_buffer(name) || program_.find_statement(name)) name += "_";
  return name;
}

bool AttentionBase::taken(const std::string& name) const {
  return std::ranges::any_of(form_.all(), [&](const ir::Statement* s) {
    return std::ranges::find(s->iterators, name) != s->iterators.end();
  });
}

void AttentionBase::split(const std::string& statement, const std::string& loop,
                          schedule::TileSize size) {
  plan_.splits.emplace_back(schedule::PlannedSplit{statement, loop, std::move(size), kModel, true});
}

schedule::NestTree AttentionBase::leaf(const schedule::NestPath& path, const std::string& s) {
  return nest_path(path, schedule::nest_statement(s));
}

// Blocks of batches and tiles of rows; in each the maxima and totals of its rows begin first.
void AttentionBase::tree(std::int64_t rows_of_block, std::vector<schedule::NestTree> body) {
  body.insert(body.begin(),
              nest_path(rows(), schedule::nest_sequence(
                                    {schedule::nest_statement(form_.maximum_init->name),
                                     schedule::nest_statement(form_.total_init->name)})));
  for (const std::string& loop : form_.batch)
    blocks_.add({loop, iterations_of(*nest_.reference, *form_.scores, loop)});
  blocks_.add({schedule::tiles_of(form_.row), ceil_div(sizes_.rows, rows_of_block)});
  plan_.tree = nest_path(blocks_.path(), schedule::nest_sequence(std::move(body)));
  plan_.tree_by = kModel;
}

void AttentionBase::bind_blocks(std::int64_t depth) {
  blocks_.bind(form_.scores->name, "b", plan_.steps);
  // One buffer has nothing to copy ahead into.
  if (depth < 2) return;
  for (const ir::Load* load : {form_.keys, form_.values})
    plan_.steps.emplace_back(schedule::PlannedPipeline{load->buffer, once_a_tile(), depth});
}

}  // namespace polyte::poly
