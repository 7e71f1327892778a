// Races between iterations of loops that run at once, found while they are executed one after the
// other. Private to interpret_loops.cc.
//
// Every running Parallel or Vector loop has an execution number, every iteration of it an index. A
// cell remembers, per level of such loops, in which iteration it was first read and last written;
// touching it in another iteration of the same execution, with a write on either side, is a race.
// One record per level is enough: executions follow each other, so an older record of the same
// level was in the same iteration. Atomic updates of one cell do not conflict with each other, only
// with what is not atomic.
#pragma once

#include <optional>
#include <vector>

#include "ir/resolved_loops.h"

namespace polyte::ir::resolved {

class Races {
 public:
  // Of a program with at most `levels` such loops around a statement.
  explicit Races(std::size_t levels) : levels_(levels) {}

  // Two iterations of one loop that touch an element.
  struct Race {
    std::int64_t earlier, now;
  };

  void begin_loop() { running_.push_back({++executions_, 0}); }
  void begin_iteration(std::int64_t i) { running_.back().iteration = i; }
  void end_loop() { running_.pop_back(); }
  std::size_t depth() const { return running_.size(); }

  // Of many reads in one execution the first is kept. That is enough: iterations run one after the
  // other here, so a write in iteration i follows only reads of iterations up to i; if the first
  // read was in i as well, all were.
  std::optional<Race> read(Cells& cells, std::int64_t position) {
    CellRecord* records = records_of(cells, position);
    for (std::size_t d = cells.first_level; records && d < running_.size(); ++d) {
      const Level& now = running_[d];
      for (const Level& other : {records[d].write, records[d].atomic})
        if (conflicts(other, now)) return Race{other.iteration, now.iteration};
      if (records[d].read.execution != now.execution) records[d].read = now;
    }
    return {};
  }

  // An atomic update is one write: its read is not told.
  std::optional<Race> write(Cells& cells, std::int64_t position, bool atomic) {
    CellRecord* records = records_of(cells, position);
    for (std::size_t d = cells.first_level; records && d < running_.size(); ++d) {
      const Level& now = running_[d];
      for (const Level& other :
           {records[d].read, records[d].write, atomic ? Level{} : records[d].atomic})
        if (conflicts(other, now)) return Race{other.iteration, now.iteration};
      (atomic ? records[d].atomic : records[d].write) = now;
    }
    return {};
  }

 private:
  std::size_t levels_;
  std::vector<Level> running_;  // outermost first
  std::int64_t executions_ = 0;

  // Null where no such loop runs inside the allocation: then its iterations have copies of their
  // own. Fresh records say execution 0, which no loop ever has (`executions_` is raised before it
  // is used), so they conflict with nothing.
  CellRecord* records_of(Cells& cells, std::int64_t position) const {
    if (running_.size() <= cells.first_level) return nullptr;
    if (cells.records.empty())
      cells.records.resize(
          static_cast<std::size_t>(std::max<std::int64_t>(cells.size * cells.copies, 1)) * levels_);
    return cells.records.data() + static_cast<std::size_t>(position) * levels_;
  }

  // Another execution of the loop came before or after as a whole: that orders the two. Within one
  // execution, iterations are unordered.
  static bool conflicts(const Level& record, const Level& now) {
    return record.execution == now.execution && record.iteration != now.iteration;
  }
};

}  // namespace polyte::ir::resolved
