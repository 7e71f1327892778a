#include "schedule/proof/dependence_report.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/point.h>
#include <isl/set.h>

#include <algorithm>
#include <map>

#include "schedule/proof/direct_pairs.h"
#include "schedule/proof/isl_faults.h"
#include "schedule/proof/isl_names.h"
#include "schedule/proof/prover_impl.h"

namespace polyte::schedule {
namespace {

// isl operations of the direct pairs; beyond it all are listed.
constexpr std::uint64_t kDirectQuota = 50'000'000;
constexpr std::size_t kMostDistances = 9;  // beyond it the box around them

using Distance = std::vector<DistanceRange>;

// No bound on a side of either is no bound on that side of both.
DistanceRange hull(const DistanceRange& a, const DistanceRange& b) {
  DistanceRange both;
  if (a.min && b.min) both.min = std::min(*a.min, *b.min);
  if (a.max && b.max) both.max = std::max(*a.max, *b.max);
  return both;
}

bool is_within(const DistanceRange& inner, const DistanceRange& outer) {
  return hull(inner, outer) == outer;
}

bool is_within(const Distance& inner, const Distance& outer) {
  for (std::size_t d = 0; d < inner.size(); ++d)
    if (!is_within(inner[d], outer[d])) return false;
  return true;
}

std::int64_t order_key(const std::optional<std::int64_t>& bound, std::int64_t none) {
  return bound.value_or(none);
}

// Lexicographic; without a bound is farther away than any bound.
bool comes_before(const Distance& a, const Distance& b) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  for (std::size_t d = 0; d < a.size(); ++d) {
    const std::pair x(order_key(a[d].min, -kFar), order_key(a[d].max, kFar));
    const std::pair y(order_key(b[d].min, -kFar), order_key(b[d].max, kFar));
    if (x != y) return x < y;
  }
  return false;
}

Distance box_around(const std::vector<Distance>& all) {
  Distance box = all.front();
  for (const Distance& each : all)
    for (std::size_t d = 0; d < box.size(); ++d) box[d] = hull(box[d], each[d]);
  return box;
}

// No two alike, none within another. Beyond kMostDistances the box around all of them: a reader
// wants to know how far, and (0..1, -3..3) says that better than ten vectors.
std::vector<Distance> tidied(std::vector<Distance> all) {
  std::vector<Distance> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool is_needed = true;
    // Alike: the first.
    for (std::size_t j = 0; j < all.size() && is_needed; ++j)
      if (j != i && is_within(all[i], all[j])) is_needed = is_within(all[j], all[i]) && i < j;
    if (is_needed) kept.push_back(all[i]);
  }
  std::ranges::sort(kept, comes_before);
  if (kept.size() <= kMostDistances) return kept;
  return {box_around(kept)};
}

std::optional<std::int64_t> whole_number(const isl::val& value) {
  if (!value.is_int()) return std::nullopt;
  return value.num_si();
}

isl::aff coordinate(const isl::space& of, unsigned dimension) {
  return isl::manage(isl_aff_var_on_domain(isl_local_space_from_space(isl_space_copy(of.get())),
                                           isl_dim_set, dimension));
}

class Reporter {
 public:
  Reporter(IslContext& context, const std::shared_ptr<const ir::Program>& program, Pairs pairs)
      : context_(context),
        state_(reference_state(program)),
        model_(make_model(context, state_)),
        names_(model_) {
    report_.program = program;
    report_.direct = pairs == Pairs::Direct;
    report_.context = text_of(names_.readable_params(model_.context));
    for (std::size_t i = 0; i < model_.statements.size(); ++i) add_statement(i);
    for (const RelatedPairs& each : related()) add(each);
  }

  DependenceReport run() { return std::move(report_); }

 private:
  IslContext& context_;
  const State state_;
  const IslModel model_;
  const IslNames names_;
  DependenceReport report_;

  const ir::Statement& statement(int i) const {
    return model_.statements[static_cast<std::size_t>(i)].statement->body;
  }

