#include "schedule/templates/gpu_attention_roles.h"

#include <algorithm>

namespace polyte::schedule {

// Scores, the softmax of a row and the product with the values, from one statement on:
//
//   s[i, j] = sum[d] q[i, d] * k[j, d]        m[i] = max[j] s[i, j]
//   w[i, j] = exp(s[i, j] - m[i])             l[i] = sum[j] w[i, j]
//   o[i, c] = sum[j] w[i, j] * v[j, c]        (or of w / l, then deferred)
std::optional<AttentionFound> find_attention(const KernelSoFar& kernel,
                                             std::span<const StatementGroup> groups) {
  const auto first = static_cast<std::size_t>(statements_of(groups.front()).front() -
                                              kernel.program.statements.data());
  auto form = find_softmax_product(kernel.program, first);
  if (!form) return std::nullopt;
  // The form spans whole groups of statements, or the nests before and after would tear it apart.
  std::size_t taken = 0, statements = 0;
  for (; taken < groups.size() && statements < form->end - form->begin; ++taken)
    statements += statements_of(groups[taken]).size();
  if (statements != form->end - form->begin) return std::nullopt;
  return AttentionFound{*std::move(form), taken};
}

AttentionRoles::AttentionRoles(const KernelSoFar& kernel, AttentionFound found)
    : kernel_(kernel), form_(std::move(found.form)) {
  // The box around the domain; an empty one counts as 1, as sizes are divided by it.
  const auto extent = [&](const ir::Statement& s, const std::string& loop) {
    const auto facts = facts_of(kernel_.reference, s);
    return std::max<std::int64_t>(1, find(facts, loop)->extent);
  };
  const ir::Statement& scores = *form_.scores;
  sizes_ = {.rows = extent(scores, form_.row),
            .keys = extent(scores, form_.key),
            .steps = extent(scores, form_.step)};
  sizes_.columns = extent(*form_.product, form_.column);
  for (const std::string& loop : form_.batch) sizes_.batches *= extent(scores, loop);
  filling_.groups = found.groups;
  filling_.staged = kernel_.staged;
}

std::string AttentionRoles::fresh(std::string name) const {
  while (program().find_buffer(name) || program().find_statement(name)) name += "_";
  return name;
}

// Each block reads all keys and values of its batch once, so that the traffic of keys is
//
//   batches * ceil(rows / Bm) * (bytes of keys and values):  the taller Bm, the less
//
// as long as the blocks, batches * ceil(rows / Bm), are enough for all multiprocessors. The
// file's sizes come in increasing order; the smallest is taken in any case.
std::int64_t AttentionRoles::most_rows(const TemplateFile& file) const {
  std::int64_t best = 0;
  for (const std::int64_t rows : allowed(file, "Bm")) {
    const bool fills =
        sizes_.batches * ceil_div(sizes_.rows, rows) >= kernel_.machine.gpu->multiprocessors;
    // A taller tile reads the keys less often, while it still leaves every multiprocessor a block.
    if (best == 0 || (best < sizes_.rows && fills)) best = rows;
  }
  return best;
}

// `Depth` of 1 is no pipeline: the param stays without a value and takes its line out.
void AttentionRoles::describe(std::int64_t rows, std::int64_t keys, std::int64_t depth,
                              const std::vector<std::string>& scored) {
  filling_.values = {{"Bm", std::to_string(rows)}, {"Bn", std::to_string(keys)}};
  if (depth > 1) filling_.values["Depth"] = std::to_string(depth);
  names();
  statements(scored);
  Scope& scope = filling_.scope;
  dimensions_of(scope, "weights", scope.names.at("weights"), form_.weight->writes[0]);
  dimensions_of(scope, "maximum", scope.names.at("maximum"), form_.maximum->writes[0]);
  dimensions_of(scope, "total", scope.names.at("total"), form_.total->writes[0]);
  dimensions_of(scope, "sum", scope.names.at("sum"), form_.product->writes[0]);
}

// Roles of docs/templates.md. `tops` and `parts` are the tensors that split_reduction makes: the
// maximum and the total of the keys of one thread, before those of a row's threads are combined.
void AttentionRoles::names() {
  const std::string sum =
      // Where weights are divided by the total before the product, the division moves behind it
      // (defer_division): the template sums into a tensor of its own, of undivided weights, and
      // `product` becomes the quotient.
      form_.share ? fresh(written(*form_.product) + "_u") : written(*form_.product);
  filling_.scope.names = {{"row", form_.row},
                          {"key", form_.key},
                          {"step", form_.step},
                          {"column", form_.column},
                          {"scores_init", form_.scores_init->name},
                          {"scores_update", form_.scores->name},
                          {"maximum", written(*form_.maximum)},
                          {"maximum_init", form_.maximum_init->name},
                          {"maximum_update", form_.maximum->name},
                          {"weight", form_.weight->name},
                          {"weights", written(*form_.weight)},
                          {"total", written(*form_.total)},
                          {"total_init", form_.total_init->name},
                          {"total_update", form_.total->name},
                          {"tops", fresh(written(*form_.maximum) + "_p")},
                          {"parts", fresh(written(*form_.total) + "_p")},
                          {"product", written(*form_.product)},
                          {"sum", sum},
                          {"sum_init", form_.share ? sum + ".init" : form_.product_init->name},
                          {"sum_update", form_.share ? sum + ".update" : form_.product->name},
                          {"keys", form_.keys->buffer},
                          {"values", form_.values->buffer}};
  filling_.scope.lists["batch"] = form_.batch;
}

// The groups, by the loops that a directive cuts: `keyed` have the key loop, `moved` have rows
// and may have been moved or added by `rewrite online` (maximum.old, total.scale, sum.scale),
// `wide` have columns, `rowwise` rows alone.
//
//             keyed   moved   wide   rowwise          keyed   moved   wide   rowwise
//   scores      x       x                     maximum   x       x                x
//   total       x       x                     sum       x       x      x
//   .scale              x    (sum)   (total)  after             x      x
//   .old                x              x      inits             x    (sum)  (maximum)
void AttentionRoles::statements(const std::vector<std::string>& scored) {
  const auto& names = filling_.scope.names;
  const std::string sum_init = names.at("sum_init"), sum_update = names.at("sum_update"),
                    old = names.at("maximum") + ".old", total_scale = names.at("total") + ".scale",
                    sum_scale = names.at("sum") + ".scale";
  for (const char* group : {"share", "after"}) filling_.scope.groups[group];
  if (form_.share) add("share", written(*form_.share));
  std::vector<std::string> after;
  if (form_.share) after.push_back(written(*form_.product));  // the quotient
  for (const ir::Statement* s : form_.after) after.push_back(s->name);
  for (const std::string& s : after) add("after", s);
  const std::vector<std::string> reductions = {form_.maximum->name, form_.total->name, sum_update};
  for (const std::vector<std::string>& names_of : {scored, reductions})
    for (const std::string& s : names_of) add("keyed", s), add("statement", s), add("moved", s);
  for (const std::string& s : {form_.maximum_init->name, form_.total_init->name, sum_init})
    add("statement", s), add("moved", s);
  for (const std::string& s : after) add("statement", s), add("moved", s), add("wide", s);
  for (const std::string& s : {old, total_scale, sum_scale}) add("moved", s);
  for (const std::string& s : {sum_init, sum_scale, sum_update}) add("wide", s);
  for (const std::string& s : {form_.maximum_init->name, old, form_.maximum->name, total_scale})
    add("rowwise", s);
}

// w[b, i, j] with row i and key j: dims w0, w1, w2; rows w1; keys w2; places w0. A layout names
// dimensions by position, and the template only says in which order rows, keys and places lie.
void AttentionRoles::dimensions_of(Scope& scope, const std::string& role, const std::string& tensor,
                                   const ir::Access& element) const {
  const std::string prefix = role.empty() ? "" : role + "_";
  scope.lists[prefix + "dims"], scope.lists[prefix + "places"];
  for (std::size_t d = 0; d < element.indices.size(); ++d) {
    const std::string name = tensor + std::to_string(d),
                      loop = *element.indices[d].affine.as_symbol();
    scope.lists[prefix + "dims"].push_back(name);
    if (loop == form_.row)
      scope.names[prefix + "rows"] = name;
    else if (loop == form_.key)
      scope.names[prefix + "keys"] = name;
    else if (loop == form_.column)
      scope.names[prefix + "columns"] = name;
    else
      scope.lists[prefix + "places"].push_back(name);
  }
}

// The box of one tile: rows and keys of the tile, steps and columns whole, one batch.
std::vector<CopyLoop> AttentionRoles::copy_loops(const ir::Load& load, std::int64_t rows,
                                                 std::int64_t keys) const {
  const std::map<std::string, std::int64_t> box = {{form_.row, rows},
                                                   {form_.key, keys},
                                                   {form_.step, sizes_.steps},
                                                   {form_.column, sizes_.columns}};
  std::vector<CopyLoop> loops;
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const auto side = box.find(*load.indices[d].affine.as_symbol());
    loops.push_back({load.buffer + std::to_string(d), side == box.end() ? 1 : side->second});
  }
  return loops;
}

Scope& AttentionRoles::add_operand(const ir::Load& load, const std::vector<CopyLoop>& loops,
                                   std::int64_t vector, std::int64_t threads) {
  Scope& operand = filling_.scope.groups["operand"].emplace_back();
  // Queries are copied once per block, keys and values once per tile of keys.
  operand.names["site"] = (&load == form_.queries ? form_.row : form_.key) + ".o";
  for (const CopyLoop& loop : loops) operand.lists["dims"].push_back(loop.name);
  add_copy(operand, load.buffer, loops, vector, threads);
  return operand;
}

}  // namespace polyte::schedule
