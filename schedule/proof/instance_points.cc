#include "schedule/proof/instance_points.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/point.h>
#include <isl/set.h>

#include <algorithm>
#include <map>

#include "schedule/proof/direct_pairs.h"
#include "schedule/proof/isl_faults.h"
#include "support/error.h"
#include "support/stable_sort.h"

namespace polyte::schedule {
namespace {

using Numbers = std::vector<std::int64_t>;

// The numbers of every point of a relation: those of the domain, then those of the range. Points
// are enumerated one by one, which is for small sizes alone (`most` of points_of).
template <class Visit>
void for_each_pair(const isl::map& relation, const Visit& visit) {
  const isl::set all = isl::manage(isl_set_flatten(isl_map_wrap(relation.copy())));
  const auto split = static_cast<std::ptrdiff_t>(isl_map_dim(relation.get(), isl_dim_in));
  all.foreach_point([&](const isl::point& point) {
    Numbers numbers;
    for (isl_size d = 0; d < isl_set_dim(all.get(), isl_dim_set); ++d)
      numbers.push_back(
          isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(d)))
              .get_num_si());
    visit(Numbers(numbers.begin(), numbers.begin() + split),
          Numbers(numbers.begin() + split, numbers.end()));
  });
}

// i // 4, and t + (i - t) // 3, which is (2*t + i) // 3; not i % 4, which is i - 4*(i // 4).
bool is_tile_row(const ir::Affine& row) {
  return std::ranges::any_of(
      row.terms(), [](const ir::Term& term) { return term.atom.div && term.coefficient > 0; });
}

class Points {
 public:
  Points(const State& state, std::vector<std::string> statements, std::size_t most)
      : state_(state),
        statements_(std::move(statements)),
        most_(most),
        reference_(reference_state(state.reference)) {}

  InstancePoints run() {
    const IslModel basis = make_model(context_, reference_);
    add_points(basis);
    add_times(basis);
    add_arrows(basis);
    return std::move(result_);
  }

 private:
  const IslContext context_;
  const State& state_;
  const std::vector<std::string> statements_;
  const std::size_t most_;
  const State reference_;
  InstancePoints result_;
  std::map<std::pair<std::string, Numbers>, std::size_t> index_;

  bool is_wanted(const std::string& name) const {
    return std::ranges::find(statements_, name) != statements_.end();
  }

  void add_points(const IslModel& basis) {
    for (const IslStatement& s : basis.statements) {
      const std::string& name = s.statement->body.name;
      if (!is_wanted(name)) continue;
      const isl::val count = isl::manage(isl_set_count_val(s.domain.get()));
      if (isl_val_is_int(count.get()) != isl_bool_true ||
          isl_val_cmp_si(count.get(), static_cast<long>(most_ - result_.points.size())) > 0)
        throw UserError(ExitStatus::ResourceLimit,
                        "'" + name + "' has too many instances for a picture of at most " +
                            std::to_string(most_) + ": give smaller sizes, --shape");
      // A set is visited as its identity: domain and range of a pair are the same instance.
      for_each_pair(s.domain.identity(), [&](const Numbers& instance, const Numbers&) {
        index_[{name, instance}] = result_.points.size();
        result_.points.push_back({name, instance});
      });
    }
  }

  // When each instance runs, as its rank among the times that occur: pictures count 0, 1, 2,
  // however far apart the times are. Of an instance that runs several times (recomputed per tile)
  // the first counts.
  void add_times(const IslModel& basis) {
    const IslModel model = make_model(context_, state_);
    // By point: time, and that of its tile.
    std::map<std::size_t, std::pair<Numbers, Numbers>> first;
    for (std::size_t i = 0; i < model.statements.size(); ++i) {
      const IslStatement& s = model.statements[i];
      if (!is_wanted(s.statement->reference)) continue;
      const auto phi = phi_of(model, static_cast<int>(i), basis);
      if (!phi) continue;
      const isl::map time = isl::manage(
          isl_map_from_multi_aff(to_multi_aff(s.domain.get_space(), "", s.time).release()));
      const std::size_t length = tile_length(model, *s.statement);
      for_each_pair(phi->reverse().apply_range(time.intersect_domain(s.domain)),
                    [&](const Numbers& instance, const Numbers& at) {
                      const std::size_t point = index_.at({s.statement->reference, instance});
                      const Numbers tile(at.begin(),
                                         at.begin() + static_cast<std::ptrdiff_t>(length));
                      const auto [known, is_new] = first.try_emplace(point, at, tile);
                      if (!is_new && at < known->second.first) known->second = {at, tile};
                    });
    }
    std::map<Numbers, int> places, tiles;
    for (const auto& [point, times] : first) places[times.first], tiles[times.second];
    int next = 0;
    for (auto& [time, place] : places) place = next++;
    next = 0;
    for (auto& [time, tile] : tiles) tile = next++;
    for (const auto& [point, times] : first) {
      result_.points[point].place = places.at(times.first);
      result_.points[point].group = tiles.at(times.second);
    }
  }

  // How many leading dimensions of its time name the tile of an instance; without tiles, those down
  // to the outermost loop.
  static std::size_t tile_length(const IslModel& model, const ScheduledStatement& s) {
    std::size_t length = 0;
    for (const Loop* loop : path_to(model.state->tree, s.body.name))
      if (length == 0 || is_tile_row(row_at(s, loop->name)))
        length = static_cast<std::size_t>(model.depth_of_loop.at(loop->id)) + 1;
    return length;
  }

  void add_arrows(const IslModel& basis) {
    std::map<std::pair<std::size_t, std::size_t>, InstanceArrow> arrows;
    std::vector<RelatedPairs> all = direct_pairs(basis);
    sort_stably(all, {}, &RelatedPairs::kind);  // of two between the same points the flow is kept
    for (const RelatedPairs& related : all) {
      const auto name = [&](int i) {
        return basis.statements[static_cast<std::size_t>(i)].statement->body.name;
      };
      if (!is_wanted(name(related.source)) || !is_wanted(name(related.sink))) continue;
      for_each_pair(related.pairs, [&](const Numbers& from, const Numbers& to) {
        const std::size_t a = index_.at({name(related.source), from}),
                          b = index_.at({name(related.sink), to});
        arrows.try_emplace({a, b}, InstanceArrow{a, b, to_string(related.kind), related.reduction});
      });
    }
    for (const auto& [ends, arrow] : arrows) result_.arrows.push_back(arrow);
  }
};

}  // namespace

InstancePoints points_of(const State& state, const std::vector<std::string>& statements,
                         std::size_t most) {
  const IslContext context;
  return translated(context, "points of a picture",
                    [&] { return Points(state, statements, most).run(); });
}

}  // namespace polyte::schedule
