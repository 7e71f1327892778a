// Follows values through one execution of loops: what each element was made from. Internal to trace_check.cc.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/interpret.h"
#include "lower/trace_check.h"

namespace polyte::lower {

using Point = std::vector<std::int64_t>;
using Sources = std::vector<int>;  // sorted: what a value was made from, by number in Known

struct Cell {
  std::string buffer;
  Point index;
  auto operator<=>(const Cell&) const = default;
};

inline std::string list(const Point& point) {
  std::string text;
  for (std::size_t i = 0; i < point.size(); ++i) text += (i ? ", " : "") + std::to_string(point[i]);
  return text;
}

// Where a value comes from: an instance, an element of an input (`updates` -1), or the first `updates` updates of a
// reduction's element.
struct Source {
  std::string name;
  Point at;
  int updates = 0;
  auto operator<=>(const Source&) const = default;
  std::string text() const {
    if (updates < 0) return "input " + name + "[" + list(at) + "]";
    if (updates == 0) return name + "(" + list(at) + ")";
    return std::to_string(updates) + " updates of " + name + " at [" + list(at) + "]";
  }
};

// Numbers of sources, the same for both executions.
class Known {
 public:
  int number(const Source& source) {
    const auto [at, is_new] = numbers_.emplace(source, static_cast<int>(sources_.size()));
    if (is_new) sources_.push_back(source);
    return at->second;
  }
  const Source& operator[](int number) const { return sources_[static_cast<std::size_t>(number)]; }

 private:
  std::map<Source, int> numbers_;
  std::vector<Source> sources_;
};

inline void unite(Sources& into, const Sources& more) {
  Sources all;
  std::set_union(into.begin(), into.end(), more.begin(), more.end(), std::back_inserter(all));
  into = std::move(all);
}

struct Instance {
  Sources reads;
  Cell written;  // the first write
};

// Follows values through one execution.
class Follower {
 public:
  Follower(const ir::Program& program, const TraceOptions& options, Known& known) : known_(known) {
    for (const ir::Buffer* buffer : program.interface())
      if (buffer->role != ir::Role::Out) inputs_.insert(buffer->name);
    for (const auto& [statement, iterators] : options.any_order) chains_.insert(statement);
  }

  const Sources& of(const Cell& cell) {
    const auto [at, is_new] = cells_.try_emplace(cell);
    if (is_new && inputs_.count(cell.buffer) > 0) at->second = {known_.number({cell.buffer, cell.index, -1})};
    return at->second;
  }
  void set(const Cell& cell, Sources sources) { cells_[cell] = std::move(sources); }

  Sources reads_of(const ir::Event& event, int lane) {
    Sources all;
    for (const ir::Event::Cell& cell : event.cells)
      if (!cell.write && (cell.lane < 0 || cell.lane == lane)) unite(all, of({cell.buffer, cell.index}));
    return all;
  }

  // What the instance leaves in the elements it writes. Updates in any order: only how many there were counts, and
  // their own element, which holds `own`, does not count as read. `start` receives what the first one finds there.
  int result_of(const std::string& statement, const Point& instance, const Cell& written, const Sources& own,
                Sources& reads, const Sources** start) {
    if (chains_.count(statement) == 0) return known_.number({statement, instance, 0});
    int before = 0;
    const auto is_update = [&](int number) {
      const Source& source = known_[number];
      return source.updates > 0 && source.name == statement && source.at == written.index;
    };
    for (const int number : own)
      if (is_update(number)) before = std::max(before, known_[number].updates);
    if (before == 0) *start = &own;
    std::erase_if(reads, [&](int number) { return is_update(number) || std::ranges::binary_search(own, number); });
    return known_.number({statement, written.index, before + 1});
  }

 private:
  Known& known_;
  std::set<std::string> chains_, inputs_;
  std::map<Cell, Sources> cells_;
};

}  // namespace polyte::lower
