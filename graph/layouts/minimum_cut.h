// The cheapest way to split things in two: everything ends on one of two sides, an edge costs
// where its tail is on the first side and its head on the second. Exact, by the maximum flow
// (Dinic 1970), whose value is that of the minimum cut (Ford and Fulkerson 1956); among cheapest
// splits the one with the fewest on the first side.
//
//   MinimumCut cut(2);
//   cut.costs_unless_first(0, 5);     // 5 if thing 0 is on the second side
//   cut.costs_if_first(1, 3);         // 3 if thing 1 is on the first
//   cut.edge(0, 1, 4);                // 4 if 0 is on the first side and 1 is not
//   cut.first_side()                  // {true, true}: 3
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace polyte::graph {

class MinimumCut {
 public:
  static constexpr std::int64_t kNever = std::int64_t{1} << 60;  // more than any sum of costs

  explicit MinimumCut(std::size_t things) : edges_of_(things + 2) {}

  std::size_t add_thing();
  void edge(std::size_t from, std::size_t to, std::int64_t cost);
  void costs_if_first(std::size_t thing, std::int64_t cost) { connect(thing + 2, kSink, cost); }
  void costs_unless_first(std::size_t thing, std::int64_t cost) {
    connect(kSource, thing + 2, cost);
  }
  // Whether each thing is on the first side. To be called once.
  std::vector<bool> first_side();

 private:
  struct Edge {
    std::size_t to;
    std::int64_t room;
  };
  static constexpr std::size_t kSource = 0, kSink = 1;
  std::vector<Edge> edges_;                         // an edge and its reverse side by side
  std::vector<std::vector<std::size_t>> edges_of_;  // by vertex
  std::vector<int> level_;
  std::vector<std::size_t> next_;

  void connect(std::size_t from, std::size_t to, std::int64_t cost);
  bool find_levels();
  bool advance(std::vector<std::size_t>& path, std::size_t vertex);
  void push_along_paths();
};

}  // namespace polyte::graph
