// The fuzzers' loop: random cases, each judged, failures shrunk. Every run is a pure
// function of the seed and its number: the report is the same for any number of jobs, and any
// run repeats alone.
//
//   schedule   random Scripts: what is accepted must be right
//   poly       Scripts that our schedulers derive (poly, its affine core, templates): they must
//              be accepted as well
//   complete   scripts with holes: completions keep their pins (fuzz_complete.h)
//   graph      random graphs: passes, fusion and kernels keep the results (fuzz_graph.h)
//   import     damaged ONNX models: a graph or an answer (fuzz_import.h)
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "driver/judge/fuzz/coverage.h"
#include "driver/judge/fuzz/judge.h"
#include "driver/judge/fuzz/random_script.h"

namespace polyte::fuzz {

enum class FuzzKind { Schedule, Poly, Complete, Graph, Import };

struct FuzzOptions {
  FuzzKind kind = FuzzKind::Schedule;
  std::uint64_t seed = 1;
  std::uint64_t first = 0, runs = 500;  // runs first, first + 1, ...
  int jobs = 1;
  int native_percent = 10;
  std::optional<std::uint64_t> only = {};  // one run alone
  bool shrink = true;
  bool open = false;  // all runs with open sizes
  // A folder for RUN.json of each accepted script; empty: none.
  std::string certificates = {};
  std::function<void(std::uint64_t run)> on_start = {};  // in the thread that runs it; may be empty
};

struct FuzzFailure {
  std::uint64_t run = 0;
  std::string kind, detail;     // of the shrunk case
  std::string program, script;  // texts of the shrunk case, sizes bound
};

// Refused, affine, and its execution shows no fault.
struct FuzzRefusal {
  std::uint64_t run = 0;
  bool illegal = false;  // called so; else undecided
  std::string reason;
};

// Of the scripts that are neither proved nor refuted, those with one reason.
struct FuzzUndecided {
  std::uint64_t runs = 0, first = 0;
};

struct FuzzReport {
  std::uint64_t runs = 0, accepted = 0, malformed = 0, undecided = 0, skipped = 0, native = 0;
  std::uint64_t illegal = 0, illegal_executed = 0, illegal_justified = 0;
  // Sizes at which a script proved for all is another one, wrong and refused.
  std::uint64_t refused_bound = 0;
  std::uint64_t directives = 0;  // in accepted scripts
  ScriptStatistics statistics;
  Coverage coverage;                                       // of schedule and poly
  std::map<std::string, FuzzUndecided> undecided_because;  // by reason, without names and numbers
  std::vector<FuzzFailure> failures;                       // by run
  std::vector<FuzzRefusal> doubted;                        // by run
};

Case random_case(const FuzzOptions& options, std::uint64_t run, const codegen::Target& target,
                 ScriptStatistics& statistics);
// Adds the runs of `more`, which follow those of `report`.
void append(FuzzReport& report, const FuzzReport& more);
FuzzReport fuzz(const FuzzOptions& options, const codegen::Target& target);

}  // namespace polyte::fuzz
