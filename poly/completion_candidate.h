// One way to complete a script: its own lines with sizes for their holes, and in the place of
// `...` lines borrowed from a whole schedule, brought into the form that the pins ask for. Replayed
// without proof, priced, and held against the pins.
#pragma once

#include <memory>

#include "poly/borrowed_lines.h"
#include "poly/completion_sources.h"

namespace polyte::poly {

struct CompletionTask {
  std::shared_ptr<const ir::Program> program;
  const schedule::Script& partial;
  const Machine& machine;
  schedule::Prover& prover;
  bool is_draft = false;  // to compare sizes by: no kinds of loops are looked for
};

// Sizes for the holes of the lines above `...`, then below, each in the order of the lines; then
// for splits that the forms of nests need: n of `nest n.o > ...`.
using Sizes = std::vector<std::int64_t>;

struct CompletionCandidate {
  std::string source;
  schedule::Script script;  // all of it
  std::size_t first_added = 0, added = 0;
  double cycles = 0;
};

// Splits that a form names the parts of and that no line makes, of the person or of the source.
std::vector<GivenSplit> needed_splits(const schedule::Pins& pins, const schedule::Script& source);
// The lines of the person, all sizes filled. Each line of which a hole was filled says that the
// tile model did so.
schedule::Script filled(const schedule::Script& partial, const Sizes& sizes);

// The refusal of a line, or of the candidate as a whole where a pin does not hold.
Result<CompletionCandidate, schedule::Refusal> candidate_of(const CompletionTask& task,
                                                            const CompletionSource& source,
                                                            const Sizes& sizes);

}  // namespace polyte::poly
