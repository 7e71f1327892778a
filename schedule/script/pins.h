// Pins: what the lines of a script say of the finished schedule, and whether it is so. A completion
// of a script with holes keeps every pin (docs/scripts-with-holes.md).
//
//   split k by 32           the statements with k have a loop k // 32 and a loop k % 32, or these
//                           in parts
//   parallel i              the loop is parallel
//   nest par n.o > ...      a nest begins with a parallel n.o, which counts tiles of n
//
// Loops are known by what they count, not by name: a loop j2 whose iterations are those of j is j.
#pragma once

#include "schedule/script/holes.h"
#include "schedule/script/pinned_facts.h"
#include "schedule/script/replay.h"

namespace polyte::schedule {

// How the nest has to look, over loops by what they count.
struct PinnedForm {
  NestTree pattern;
  bool strict = false;  // a loop without brackets is serial
};

// What one line pins.
struct PinnedLine {
  Directive line;
  std::vector<PinnedFact> facts = {};
  std::vector<PinnedForm> forms = {};
};

struct BrokenPin {
  Directive line;
  std::string why;  // "acc.update has no loop k//32"
};

// The lines of a script above its holes, replayed, and what they and its nests pin.
class Pins {
 public:
  // `script` has no holes of sizes left. The refusal of a line above the holes, where there is one.
  static Result<Pins, Refusal> of(const std::shared_ptr<const ir::Program>& program,
                                  const Script& script, const Machine& machine, ProofLevel proof);

  const PartialScript& parts() const { return parts_; }
  const State& state() const { return state_; }  // behind the lines above the holes
  const ScriptEnvironment& environment() const { return environment_; }
  const std::vector<PinnedLine>& all() const { return pins_; }

  // A nest of a State with its loops called by what they count, as the lines of the script
  // mean them.
  NestTree by_meaning(const State& state) const;
  // The name by which a line means this loop of a statement; that of the loop where there is none.
  std::string meaning_of(const State& state, const Loop& loop) const;

  // `filled`: behind the lines that were added; `end`: behind the last line.
  std::vector<BrokenPin> broken_in(const State& filled, const State& end) const;

 private:
  PartialScript parts_;
  State state_;
  ScriptEnvironment environment_;
  std::vector<PinnedLine> pins_;

  void add_pin(const Directive& line, const State& before, const State& after);
};

// Holds a finished script against the one that it completes: the lines, and every pin on the State.
// Empty: all hold. The finished script is replayed without proof.
std::vector<BrokenPin> broken_pins(const std::shared_ptr<const ir::Program>& program,
                                   const Script& partial, const Script& completed,
                                   const Machine& machine);
// "line 3: split k by 32: acc.update has no loop k//32".
std::string print(const BrokenPin& broken);

}  // namespace polyte::schedule
