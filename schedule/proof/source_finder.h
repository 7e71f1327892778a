// Sources of reads in one model (a State's or a basis'): who wrote the value that a read takes,
// before it, and last. Where every cell is written once, the writer of the cell is the source if
// it comes before; elsewhere isl computes flow. Asked about some writers only, it looks through the
// others: who wrote last among these.
#pragma once

#include <functional>

#include "schedule/proof/clock.h"
#include "schedule/proof/reads.h"

namespace polyte::schedule {

class SourceFinder {
 public:
  // The instances of a statement that count as writers.
  using Writing = std::function<isl::set(int statement)>;

  explicit SourceFinder(const IslModel& model, Writing writing = {})
      : model_(model), clock_(model), writing_(std::move(writing)) {}

  // sink instance -> source instance (a statement's tuple, or IN<buffer>), for the reads
  // that read something.
  isl::union_map sources(const Sink& sink);

 private:
  struct Writers {
    isl::union_map cells;  // writer instance -> cell
    isl::union_map times;
    bool injective = true;

    void add(const isl::map& more_cells, const isl::map& more_times);
  };

  isl::map time_of(const Sink& sink);
  const Writers& writers_of(int buffer);
  isl::union_map in_order(const isl::union_map& claimed, const Writers& writers, const Sink& sink);
  bool all_forwards(const isl::union_map& claimed, const Sink& sink) const;
  isl::union_map flow(const isl::union_map& reads, const Writers& writers, const Sink& sink);

  const IslModel& model_;
  Clock clock_;
  Writing writing_;
  std::map<int, Writers> writers_;
};

}  // namespace polyte::schedule
