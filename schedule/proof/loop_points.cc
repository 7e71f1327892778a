// The loops of statements against their instances. Lowering runs a statement at every point of its loops that satisfies
// its domain (through the inverse) and its loop domain; these points are the images of its instances, no more and no
// less, whatever splits, maps and rewrites of the Program have made of them.
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>

#include "schedule/language/digits.h"
#include "schedule/proof/prover_impl.h"

namespace polyte::schedule {

namespace {

Refusal wrong_points(const IslModel& model, const ScheduledStatement& s, const isl::set& points, bool extra) {
  const Point point = first_point(points, model.params);
  Refusal refusal;
  refusal.kind = RefusalKind::Illegal;
  refusal.headline = s.body.name + (extra ? " would run where it has no instance" : " would leave an instance out");
  Instance at{s.body.name, {}};
  for (std::size_t i = 0; i < s.rows.size(); ++i) at.iterators.emplace_back(s.rows[i].loop, point.values.at(i));
  Counterexample c;
  c.sizes = point.params;
  c.size_names = model.params;
  c.sink = at;
  c.scheduled = "iteration " + to_string(at) + (extra ? " is the image of none" : " is not reached");
  refusal.counterexamples.push_back(std::move(c));
  return refusal;
}

}  // namespace

std::optional<Refusal> check_loop_points(const IslContext& context, const IslModel& model) {
  for (const IslStatement& statement : model.statements) {
    const ScheduledStatement& s = *statement.statement;
    std::vector<std::string> loops;
    std::vector<isl::aff> rows;
    for (const LoopRow& row : s.rows) {
      loops.push_back(row.loop);
      rows.push_back(to_aff(statement.domain.get_space(), s.body.iterators, model.params, row.value));
    }
    const isl::space space = set_space(context, model.params, "L", loops.size());
    const isl::set points = to_set(space, loops, model.params, loop_constraints(s)).intersect_params(model.context);
    const isl::multi_aff map = to_multi_aff(statement.domain.get_space(), "L", rows);
    const isl::set image = isl::manage(isl_set_apply(statement.domain.copy(), isl_map_from_multi_aff(map.copy())))
                               .intersect_params(model.context);
    const isl::set extra = points.subtract(image), missing = image.subtract(points);
    if (!extra.is_empty()) return wrong_points(model, s, extra, true);
    if (!missing.is_empty()) return wrong_points(model, s, missing, false);
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
