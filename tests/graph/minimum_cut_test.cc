// The minimum cut against all splits of up to eight things, and the side that equal costs choose.
#include "graph/layouts/minimum_cut.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>

namespace polyte::graph {

namespace {

struct Problem {
  struct Edge {
    std::size_t from, to;
    std::int64_t cost;
  };
  std::vector<std::int64_t> if_first, unless_first;
  std::vector<Edge> edges;

  std::int64_t cost(const std::vector<bool>& first) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < first.size(); ++i) sum += first[i] ? if_first[i] : unless_first[i];
    for (const Edge& edge : edges) sum += first[edge.from] && !first[edge.to] ? edge.cost : 0;
    return sum;
  }
  std::vector<bool> solve() const {
    MinimumCut cut(if_first.size());
    for (std::size_t i = 0; i < if_first.size(); ++i) {
      cut.costs_if_first(i, if_first[i]);
      cut.costs_unless_first(i, unless_first[i]);
    }
    for (const Edge& edge : edges) cut.edge(edge.from, edge.to, edge.cost);
    return cut.first_side();
  }
};

Problem random_problem(std::mt19937& random, std::size_t things) {
  const auto below = [&](std::size_t n) { return static_cast<std::int64_t>(random() % n); };
  Problem problem;
  for (std::size_t i = 0; i < things; ++i) {
    problem.if_first.push_back(below(6));
    problem.unless_first.push_back(below(6));
  }
  for (std::size_t i = 0; i < 2 * things; ++i)
    problem.edges.push_back({static_cast<std::size_t>(below(things)),
                             static_cast<std::size_t>(below(things)), below(5)});
  return problem;
}

}  // namespace

TEST_CASE("the cheapest split of random things, against all of them") {
  std::mt19937 random(1);
  for (int run = 0; run < 200; ++run) {
    const std::size_t things = 1 + random() % 8;
    const Problem problem = random_problem(random, things);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t bits = 0; bits < std::size_t{1} << things; ++bits) {
      std::vector<bool> first;
      for (std::size_t i = 0; i < things; ++i) first.push_back((bits >> i & 1) != 0);
      least = std::min(least, problem.cost(first));
    }
    CHECK(problem.cost(problem.solve()) == least);
  }
}

TEST_CASE("where costs are equal the first side is empty") {
  MinimumCut cut(2);
  cut.costs_if_first(0, 3);
  cut.costs_unless_first(0, 3);
  cut.edge(0, 1, 1);
  CHECK(cut.first_side() == std::vector<bool>{false, false});
}

TEST_CASE("a thing added later is one like the others; what must never be is not") {
  MinimumCut cut(1);
  const std::size_t added = cut.add_thing();
  cut.costs_unless_first(0, 10);
  cut.edge(0, added, MinimumCut::kNever);
  cut.costs_if_first(added, 4);
  CHECK(cut.first_side() == std::vector<bool>{true, true});
}

}  // namespace polyte::graph
