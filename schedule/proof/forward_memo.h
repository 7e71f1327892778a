// Dependences that are known to run forwards. One script asks for the same ones again and again:
// after each directive that moves storage, and at its end, between all statements that the
// directive left alone; and a value that is read and overwritten is two dependences of the same
// pairs. What was found once is kept, by what the answer depends on: the pairs, which instances the
// two statements run, and their times up to where they part in a sequence, without the dimensions
// in which they are the same constant. What a directive adds elsewhere in the tree changes none of
// these, and what is known of a statement holds for the parts of it that a cut makes.
#pragma once

#include <unordered_map>

#include "schedule/proof/isl_bridge.h"

namespace polyte::schedule {

class ForwardMemo {
 public:
  // As schedule::find_backwards between statements of the model, each all or a part of one of the
  // basis; `pairs` are of the basis. Not thread-safe; the context outlives the memo.
  std::optional<BackwardPairs> find_backwards(const IslModel& model, int source, int sink,
                                              const isl::map& pairs);

 private:
  struct Runs {
    std::vector<ir::Constraint> domain;
    std::vector<isl::aff> time;
  };
  struct Question {
    isl::map pairs;
    Runs source, sink;
    int branch = 0;  // where their times end the source comes before (-1) or after (1) the sink

    bool implies(const Question& asked) const;
  };
  static Question question(const IslModel& model, int source, int sink, const isl::map& pairs);

  std::unordered_multimap<std::uint32_t, Question> forwards_;  // by the pairs' hash
};

}  // namespace polyte::schedule
