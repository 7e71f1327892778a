#include "graph/layouts/minimum_cut.h"

#include <algorithm>

namespace polyte::graph {

// Vertices 0 and 1 are source and sink; thing i is vertex i + 2.
std::size_t MinimumCut::add_thing() {
  edges_of_.emplace_back();
  return edges_of_.size() - 3;
}

void MinimumCut::edge(std::size_t from, std::size_t to, std::int64_t cost) {
  connect(from + 2, to + 2, cost);
}

void MinimumCut::connect(std::size_t from, std::size_t to, std::int64_t cost) {
  if (cost <= 0) return;
  // Edge e and its reverse e ^ 1: what flows over one is room on the other.
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, cost});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

// Distances from the source along edges with room; whether the sink is reached.
bool MinimumCut::find_levels() {
  level_.assign(edges_of_.size(), -1);
  level_[kSource] = 0;
  std::vector<std::size_t> queue = {kSource};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const std::size_t e : edges_of_[queue[i]]) {
      if (edges_[e].room == 0 || level_[edges_[e].to] >= 0) continue;
      level_[edges_[e].to] = level_[queue[i]] + 1;
      queue.push_back(edges_[e].to);
    }
  }
  return level_[kSink] >= 0;
}

// One more edge towards the sink, or one back where there is none.
bool MinimumCut::advance(std::vector<std::size_t>& path, std::size_t vertex) {
  for (std::size_t& i = next_[vertex]; i < edges_of_[vertex].size(); ++i) {
    const Edge& edge = edges_[edges_of_[vertex][i]];
    if (edge.room == 0 || level_[edge.to] != level_[vertex] + 1) continue;
    path.push_back(edges_of_[vertex][i]);
    return true;
  }
  // A dead end for the rest of this phase.
  level_[vertex] = -1;
  if (!path.empty()) path.pop_back();
  return false;
}

// A blocking flow along the levels: paths are pushed until none is left whose edges all lead one
// level on. next_ keeps the edges that were tried, so that each is given up once in a phase.
void MinimumCut::push_along_paths() {
  next_.assign(edges_of_.size(), 0);
  std::vector<std::size_t> path;
  while (true) {
    const std::size_t vertex = path.empty() ? kSource : edges_[path.back()].to;
    if (vertex != kSink) {
      const bool is_done = path.empty();
      if (!advance(path, vertex) && is_done) return;
      continue;
    }
    std::int64_t most = kNever;
    for (const std::size_t e : path) most = std::min(most, edges_[e].room);
    for (const std::size_t e : path) {
      edges_[e].room -= most;
      edges_[e ^ 1].room += most;
    }
    path.clear();
  }
}

std::vector<bool> MinimumCut::first_side() {
  while (find_levels()) push_along_paths();
  std::vector<bool> first;
  // The last search found what the source still reaches: the first side of the minimum cut, and no
  // other minimum cut has a smaller one.
  for (std::size_t vertex = 2; vertex < edges_of_.size(); ++vertex)
    first.push_back(level_[vertex] >= 0);
  return first;
}

}  // namespace polyte::graph
