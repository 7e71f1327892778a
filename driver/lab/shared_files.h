// Files that go with the binary and are looked up when they are needed: suites, and what runs
// peers in Python.
#pragma once

#include <string>
#include <vector>

namespace polyte::lab {

// Folders that are there, in order: those of the environment variable (separated by colons), then
// `relative` of share/polyte beside the binary (a build) and one folder up (an installed one).
std::vector<std::string> shared_folders(const char* variable, const std::string& relative);

}  // namespace polyte::lab
