// What an internal error leaves behind: a folder with the command line, the message and the
// files that were named.
#pragma once

#include <string>
#include <vector>

namespace polyte::cli {

// The path of the folder, or why there is none. Never throws. Files of more than 64 MiB stay
// where they are.
std::string write_reproducer(const std::vector<std::string>& arguments,
                             const std::string& message) noexcept;

}  // namespace polyte::cli
