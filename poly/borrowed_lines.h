// Lines of a schedule (completion_sources.h) as they can be said behind lines of a person: what
// these have done already is left out, sizes that they have given hold, and a loop that they have
// split is the two that it became.
//
//   person     split k by 96
//   schedule   split k by 384;  nest m.o > k.o > m.i > k.i > S   ->  nest m.o > k.o > m.i > k.i > S
//   schedule   nest m > k > S                                    ->  nest m > k.o > k.i > S
#pragma once

#include "schedule/script/pins.h"

namespace polyte::poly {

// A loop that a line of the person splits, and by how much.
struct GivenSplit {
  std::string statement;  // empty: of all that have the loop
  std::string loop;
  schedule::Size size;
  schedule::Tail tail;
};
std::vector<GivenSplit> given_splits(const std::vector<schedule::Directive>& lines);

class BorrowedLines {
 public:
  // `environment`: with the person's params; those of the lines are added as they come.
  BorrowedLines(std::vector<GivenSplit> given, schedule::State state,
                schedule::ScriptEnvironment environment)
      : given_(std::move(given)), state_(std::move(state)), environment_(std::move(environment)) {}

  // Takes the line where it means something here. Structure alone, nothing is proved.
  bool take(const schedule::Directive& line);
  // Gives a loop a kind: in the last nest that was taken, else by a line of its own.
  bool set_kind(const std::string& statement, const std::string& loop, schedule::LoopKind kind);
  // The nests that were taken are replaced by one.
  bool replace_nests(const schedule::NestTree& tree);

  const schedule::State& state() const { return state_; }
  const schedule::ScriptEnvironment& environment() const { return environment_; }
  const std::vector<schedule::Directive>& taken() const { return taken_; }

 private:
  std::vector<GivenSplit> given_;
  schedule::State state_;
  schedule::ScriptEnvironment environment_;
  std::vector<schedule::Directive> taken_;

  schedule::Directive fitting(schedule::Directive line) const;
  schedule::NestTree with_parts(const schedule::NestTree& tree,
                                const std::set<std::string>& split) const;
  schedule::Transaction with_given_sizes(const schedule::Transaction& together) const;
};

}  // namespace polyte::poly
