// Suites: Programs with sizes under one name, each with where its sizes are from. A suite is a TOML
// file; ours lie in bench/suites, docs/lab.md has the keys.
//
//   title  = "Matrix products of networks"
//   source = "who measured these before"
//   [[table]]
//   program = "programs/gemm.program"   # seen from this file; or index notation
//   columns = ["M", "N", "K"]           # sizes, or constants of the Program, replaced by the value
//   rows    = [["square", 1024, 1024, 1024], ["thin", 1000, 17, 333]]
//
// A file is a stranger's: everything is limited, and all that is wrong with it is said at once,
// with its line.
#pragma once

#include <string>
#include <vector>

#include "driver/lab/experiment.h"
#include "ir/program.h"

namespace polyte::lab {

struct SuiteRow {
  std::string name;          // "conv1", unique within the suite
  std::string source;        // a citation; the suite's where the table has none
  std::string origin;        // the Program's file, or its notation
  std::string dtype;         // that its tensors were given; empty: as the Program has them
  ir::Program program = {};  // sizes open
  Sizes sizes;               // all of them
};

struct Suite {
  std::string name, title, source, path;
  std::vector<SuiteRow> rows;
};

// A name of a suite that is found, or the path of a file NAME.toml; `NAME:DATASET` takes another
// set of sizes where the suite has several (polybench-f64:SMALL). `beside`: the folder from which a
// path is seen. UserError(InvalidInput).
Suite read_suite(const std::string& spec, const std::string& beside);

// Names of all suites of the folders of POLYTE_SUITES (separated by colons), the build's and the
// installed ones; the first of a name counts.
std::vector<std::string> suite_names();

}  // namespace polyte::lab
