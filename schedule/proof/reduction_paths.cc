#include "schedule/proof/reduction_paths.h"

#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

namespace polyte::schedule {

namespace {

isl::union_set no_instances(const IslModel& model) {
  return isl::manage(isl_union_set_empty(isl_set_get_space(model.context.get())));
}

isl::union_map no_pairs(const IslModel& model) {
  return isl::manage(isl_union_map_empty(isl_set_get_space(model.context.get())));
}

isl::union_map to_union(const isl::map& map) { return isl::manage(isl_union_map_from_map(map.copy())); }

// How many leading iterators are the iteration of the site that an instance is computed at; none: computed once.
int prefix_of(const IslModel& model, int statement) {
  return model.statements[static_cast<std::size_t>(statement)].statement->lifted;
}

isl::map same_prefix(const isl::map& pairs, int prefix) {
  isl_map* same = pairs.copy();
  for (int d = 0; d < prefix; ++d) same = isl_map_equate(same, isl_dim_in, d, isl_dim_out, d);
  return isl::manage(same);
}

}  // namespace

ReductionPaths::ReductionPaths(const IslModel& model, const IslModel& reference)
    : model_(model), reference_(reference), continued_(no_instances(model)) {}

void ReductionPaths::add(const isl::union_map& links) { continued_ = continued_.unite(links.range()); }

isl::union_map ReductionPaths::leaving(int statement, const isl::union_map& links) const {
  const int prefix = prefix_of(model_, statement);
  isl::union_map wrong = no_pairs(model_);
  links.foreach_map([&](isl::map link) {
    const std::string source = isl_map_get_tuple_name(link.get(), isl_dim_out);
    const int others = source[0] == 'S' ? prefix_of(model_, std::stoi(source.substr(1))) : 0;
    wrong = wrong.unite(to_union(others == prefix ? link.subtract(same_prefix(link, prefix)) : link));
  });
  return wrong;
}

isl::union_map ReductionPaths::twin_starts() const {
  isl::union_map twins = no_pairs(model_);
  for (std::size_t i = 0; i < model_.statements.size(); ++i) {
    const int statement = static_cast<int>(i);
    if (model_.statements[i].statement->kind != StatementKind::Init) continue;
    const isl::map element = *phi_of(model_, statement, reference_);
    const isl::map pairs = same_prefix(element.apply_range(element.reverse()), prefix_of(model_, statement));
    const isl::map identity = isl::manage(isl_set_identity(model_.statements[i].domain.copy()));
    const isl::union_map distinct = to_union(pairs.subtract(identity));
    twins = twins.unite(distinct.intersect_domain(continued_).intersect_range(continued_));
  }
  return twins;
}

isl::union_set ReductionPaths::initial_values(const IslModel& model) const {
  isl::union_set all = no_instances(model);
  for (const IslStatement& s : model.statements)
    if (s.statement->kind == StatementKind::Init) all = all.unite(isl::manage(isl_union_set_from_set(s.domain.copy())));
  return all;
}

isl::union_map ReductionPaths::early(const isl::union_map& actual, const isl::union_map& expected) const {
  const isl::union_set untouched = expected.intersect_range(initial_values(reference_)).domain();
  const isl::union_map initial = actual.intersect_range(initial_values(model_)).subtract_domain(untouched);
  return actual.intersect_range(continued_).unite(initial);
}

}  // namespace polyte::schedule
