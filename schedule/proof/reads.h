// The reads of a model as sinks of values: who executes each, which cells it takes, and what it
// takes instead where its guard is false. What a caller reads of a result when all has run is
// one as well (OUT); what it gave before is a source (IN). Both are virtual statements over the
// cells of the buffer.
#pragma once

#include "schedule/proof/isl_bridge.h"

namespace polyte::schedule {

struct Sink {
  int statement = -1;  // -1: OUT of `buffer`
  int read = 0;        // position among the statement's accesses
  int buffer = 0;
  isl::map cells;
  std::optional<isl::set> outside;  // where its guard is false; none: unguarded
  std::string fill;                 // name of the guard's value
  bool exact = true;
  bool own = false;  // an update's read of the element that it updates
  isl::set instances() const { return outside ? cells.domain().unite(*outside) : cells.domain(); }
};

// Of a statement, from the buffers that hold values of `family` (IslBuffer::of).
std::vector<Sink> reads_of(const IslModel& model, int statement, const std::string& family);
Sink out_sink(const IslModel& model, int buffer);
// The instances of IN, each with its cell.
isl::map in_cells(const IslModel& model, int buffer);
// `sources` of this sink, with the value of its guard where that is false.
isl::union_map with_fill(const isl::union_map& sources, const Sink& sink);

isl::union_map to_union(const isl::map& map);

}  // namespace polyte::schedule
