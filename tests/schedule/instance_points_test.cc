// Points, arrows and places of a picture against the interpreter's trace and the order of
// the loops.
#include "schedule/proof/instance_points.h"

#include <algorithm>

#include "tests/schedule/schedule_testing.h"
#include "tests/schedule/trace_pairs.h"

namespace polyte::schedule::instance_points_test {
namespace {

using Ends = std::pair<std::pair<std::string, std::vector<std::int64_t>>,
                       std::pair<std::string, std::vector<std::int64_t>>>;

std::set<Ends> arrows_of(const InstancePoints& points) {
  std::set<Ends> all;
  for (const InstanceArrow& arrow : points.arrows) {
    const InstancePoint &a = points.points[arrow.from], &b = points.points[arrow.to];
    all.insert({{a.statement, a.iterators}, {b.statement, b.iterators}});
  }
  return all;
}

}  // namespace

TEST_CASE("arrows are the direct dependences, one between two points") {
  const auto program = bound_program(kSweeps, {{"T", 3}, {"N", 6}});
  const InstancePoints points = points_of(state_of(program, ""), {"A", "B"}, 100);
  CHECK(points.points.size() == 24);
  std::set<Ends> expected;
  for (const auto& [kind, source, sink, tensor, reduction, from, to] :
       pairs_of_trace(*program, true))
    expected.insert({{source, from}, {sink, to}});
  CHECK(arrows_of(points) == expected);
  CHECK(points.arrows.size() == expected.size());
  CHECK(points_of(state_of(program, ""), {"B"}, 100).points.size() == 12);
  CHECK_THROWS_AS(points_of(state_of(program, ""), {"A", "B"}, 23), UserError);
}

TEST_CASE("places follow the loops, groups the tiles") {
  const auto program = bound_program(kSweeps, {{"T", 4}, {"N", 7}});
  const State state =
      state_of(program,
               "map B (t, 2*t+i), A (t, 2*t+i+1) as (t, I)\ntile (t, I) by (2, 3) tail cut\n"
               "nest t.o > I.o > t.i > I.i > { B; A }\n");
  const InstancePoints points = points_of(state, {"A", "B"}, 100);
  std::vector<std::pair<std::vector<std::int64_t>, int>> order, tiles;
  for (const InstancePoint& point : points.points) {
    const std::int64_t t = point.iterators[0], i = point.iterators[1];
    const bool is_a = point.statement == "A";
    const std::int64_t skewed = 2 * t + i + (is_a ? 1 : 0);
    order.push_back({{t / 2, skewed / 3, t % 2, skewed % 3, is_a ? 1 : 0}, point.place});
    tiles.push_back({{t / 2, skewed / 3}, point.group});
  }
  std::ranges::sort(order);
  for (std::size_t k = 0; k < order.size(); ++k) CHECK(order[k].second == static_cast<int>(k));
  for (const auto& [tile, group] : tiles)
    for (const auto& [other, its] : tiles) CHECK((tile < other) == (group < its));
}

}  // namespace polyte::schedule::instance_points_test
