// What a random directive is drawn from: a State as it stands, and real names of its statements,
// tensors and loops, with one now and then that means nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "driver/judge/fuzz/random.h"
#include "schedule/script/script.h"
#include "support/machine.h"

namespace polyte::fuzz {

struct Scene {
  Scene(const schedule::State& current, const Machine& target, Random& numbers);

  const schedule::State& state;
  const Machine& machine;
  Random& random;
  std::vector<std::string> statements, tensors;

  std::string nonsense(const std::string& name) { return random.chance(2) ? "nowhere" : name; }
  std::string statement() { return nonsense(random.pick(statements)); }
  std::string tensor() { return nonsense(random.pick(tensors)); }
  std::vector<std::string> loops_of(const std::string& statement) const;
  std::vector<std::string> tiled_loops() const;  // within tiles: those that have a tail
  schedule::LoopName loop_name();
  // Now and then a selector of many.
  schedule::LoopName loop_names();
  std::string other_loop(const schedule::LoopName& loop);
  std::vector<std::string> some_loops();
  schedule::Size factor();
  schedule::Tail tail();
  std::string number() { return std::to_string(random.between(-2, 3)); }
  std::string number_name() { return std::to_string(random.between(0, 9)); }
  std::string fresh(const std::string& base) {
    return random.chance(50) ? "" : base + number_name();
  }
  std::vector<schedule::When> when();
  // Loops above `host` down to a random depth that `moved` does not own.
  std::vector<schedule::When> lacking(const std::string& moved, const std::string& host, bool first,
                                      std::size_t depth);
  bool reads(const std::string& statement, const std::string& tensor) const;
  std::string written_by(const std::string& statement) const {
    return state.at(statement).body.writes.front().buffer;
  }
  std::string of_role(ir::Role role);
  std::string temporary() { return of_role(ir::Role::Temp); }
  // (producer, consumer): what one writes and the other reads.
  std::pair<std::string, std::string> dependent_pair();
  // A loop above some statement that reads or writes the tensor.
  schedule::LoopName touching_loop(const std::string& tensor);
};

}  // namespace polyte::fuzz
