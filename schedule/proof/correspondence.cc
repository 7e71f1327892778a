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

isl::union_set to_union(const isl::set& set) {
  return isl::manage(isl_union_set_from_set(set.copy()));
}

int statement_of_tuple(const char* name) {
  return name && name[0] == 'S' ? std::stoi(name + 1) : -1;
}

Correspondence::Correspondence(const IslModel& model, const IslModel& basis)
    : model_(model), basis_(basis), phi_(no_pairs(model)) {
  for (std::size_t i = 0; i < model.statements.size(); ++i)
    if (const auto phi = phi_of(model, static_cast<int>(i), basis))
      phi_ = phi_.unite(to_union(*phi));
}

// F_T composed with phi: sources of the schedule, said as instances of the reference, so that they
// can be compared with F_R (docs/proof.md, 2).
isl::union_map Correspondence::of_range(const isl::union_map& sources) const {
  // One space at a time: the virtual ones take nothing away from the others, which a difference
  // would work out.
  isl::union_map of_statements = no_pairs(model_), of_virtual = no_pairs(model_);
  sources.foreach_map([&](isl::map map) {
    const char* name = isl_map_get_tuple_name(map.get(), isl_dim_out);
    isl::union_map& part = name && statement_of_tuple(name) < 0 ? of_virtual : of_statements;
    part = part.unite(to_union(map));
  });
  return of_statements.apply_range(phi_).unite(of_virtual);
}

isl::union_map Correspondence::of_sink(const Sink& sink) const {
  if (sink.statement >= 0) return to_union(*phi_of(model_, sink.statement, basis_));
  return to_union(isl::manage(isl_set_identity(sink.cells.domain().release())));
}

}  // namespace polyte::schedule
