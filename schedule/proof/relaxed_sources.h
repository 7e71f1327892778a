// The criterion for a tensor whose updates run in another order than in the reference
// (docs/proof.md, "Relaxed"): the same generations, each made of the same updates, and every read
// sees of its generation what it sees there.
//
//   links    every update continues its generation (or begins it from the one before); no value
//            is continued twice: so the updates of a generation at one location form one path,
//            from what begins it
//   reads    a read takes a value of the same generation: the end of the path where no update comes
//            after it in the reference, else exactly the updates that come before it there
//   again    what is computed in every iteration of a site has, in each iteration that is read,
//            all its updates
#pragma once

#include "schedule/proof/correspondence.h"
#include "schedule/proof/generations.h"
#include "schedule/proof/source_refusals.h"

namespace polyte::schedule {

// One read of the State, copies followed.
struct ReadSources {
  Sink sink;
  isl::union_map actual;     // its instances -> the State's instances or virtual ones
  isl::union_map reference;  // the reference's instances -> theirs
  isl::union_map expected;   // its instances -> the reference's
};

class RelaxedSources {
 public:
  RelaxedSources(const Basis& basis, const IslModel& model, const Correspondence& correspondence,
                 const Generations& generations, const SourceRefusals& refusals);

  std::optional<Refusal> check(const std::vector<ReadSources>& reads);

 private:
  bool is_link(const Sink& sink) const;
  std::optional<Refusal> check_links(const std::vector<ReadSources>& reads);
  std::optional<Refusal> check_link(const ReadSources& link) const;
  std::optional<Refusal> check_once() const;
  std::optional<Refusal> check_twins() const;
  std::optional<Refusal> check_kept_order() const;
  std::optional<Refusal> check_read(const ReadSources& read) const;
  std::optional<Refusal> check_partial(const ReadSources& read, const isl::union_map& before,
                                       const isl::union_map& after) const;
  std::optional<Refusal> check_again(const ReadSources& read) const;

  int basis_statement(int statement) const;
  bool is_relaxed(int statement) const;  // of the model
  isl::union_map of_one_generation(const isl::union_map& links) const;
  isl::union_map of_one_location(const isl::union_map& pairs) const;
  // Reader of the reference -> updates of the generation that it reads, before it and after it.
  std::pair<isl::union_map, isl::union_map> updates_around(const ReadSources& read) const;

  const Basis& basis_;
  const IslModel& model_;
  const Correspondence& correspondence_;
  const Generations& generations_;
  const SourceRefusals& refusals_;
  isl::union_set updates_;    // relaxed ones, of the model
  bool updates_stay_ = true;  // each keeps its instances: none is missing
  isl::union_map links_;      // relaxed update -> the value it continues
  isl::union_set continued_;  // values that an update of the same generation continues
};

}  // namespace polyte::schedule
