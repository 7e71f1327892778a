// Refusals for reads of one buffer of the reference (and of what holds its values) that take
// another value than there: what is wrong, with one instance of it, the sizes at which it happens,
// and what each side would take.
#pragma once

#include "schedule/proof/prover_impl.h"
#include "schedule/proof/reads.h"

namespace polyte::schedule {

class SourceRefusals {
 public:
  SourceRefusals(const IslModel& model, const IslModel& reference, std::string family)
      : model_(model), reference_(reference), family_(std::move(family)) {}

  Refusal undefined_read(const Sink& sink, const isl::union_set& instances) const;
  // `wrong` in instances of the reference, not empty.
  Refusal wrong_source(const Sink& sink, const isl::union_map& wrong,
                       const isl::union_map& expected) const;
  // Of a sum in another order: `pairs` of sink and source, not empty. The sink `does` something
  // with the source.
  Refusal wrong_path(const Sink& sink, const isl::union_map& pairs, const std::string& headline,
                     const std::string& does) const;
  // Pairs of updates that go on from one value, not empty.
  Refusal counted_twice(const isl::union_map& pairs) const;
  // Pairs of instances that are one update of the reference at one location, not empty.
  Refusal done_twice(const isl::map& pairs) const;
  // Pairs of instances that both begin one generation, not empty, of which something
  // goes on (`links`).
  Refusal cut_in_two(const isl::union_map& twins, const isl::union_map& links) const;
  // Updates (pairs of a statement, the first before the second in the reference) that the contract
  // keeps in order.
  Refusal changed_order(int statement, const isl::map& pairs) const;
  const std::string& family() const { return family_; }

 private:
  Counterexample example_of(const isl::map& pairs, Point& point) const;
  std::string describe(const isl::map& map, const Point& point, const IslModel& of) const;
  Instance sink_instance(const Sink& sink, const std::vector<std::int64_t>& values) const;
  std::string sink_cell(const Sink& sink, const Point& point) const;
  std::string expected_source(const isl::map& map, const Point& reader,
                              const isl::union_map& expected) const;

  const IslModel& model_;
  const IslModel& reference_;
  std::string family_;
};

}  // namespace polyte::schedule
