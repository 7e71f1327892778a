// One file that holds all of a run: the plan with every Program and script and the seeds of all
// inputs, the machines, compilers and the digest of the code that measured, all samples, and the
// report as a page. Equal folders give equal bundles.
#pragma once

#include <string>

#include "driver/lab/results.h"

namespace polyte::lab {

// UserError where the folder is none, or `path` cannot be written.
void write_bundle(const std::string& folder, const std::string& path);

// The plan and samples of a stranger's bundle. UserError(InvalidInput) where it is none; members
// that are not ours are left alone, and no member but a model (below) is written to a file.
struct Bundle {
  Plan plan;
  Records records;
};
Bundle read_bundle(const std::string& path);

// Models of a bundle's rows as files of `folder`, where the plan then has them. One that was too
// large for the bundle is looked for where it was: UserError(InvalidInput) where it is not there.
// What is there is held to its digest by the run.
void unpack_models(const std::string& path, const std::string& folder, Plan& plan);

}  // namespace polyte::lab