  void add_statement(std::size_t i) {
    const IslStatement& s = model_.statements[i];
    ReportedStatement out{.name = s.statement->body.name,
                          .isl_name = names_.statement(i),
                          .iterators = s.statement->body.iterators};
    out.domain =
        text_of(names_.readable(isl::manage(isl_set_remove_redundancies(s.domain.copy())), i));
    const isl::map time = isl::manage(
        isl_map_from_multi_aff(to_multi_aff(s.domain.get_space(), "", s.time).release()));
    out.order = text_of(names_.readable(
        isl::manage(isl_map_remove_redundancies(time.intersect_domain(s.domain).release())), i));
    for (const IslAccess& access : s.accesses) {
      isl_map* cells = isl_map_set_tuple_id(
          access.cells.copy(), isl_dim_out,
          isl_id_alloc(context_.get().get(), isl_name(access.text.buffer).c_str(), nullptr));
      out.touches.push_back(
          text_of(names_.readable(isl::manage(isl_map_remove_redundancies(cells)), i)));
      out.writes.push_back(access.write);
    }
    report_.statements.push_back(std::move(out));
  }

  // Direct pairs take a dataflow analysis, whose cost has no useful bound: it runs under a quota.
  // Where that is spent, all pairs are listed, and a note says so.
  std::vector<RelatedPairs> related() {
    if (!report_.direct) return all_pairs(model_);
    context_.limit(kDirectQuota);
    try {
      std::vector<RelatedPairs> found = direct_pairs(model_);
      context_.limit(0);
      return found;
    } catch (const isl::exception& e) {
      if (!is_quota(context_, e)) throw_isl_fault(context_, e, "dataflow");
      context_.limit(0);
      report_.direct = false;
      report_.notes.push_back("which dependences are direct is not found within " +
                              std::to_string(kDirectQuota) + " operations: all of them are listed");
      return all_pairs(model_);
    }
  }

  void add(const RelatedPairs& related) {
    const ir::Statement &source = statement(related.source), &sink = statement(related.sink);
    ReportedDependence out{.kind = to_string(related.kind),
                           .source = source.name,
                           .sink = sink.name,
                           .tensor = model_.buffers[static_cast<std::size_t>(related.buffer)].name,
                           .reduction = related.reduction,
                           .exact = related.exact,
                           .loops = {},
                           .distances = {},
                           .from = {},
                           .to = {},
                           .cell = {},
                           .sizes = {},
                           .relation = {}};
    for (const std::string& loop : source.iterators)
      if (std::ranges::find(sink.iterators, loop) != sink.iterators.end())
        out.loops.push_back(loop);
    out.distances = distances_of(related.pairs, source, sink, out.loops);
    const Point point = first_point(isl::manage(isl_map_wrap(related.pairs.copy())), model_.params);
    const auto split = static_cast<std::ptrdiff_t>(source.iterators.size());
    out.from = make_instance(source, {point.values.begin(), point.values.begin() + split});
    out.to = make_instance(sink, {point.values.begin() + split, point.values.end()});
    out.sizes = point.params;
    // The cell is named by a write, which either end has: in a flow the source, in an anti
    // dependence (read, then written) the sink, whose coordinates come second in the point.
    const bool source_writes = related.kind != DependenceKind::Anti;
    const ir::Statement& writer = source_writes ? source : sink;
    for (const ir::Access& write : writer.writes)
      if (write.buffer == out.tensor)
        out.cell = cell_text(write, writer, point, source_writes ? 0 : source.iterators.size());
    out.relation = text_of(names_.readable(related.pairs, static_cast<std::size_t>(related.source),
                                           static_cast<std::size_t>(related.sink)));
    report_.dependences.push_back(std::move(out));
  }

