// The dependences of a Program as a reader wants them: which statement needs which, through which
// tensor, how far apart in the loops that both have, one pair of instances that shows it, and the
// relation in isl's text.
//
//   A after B, through B     flow, (t, i, j) = (0, 0, 0) or (0, -1, 0) ...
//                            B(t=0, i=1, j=1) then A(t=0, i=1, j=1)
//
// Direct ones have no write of the same element between their two accesses (Feautrier, "Dataflow
// analysis of array and scalar references"); all of them, memory-based, are what the proof compares
// (dependences.h). An order keeps one kind if and only if it keeps the other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/state/refusal.h"

namespace polyte::schedule {

// Sink minus source over one loop, at all sizes; without a bound on a side where it grows with
// the sizes.
struct DistanceRange {
  std::optional<std::int64_t> min, max;
};
bool operator==(const DistanceRange& a, const DistanceRange& b);
std::string to_string(const DistanceRange& range);  // 0, -1..1, >=1, *

struct ReportedDependence {
  std::string kind;          // flow, anti, output
  std::string source, sink;  // statements
  std::string tensor;
  // Between updates of one element by one statement, which reads it nowhere else.
  bool reduction = false;
  // false: a subscript or guard is read at run time, and more pairs are taken for dependent.
  bool exact = true;
  // That both statements have, by name, in the order of the source.
  std::vector<std::string> loops;
  std::vector<std::vector<DistanceRange>> distances;  // one per loop; together they hold all pairs
  Instance from, to;                                  // at the smallest sizes
  std::string cell;                                   // that both touch, A[1, 2]
  ir::Values sizes;
  std::string relation;  // isl: { S[i] -> T[i'] : ... }
};

struct ReportedStatement {
  std::string name, isl_name;
  std::vector<std::string> iterators;
  std::string domain = {}, order = {};  // isl: instances, and their place in the reference order
  // isl: instance -> element, a relation per access; `writes` says which of them are writes.
  std::vector<std::string> touches = {};
  std::vector<bool> writes = {};
};

struct DependenceReport {
  std::shared_ptr<const ir::Program> program;
  bool direct = true;
  std::string context;  // isl: of the sizes
  std::vector<ReportedStatement> statements;
  std::vector<ReportedDependence> dependences;
  std::vector<std::string> notes;  // what was not done as asked
};

enum class Pairs { Direct, All };
DependenceReport report_dependences(std::shared_ptr<const ir::Program> program, Pairs pairs);

}  // namespace polyte::schedule
