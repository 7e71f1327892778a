// Judge: one random Program and Script taken along every execution path, the results compared bit
// for bit.
//
//   print -> parse -> print           the same text, and the same loops after replay
//                                     (directives of nests too)
//   all loops renamed                 the same loops up to names
//   replay, proved                    accepted or refused
//   accepted                          loops before and after the passes interpreted
//                                     (bounds, initialisation, races), every value followed to the
//                                     instance that computed it (lower/trace_check.h), of a sample:
//                                     the instances of the nest in the order of isl's own code,
//                                     machine code on 1 and 2 threads if `native`: all equal to
//                                     the reference order
//   open sizes                        proved with all sizes open, then bound to twelve (the least,
//                                     odd, prime, those of tiles and one off) and executed at each
//   refused, but not as malformed     the lines up to the refused one executed without proof: is
//                                     there a difference?
//
// A difference after an acceptance, an internal error, or a text that does not come back
// is a failure.
#pragma once

#include <string>

#include "codegen/target.h"
#include "driver/judge/fuzz/random_program.h"
#include "schedule/script/replay.h"

namespace polyte::fuzz {

struct Case {
  RandomProgram program;
  schedule::Script script;
  bool native = false;
  std::uint64_t data_seed = 0;
  bool open = false;                        // proved once for all sizes, executed at twelve
  bool renames = false;                     // all loops are renamed at the end: the same loops
  bool includes = false, has_hole = false;  // the text comes with an `include`, with `param F1 = ?`
};

enum class Outcome { Accepted, Illegal, Malformed, Undecided, Skipped, Failed };

struct Verdict {
  Outcome outcome = Outcome::Skipped;
  // What kind: "native", "loops", "internal error"; the same after shrinking.
  std::string failure = {};
  std::string detail = {};  // one line: the difference, or the refusal's headline
  bool executed = false;    // a refused one that could be executed
  bool justified = false;   // ... and the execution shows a fault
  bool affine = false;      // no subscript is read at run time
  int refused_bound = 0;    // of open sizes: those at which the bound script is wrong, and refused
};

Verdict judge(const Case& c, const codegen::Target& target);

}  // namespace polyte::fuzz
