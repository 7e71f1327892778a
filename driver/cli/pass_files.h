// The text after each pass in a numbered file, for --dump-dir of opt and --dump-passes
// of op and compile:
//
//   DIR/dense_relu.03-partition-loops.loops
//
// A file of loops holds one loop program, and `polyte opt` reads it back.
#pragma once

#include <string>
#include <vector>

#include "driver/cli/cli.h"

namespace polyte::cli {

class PassFiles {
 public:
  // `option` is how the user said it, "--dump-dir"; the folder exists, or is "": then nothing is
  // written. `inputs` are the files that the command reads: none is overwritten, UserError(Usage)
  // where it would be.
  PassFiles(std::string option, std::string folder, std::vector<std::string> inputs);

  // "DIR/03-partition-loops.loops", or with the kernel's name and a dot before the number.
  void write(const std::string& name, const std::string& text) const;

 private:
  std::string option_, folder_;
  std::vector<std::string> inputs_;
};

inline constexpr const char* kDumpPassesHelp =
    "a folder for the loops of each kernel after each pass, numbered: what polyte opt reads";

// "03-partition-loops".
std::string numbered(std::size_t number, const std::string& pass);

// The loops of a kernel after each pass.
void dump_passes(const PassFiles& files, const driver::BuiltKernel& kernel, const Machine& machine);

}  // namespace polyte::cli