  // The set { sink - source } over the loops that both have by name, for all sizes at once
  // (parameters are projected out: a distance that grows with N has no bound).
  //
  //   S[i, j] -> S[i + 1, j']: 0 <= j' < N      distances { (1, d) }:  (1, *)
  //
  // Few distances are listed one by one, others as boxes.
  static std::vector<Distance> distances_of(const isl::map& pairs, const ir::Statement& source,
                                            const ir::Statement& sink,
                                            const std::vector<std::string>& loops) {
    if (loops.empty()) return {};
    const isl::set wrapped = isl::manage(isl_map_wrap(pairs.copy()));
    const isl::space space = wrapped.space();
    std::vector<isl::aff> differences;
    for (const std::string& loop : loops) {
      const auto at = [&](const ir::Statement& s) {
        return static_cast<unsigned>(std::ranges::find(s.iterators, loop) - s.iterators.begin());
      };
      const auto first = static_cast<unsigned>(source.iterators.size());
      differences.push_back(coordinate(space, first + at(sink)).sub(coordinate(space, at(source))));
    }
    isl_map* to_differences =
        isl_map_from_multi_aff(to_multi_aff(wrapped.get_space(), "", differences).release());
    isl_set* found = isl_set_apply(wrapped.copy(), to_differences);
    found = isl_set_project_out(found, isl_dim_param, 0,
                                static_cast<unsigned>(isl_set_dim(found, isl_dim_param)));
    const isl::set differences_found = isl::manage(found);
    if (auto few = few_points(differences_found)) return tidied(std::move(*few));
    return boxes_of(differences_found.coalesce(), loops.size());
  }

  // Each distance by itself, where there are few.
  static std::optional<std::vector<Distance>> few_points(const isl::set& differences) {
    if (isl_set_is_bounded(differences.get()) != isl_bool_true) return std::nullopt;
    const auto count = whole_number(isl::manage(isl_set_count_val(differences.get())));
    if (!count || *count > static_cast<std::int64_t>(kMostDistances)) return std::nullopt;
    std::vector<Distance> all;
    differences.foreach_point([&](const isl::point& point) {
      Distance distance;
      for (isl_size d = 0; d < isl_set_dim(differences.get(), isl_dim_set); ++d) {
        const auto value = whole_number(isl::manage(
            isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(d))));
        distance.push_back({value, value});
      }
      all.push_back(std::move(distance));
    });
    return all;
  }

  // A box around each convex part. Together they hold all distances; where the box around all of
  // them has nothing else in it, that one says the same in one line.
  static std::vector<Distance> boxes_of(const isl::set& differences, std::size_t count) {
    std::vector<Distance> boxes;
    differences.foreach_basic_set([&](const isl::basic_set& part) {
      if (part.is_empty()) return;
      const isl::set one(part);
      Distance box;
      for (std::size_t d = 0; d < count; ++d) {
        const isl::aff value = coordinate(one.space(), static_cast<unsigned>(d));
        box.push_back({whole_number(one.min_val(value)), whole_number(one.max_val(value))});
      }
      boxes.push_back(std::move(box));
    });
    const Distance around = box_around(boxes);
    if (is_filled(around, differences)) return {around};
    return tidied(std::move(boxes));
  }

  // Whether each whole point of the box is a distance.
  static bool is_filled(const Distance& box, const isl::set& differences) {
    isl_set* all = isl_set_universe(isl_set_get_space(differences.get()));
    for (std::size_t d = 0; d < box.size(); ++d) {
      const auto at = static_cast<unsigned>(d);
      isl_ctx* ctx = isl_set_get_ctx(all);
      if (box[d].min)
        all = isl_set_lower_bound_val(all, isl_dim_set, at, isl_val_int_from_si(ctx, *box[d].min));
      if (box[d].max)
        all = isl_set_upper_bound_val(all, isl_dim_set, at, isl_val_int_from_si(ctx, *box[d].max));
    }
    return isl::manage(all).is_subset(differences);
  }
};

}  // namespace

bool operator==(const DistanceRange& a, const DistanceRange& b) {
  return a.min == b.min && a.max == b.max;
}

std::string to_string(const DistanceRange& range) {
  if (!range.min && !range.max) return "*";
  if (!range.max) return ">=" + std::to_string(*range.min);
  if (!range.min) return "<=" + std::to_string(*range.max);
  if (*range.min == *range.max) return std::to_string(*range.min);
  return std::to_string(*range.min) + ".." + std::to_string(*range.max);
}

DependenceReport report_dependences(std::shared_ptr<const ir::Program> program, Pairs pairs) {
  IslContext context;
  return translated(context, "dependences",
                    [&] { return Reporter(context, program, pairs).run(); });
}

}  // namespace polyte::schedule
