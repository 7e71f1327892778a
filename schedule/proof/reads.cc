#include "schedule/proof/reads.h"

#include <isl/map.h>
#include <isl/set.h>
#include <isl/union_map.h>

namespace polyte::schedule {

namespace {

isl_id* make_id(isl_ctx* ctx, const std::string& name) {
  return isl_id_alloc(ctx, name.c_str(), nullptr);
}

// A guard's value is compared by its text: "FILL 0" of both sides is one value.
std::string fill_name(const ScheduledStatement& s, int read) {
  const ir::Load* load = accesses_of(s).at(static_cast<std::size_t>(read)).load;
  return load && load->otherwise ? "FILL " + ir::to_string(load->otherwise) : "";
}

// All cells of a buffer of the Program, as instances of a virtual statement: no rows of a scope,
// which interface buffers do not have.
isl::set cells_of(const IslModel& model, int buffer, const std::string& tuple) {
  const IslBuffer& b = model.buffers[static_cast<std::size_t>(buffer)];
  isl_space* space = isl_space_set_from_params(isl_set_get_space(model.context.get()));
  space = isl_space_add_dims(space, isl_dim_set, static_cast<unsigned>(b.shape.size()));
  space = isl_space_set_tuple_id(space, isl_dim_set, make_id(isl_space_get_ctx(space), tuple));
  const isl::space target = isl::manage(space);
  std::vector<std::string> dims;
  std::vector<ir::Constraint> bounds;
  for (std::size_t i = 0; i < b.shape.size(); ++i) {
    dims.push_back("d#" + std::to_string(i));
    bounds.push_back(ir::at_least(ir::Affine::symbol(dims[i]), 0));
    bounds.push_back(ir::less_than(ir::Affine::symbol(dims[i]), b.shape[i]));
  }
  isl::set cells = to_set(target, dims, model.params, bounds);
  return isl::manage(isl_set_intersect_params(cells.release(), model.context.copy()));
}

// { IN3[d0, d1] -> B3[d0, d1] }: instance (d0, d1) of IN writes that cell.
isl::map identity_onto(const isl::set& from, const std::string& tuple) {
  isl_map* map = isl_set_identity(from.copy());
  return isl::manage(isl_map_set_tuple_id(map, isl_dim_out, make_id(isl_map_get_ctx(map), tuple)));
}

// The virtual statement `tuple` over the cells of a buffer.
isl::map virtual_accesses(const IslModel& model, int buffer, const std::string& tuple) {
  return identity_onto(cells_of(model, buffer, tuple + std::to_string(buffer)),
                       "B" + std::to_string(buffer));
}

}  // namespace

isl::union_map to_union(const isl::map& map) {
  return isl::manage(isl_union_map_from_map(map.copy()));
}

std::vector<Sink> reads_of(const IslModel& model, int statement, const std::string& family) {
  std::vector<Sink> sinks;
  const IslStatement& s = model.statements[static_cast<std::size_t>(statement)];
  for (std::size_t k = 0; k < s.accesses.size(); ++k) {
    const IslAccess& access = s.accesses[k];
    if (access.write || model.buffers[static_cast<std::size_t>(access.buffer)].of != family)
      continue;
    Sink sink{statement, static_cast<int>(k), access.buffer, access.cells, access.outside,
              "",        access.exact,        access.own};
    sink.fill = fill_name(*s.statement, static_cast<int>(k));
    sinks.push_back(std::move(sink));
  }
  return sinks;
}

Sink out_sink(const IslModel& model, int buffer) {
  return Sink{-1, 0, buffer, virtual_accesses(model, buffer, "OUT"), {}, "", true};
}

isl::map in_cells(const IslModel& model, int buffer) {
  return virtual_accesses(model, buffer, "IN");
}

// { instance -> "FILL v"[] } where the guard is false: a source without coordinates, the same for
// all instances.
isl::union_map with_fill(const isl::union_map& sources, const Sink& sink) {
  if (!sink.outside) return sources;
  isl_space* space =
      isl_space_add_unnamed_tuple_ui(isl_space_params(isl_set_get_space(sink.outside->get())), 0);
  isl_set* fill = isl_set_set_tuple_id(isl_set_universe(space),
                                       make_id(isl_set_get_ctx(sink.outside->get()), sink.fill));
  isl_map* map = isl_map_from_domain_and_range(sink.outside->copy(), fill);
  return sources.unite(isl::manage(isl_union_map_from_map(map)));
}

}  // namespace polyte::schedule
