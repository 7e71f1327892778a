// What a run leaves behind: samples.jsonl, one JSON object per line, only ever appended to. A line
// is written at once and a process of a row counts when its last line, `process`, is there:
// whatever a crash or Ctrl-C has cut off is dropped by the reader and measured anew by the next
// run.
//
//   {"kind": "context", "date": .., "machine": {..}, "polyte": {..}, "compilers": {..},
//    "ceilings": {..}}
//   {"kind": "arm", "row": 0, "process": 0, "attempt": 0, "arm": "poly", "status": "ok", ..}
//   {"kind": "round", "row": 0, "process": 0, "attempt": 0, "round": 0,
//    "samples": [["poly", 5812.5, 172], ..]}
//   {"kind": "process", "row": 0, "process": 0, "attempt": 0, "rounds": 12, "load": 0.4, ..}
//   {"kind": "row", "row": 0, "why": "narrow enough"}
//
// A sample is an arm, nanoseconds per execution, and how many executions were timed together; the
// order in the list is the order in time.
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "driver/lab/plan.h"
#include "driver/lab/statistics.h"

namespace polyte::lab {

// The name under which the baseline is timed a second time: what two timings of one kernel differ
// by is noise.
inline constexpr const char* kAgain = "A/A";

struct ArmRecord {
  std::string arm;
  // "ok", or why it is not timed: declined, absent, refused, wrong, failed, crashed, other program.
  std::string status;
  std::string reason;            // of a status that is not ok, and remarks
  nlohmann::ordered_json facts;  // the rest of the line
  bool is_ok() const { return status == "ok"; }
};

struct RoundRecord {
  struct Sample {
    std::string arm;
    double nanoseconds = 0;  // per execution
    std::int64_t executions = 0;
  };
  int round = 0;
  std::vector<Sample> samples;
};

// What one process measured of one row.
struct ProcessRecord {
  int process = 0, attempt = 0;
  bool complete = false;
  std::vector<ArmRecord> arms;
  std::vector<RoundRecord> rounds;
  nlohmann::ordered_json end;  // the `process` line
  std::size_t context = 0;     // of Records::contexts: the one before its first line
  const ArmRecord* arm(const std::string& name) const;
};

struct RowRecord {
  std::map<int, ProcessRecord> processes;         // complete ones only
  std::string why;                                // it is done; empty: it is not
  std::map<std::string, std::string> crashed;     // arm -> reason: left out by later attempts
  int attempts = 0;                               // begun so far
  Samples samples(const std::string& arm) const;  // one list per process, complete ones only
};

struct Records {
  std::vector<nlohmann::ordered_json> contexts;  // one per `lab run`, oldest first
  std::vector<RowRecord> rows;                   // as the plan's
  std::size_t dropped = 0;                       // lines that a crash cut off
};

// The machine of a context: equal for two contexts of one machine, whatever runs on it; and
// in words.
std::string machine_of(const nlohmann::ordered_json& context);
// "AMD EPYC (znver3), 2 processors".
std::string machine_words(const nlohmann::ordered_json& context);

// A number of an object that a stranger wrote; 0 where there is none.
double number_at(const nlohmann::ordered_json& object, const char* key);

// A result folder: plan.json and samples.jsonl.
Plan parse_plan(std::string_view text, const std::string& origin);  // UserError(InvalidInput)
Plan read_plan(const std::string& folder);                          // UserError(InvalidInput)
// An empty one where nothing was measured.
Records read_records(const std::string& folder, const Plan& plan);
Records parse_records(std::string_view text, const Plan& plan, const std::string& origin);

}  // namespace polyte::lab
