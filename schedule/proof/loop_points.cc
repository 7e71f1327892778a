// The loops of statements against their instances. Lowering runs a statement at every point of its
// loops that satisfies its domain (through the inverse) and its loop domain; these points are the
// images of its instances, no more and no less, whatever splits, maps and rewrites of the Program
// have made of them.
#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>

#include "schedule/proof/prover_impl.h"
#include "schedule/state/digits.h"

namespace polyte::schedule {

namespace {

Refusal wrong_points(const IslModel& model, const ScheduledStatement& s, const isl::set& points,
                     bool extra) {
  const Point point = first_point(points, model.params);
  Refusal refusal;
  refusal.kind = RefusalKind::Illegal;
  refusal.headline = s.body.name + (extra ? " would run where it has no instance"
                                          : " would leave an instance out");
  Instance at{s.body.name, {}};
  for (std::size_t i = 0; i < s.rows.size(); ++i)
    at.iterators.emplace_back(s.rows[i].loop, point.values.at(i));
  Counterexample c;
  c.sizes = point.params;
  c.size_names = model.params;
  c.sink = at;
  c.scheduled =
      "iteration " + to_string(at) + (extra ? " is the image of none" : " is not reached");
  refusal.counterexamples.push_back(std::move(c));
  return refusal;
}

// A statement's loops and its instances, with the maps between them.
struct LoopPoints {
  isl::set instances, points;
  isl::multi_aff rows;     // instance -> point
  isl::multi_aff inverse;  // point -> instance
};

LoopPoints points_of(const IslContext& context, const IslModel& model,
                     const IslStatement& statement) {
  const ScheduledStatement& s = *statement.statement;
  const isl::space instance = statement.domain.get_space();
  std::vector<std::string> loops;
  std::vector<isl::aff> rows, iterators;
  for (const LoopRow& row : s.rows) {
    loops.push_back(row.loop);
    rows.push_back(to_aff(instance, s.body.iterators, model.params, row.value));
  }
  const isl::space point = set_space(context, model.params, "L", loops.size());
  for (const std::string& iterator : s.body.iterators)
    iterators.push_back(to_aff(point, loops, model.params, s.inverse.at(iterator)));
  const isl::set points =
      to_set(point, loops, model.params, loop_constraints(s)).intersect_params(model.context);
  const std::string tuple = isl_space_get_tuple_name(instance.get(), isl_dim_set);
  return {statement.domain.intersect_params(model.context), points,
          to_multi_aff(instance, "L", rows), to_multi_aff(point, tuple, iterators)};
}

bool is_inverse_at(const LoopPoints& p) {
  isl_multi_aff* round = isl_multi_aff_pullback_multi_aff(p.rows.copy(), p.inverse.copy());
  isl_multi_aff* same = isl_multi_aff_identity_on_domain_space(isl_set_get_space(p.points.get()));
  const isl::set fixed = isl::manage(isl_map_domain(
      isl_map_intersect(isl_map_from_multi_aff(round), isl_map_from_multi_aff(same))));
  return p.points.is_subset(fixed);
}

// Enough, and without a projection: every instance's point is one, every point's instance is one,
// and the point is the instance's.
bool are_plainly_the_same(const LoopPoints& p) {
  const auto within = [](const isl::set& inner, const isl::multi_aff& map, const isl::set& outer) {
    return inner.is_subset(isl::manage(isl_set_preimage_multi_aff(outer.copy(), map.copy())));
  };
  return within(p.instances, p.rows, p.points) && within(p.points, p.inverse, p.instances) &&
         is_inverse_at(p);
}

}  // namespace

std::optional<Refusal> check_loop_points(const IslContext& context, const IslModel& model) {
  for (const IslStatement& statement : model.statements) {
    const LoopPoints p = points_of(context, model, statement);
    if (are_plainly_the_same(p)) continue;
    const ScheduledStatement& s = *statement.statement;
    const isl::set image =
        isl::manage(isl_set_apply(p.instances.copy(), isl_map_from_multi_aff(p.rows.copy())));
    const isl::set extra = p.points.subtract(image), missing = image.subtract(p.points);
    if (!extra.is_empty()) return wrong_points(model, s, extra, true);
    if (!missing.is_empty()) return wrong_points(model, s, missing, false);
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
