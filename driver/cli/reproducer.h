// What an internal error leaves behind: a folder with the command line, the message and the
// files that were named.
#pragma once

#include <string>
#include <vector>

namespace polyte::cli {

// The path of the folder, or why there is none. Never throws. Files of more than 64 MiB stay
// where they are, and so does a secret key. Of two files of one name the second is 2-NAME, which
// command.txt says.
std::string write_reproducer(const std::vector<std::string>& arguments,
                             const std::string& message) noexcept;

}  // namespace polyte::cli
