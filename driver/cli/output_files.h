// Checks of a file that a verb will write, made before the work whose result it receives: that it
// can be written, and that it is none of the files which are read. A result over its own input is
// never what was meant, and by a link it is not seen on the command line.
#pragma once

#include <string>
#include <vector>

#include "driver/cli/cli.h"

namespace polyte::cli {

// `option` is how the user said it, "-o x.npz". UserError(Usage) where `path` is one of `inputs`,
// by name, hard or symbolic link; UserError(InvalidInput) where it is a folder, or cannot be made.
// Nothing is written.
void check_output_file(const std::string& option, const std::string& path,
                       const std::vector<std::string>& inputs);

// Files that these options read.
void add_files(const DataOptions& options, std::vector<std::string>& files);  // -i and --expect
void add_files(const ScheduleOptions& options, std::vector<std::string>& files);

// The checks of -o of a verb with data options; `files` is what it reads besides.
void check_output(const DataOptions& options, std::vector<std::string> files);

}  // namespace polyte::cli
