#include <algorithm>

#include "schedule/proof/prover_impl.h"

namespace polyte::schedule {

// For each subscript the instances that are active (in the domain, and where the read's own guard
// holds) and for which
//
//   index < 0  or  index >= extent
//
// None may be left. A subscript read at run time is checked when it runs
// (lower/check_subscripts.h).
std::optional<Refusal> check_bounds(const IslModel& model, const std::vector<std::string>& names) {
  for (const IslStatement& s : model.statements) {
    const ir::Statement& body = s.statement->body;
    if (!names.empty() && std::ranges::find(names, body.name) == names.end()) continue;
    for (const IslAccess& access : s.accesses) {
      const IslBuffer& buffer = model.buffers[static_cast<std::size_t>(access.buffer)];
      for (std::size_t i = 0; i < access.text.indices.size(); ++i) {
        if (access.text.indices[i].indirect) continue;
        const ir::Affine& index = access.text.indices[i].affine;
        isl::set active = access.cells.domain();
        isl::space space = active.get_space();
        isl::set low = to_set(space, body.iterators, model.params, {ir::less_than(index, 0)});
        isl::set high =
            to_set(space, body.iterators, model.params, {ir::at_least(index, buffer.shape[i])});
        isl::set outside = active.intersect(low.unite(high));
        if (outside.is_empty()) continue;
        Point point = first_point(outside, model.params);
        Refusal refusal;
        refusal.kind = RefusalKind::Illegal;
        refusal.headline = "an access would leave its buffer";
        Counterexample c;
        c.sizes = point.params;
        c.size_names = model.params;
        c.sink = make_instance(body, point.values);
        c.watch = cell_text(access.text, body, point, 0);
        c.scheduled = to_string(c.sink) + (access.write ? " writes " : " reads ") + c.watch +
                      ", and '" + buffer.name + "' has " + ir::to_string(buffer.shape[i]) +
                      " elements in dimension " + std::to_string(i);
        refusal.counterexamples.push_back(std::move(c));
        return refusal;
      }
    }
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
