// Refusal: why a directive was not applied, in the words that a user sees (docs/script-text.md).
// Illegal ones carry a counterexample: the dependence, the two instances, their order before
// and after, the sizes.
#pragma once

#include <string>
#include <vector>

#include "ir/affine.h"
#include "support/error.h"
#include "support/out_of_line.h"

namespace polyte::schedule {

enum class RefusalKind {
  Malformed,    // the directive names what is not there, or means nothing: exit 1
  Stale,        // the script is for another Program of this name: exit 1
  Illegal,      // it would change the result: exit 1, with a counterexample
  Unknown,      // not decided (non-affine, budget spent): exit 8
  Conservative  // legal perhaps, but not expressible or not provable by this primitive: exit 8
};

struct Instance {
  std::string statement;
  std::vector<std::pair<std::string, std::int64_t>> iterators;  // B(t=0, i=2, j=1)
};
std::string to_string(const Instance& instance);

// The smallest execution that shows the fault.
struct Counterexample {
  POLYTE_OUT_OF_LINE(Counterexample);

  std::string dependence;  // "flow of B[i, j], from B to A"
  std::string reference;   // "B(t=0, i=2, j=1) writes B[2, 1], then A(t=0, i=1, j=1) reads it"
  std::string scheduled;   // "A(t=0, i=1, j=1) comes first"
  std::string watch;       // "B[2, 1]"
  Instance source, sink;
  ir::Values sizes;                     // T = 1, N = 4
  std::vector<std::string> size_names;  // in the order of the Program
};

struct Refusal {
  POLYTE_OUT_OF_LINE(Refusal);
  Refusal(RefusalKind the_kind, std::string words);

  RefusalKind kind = RefusalKind::Malformed;
  std::string headline;  // "a value would be read before it is written"
  int line = 0;
  std::string directive;                        // its text
  std::vector<Counterexample> counterexamples;  // one, for Illegal
  std::vector<std::string> advice;              // each checked to be legal
  std::string file = {};                        // an included one; empty: the script
  // Label and text, one per line below the headline.
  std::vector<std::pair<std::string, std::string>> details = {};
};

// The whole message; `origin` is the script's file name, `program_file` that of the replay
// line (may be empty).
std::string to_string(const Refusal& refusal, const std::string& origin,
                      const std::string& program_file);
ExitStatus exit_status(RefusalKind kind);

}  // namespace polyte::schedule
