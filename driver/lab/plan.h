// An experiment with every row written out and nothing left to look up: the text of Programs and
// scripts is inside, so that workers, a resumed run and a reader of a bundle need no other file.
// Kept as plan.json of the result folder.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/lab/experiment.h"
#include "ir/program.h"
#include "schedule/script/script.h"

namespace polyte::lab {

struct PlannedProgram {
  std::string name, digest;
  std::string text;   // sizes open; of a model empty
  std::string model;  // the path of an ONNX file, its digest above; empty: it is a Program
  friend bool operator==(const PlannedProgram&, const PlannedProgram&) = default;
};

// What is measured by all arms under one condition.
struct Row {
  std::string name;         // "op m=64 n=64 f32 1 thread"; unique
  std::size_t program = 0;  // of Plan::programs
  Sizes sizes;
  int threads = 1;
  std::string fill;
  Caches caches = Caches::Warm;
  // The suite that it is of, and who its sizes are from; else empty.
  std::string suite = {}, source = {};
};

struct PlannedScript {
  std::string program;  // that it is for
  std::string text;     // params filled
};

struct PlannedArm {
  ArmSpec spec;
  std::vector<PlannedScript> scripts;  // of a script or a folder of them; one for a program at most

  const PlannedScript* script_for(const std::string& program) const;  // null: there is none
};

struct Plan {
  std::string name, experiment;  // the file's text
  std::vector<PlannedProgram> programs;
  std::vector<Row> rows;
  std::vector<PlannedArm> arms;
  std::string baseline, target;
  StopRule stop;
  double tolerance = 0;
  std::uint64_t seed = 1;
  bool exact = false, emulate = false;
  int explain = 0;

  const PlannedArm& arm(const std::string& called) const;  // InternalError if absent
  bool is_on_gpu() const { return target.starts_with("cuda:"); }
};

// How an experiment's names become Programs and scripts; the command line has both.
struct Sources {
  // All programs of a file, or of index notation; `dtype` may be empty.
  std::function<std::vector<ir::Program>(const std::string& source, const std::string& dtype)>
      programs;
  // Of a file, or all of a folder (`files_in`), whose scripts have no params of an experiment.
  std::function<std::vector<schedule::Script>(const std::string& path,
                                              const std::vector<std::string>& params)>
      scripts;
};

// NAME.EXTENSION of a folder, in the order of their names. UserError: there is none.
std::vector<std::string> files_in(const std::string& folder, const std::string& extension);

// Paths are relative to the folder of the experiment's file. UserError with every problem: a
// program without a row, a size that no program has or that is missing, a script for none of the
// programs, more than 10,000 rows.
Plan make_plan(const Experiment& experiment, const Sources& sources);

// The Program of a row, its sizes bound.
std::shared_ptr<const ir::Program> bound_program(const Plan& plan, const Row& row);
std::shared_ptr<const ir::Program> open_program(const Plan& plan, const Row& row);

// What is wrong with JSON, without the library's own marks.
std::string words_of(const nlohmann::json::exception& e);

nlohmann::ordered_json to_json(const Plan& plan);
// UserError(InvalidInput) where it is none, or of another version.
Plan plan_from_json(const nlohmann::ordered_json& json, const std::string& origin);

}  // namespace polyte::lab
