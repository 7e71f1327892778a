#include "schedule/proof/correspondence.h"

#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

namespace polyte::schedule {

isl::union_map no_pairs(const IslModel& model) {
  return isl::manage(isl_union_map_empty(isl_set_get_space(model.context.get())));
}

isl::union_set no_instances(const IslModel& model) {
  return isl::manage(isl_union_set_empty(isl_set_get_space(model.context.get())));
}

isl::union_set to_union(const isl::set& set) { return isl::manage(isl_union_set_from_set(set.copy())); }

int statement_of_tuple(const char* name) { return name && name[0] == 'S' ? std::stoi(name + 1) : -1; }

Correspondence::Correspondence(const IslModel& model, const IslModel& basis)
    : model_(model), basis_(basis), phi_(no_pairs(model)) {
  for (std::size_t i = 0; i < model.statements.size(); ++i)
    if (const auto phi = phi_of(model, static_cast<int>(i), basis)) phi_ = phi_.unite(to_union(*phi));
}

isl::union_map Correspondence::of_range(const isl::union_map& sources) const {
  isl::union_set virtual_range = no_instances(model_);
  sources.range().foreach_set([&](isl::set set) {
    const char* name = isl_set_get_tuple_name(set.get());
    if (name && statement_of_tuple(name) < 0) virtual_range = virtual_range.unite(to_union(set));
  });
  return sources.subtract_range(virtual_range).apply_range(phi_).unite(sources.intersect_range(virtual_range));
}

isl::union_map Correspondence::of_sink(const Sink& sink) const {
  if (sink.statement >= 0) return to_union(*phi_of(model_, sink.statement, basis_));
  return to_union(isl::manage(isl_set_identity(sink.cells.domain().release())));
}

}  // namespace polyte::schedule
