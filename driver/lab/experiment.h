// An experiment as its file says it: what is computed, by which arms, at which sizes, and when
// enough is measured. docs/lab.md is the reference of the keys.
//
//   name     = "two schedules of a matrix product"
//   programs = ["C[m,n] = sum[k] A[m,k]*B[k,n]"]
//   arms     = ["poly", "template", "script:mine.sched", "peer:gcc"]
//   [sizes]
//   m = [64, 128]        # every combination with the others
//   n = 64
//   k = 64
//   [stop]
//   processes = [3, 6]
//
// The file is a stranger's: its size, the number of rows and arms and every number are limited, and
// all that is wrong with it is said at once, each problem with its line. Nothing here opens another
// file: that is the plan's (plan.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "driver/lab/problems.h"

namespace polyte::lab {

using Sizes = std::map<std::string, std::int64_t>;

// One contender of every row.
struct ArmSpec {
  enum class Kind { Scheduler, Script, Peer };
  std::string name;  // what reports call it; unique
  Kind kind = Kind::Scheduler;
  std::string what;                 // "poly", the script's path, "gcc"
  std::vector<std::string> params;  // of a script: "Mr=8"
};

// Whether a table's key of this name is one of the file's own, which stand before all tables.
bool is_experiment_key(const std::string& name);

// "poly", "script:FILE", "peer:gcc"; unchecked.
ArmSpec arm_of(const std::string& text);
std::vector<std::string> problems_of(const ArmSpec& arm);  // what there is no arm for

// What memory looks like when a sample begins.
enum class Caches {
  Warm,    // as the execution before left it
  Cold,    // a buffer of twice the last cache was written since
  Rotated  // each execution has tensors of its own, so many that they pass the last cache together
};
std::string to_string(Caches caches);

// A process measures rounds until the interval of every arm's ratio to the baseline is narrower
// than `width`, at least and at most so many; the same rule then asks for another process.
struct StopRule {
  int rounds_least = 10, rounds_most = 40;
  int processes_least = 5, processes_most = 8;
  double width = 0.02;          // of a ratio's 95 % interval, relative
  double round_ms = 10;         // an arm's share of a round: executions are repeated to fill it
  double process_seconds = 60;  // no more rounds after that
};

struct Experiment {
  std::string name, origin, text;     // `origin`: the file
  std::vector<std::string> programs;  // files, folders of files, or index notation
  // Names or files of suites (suite.h), whose rows bring their sizes.
  std::vector<std::string> suites;
  std::vector<std::string> only;    // names of programs and of rows of suites; empty: all
  std::vector<Sizes> sizes;         // of each row; empty: the programs have none open
  std::vector<std::string> dtypes;  // of index notation and C; empty: theirs
  std::vector<int> threads{1};
  std::vector<std::string> fills{"normal:1"};
  std::vector<Caches> caches{Caches::Warm};
  std::vector<ArmSpec> arms;
  std::string baseline;  // an arm's name
  StopRule stop;
  std::string target = "cpu:native";
  double tolerance = 0;  // relative and absolute, of outputs; 0: by the type
  std::uint64_t seed = 1;
  bool exact = false;
  int explain = 0;  // so many of the largest differences are taken apart (differences.h)
  // Of a GPU: its code is also for the emulator, which a driver that stands in for one has.
  bool emulate = false;

  // How a size is given where there is no file: "--shape"; empty: in [sizes].
  std::string size_option;
  // Lines of the file: of keys ("dtypes", "sizes.q"), of the items of lists ("dtypes f32") and of
  // arms ("arm mine").
  std::map<std::string, std::size_t> lines;
  // What is wrong with it so far. make_plan throws this together with what it finds itself, so
  // that all is said at once.
  Problems problems;

  bool is_on_gpu() const { return target.starts_with("cuda:"); }
};

// UserError(InvalidInput): not TOML. All else that is wrong is in `problems`.
Experiment parse_experiment(std::string_view text, const std::string& origin);

}  // namespace polyte::lab
