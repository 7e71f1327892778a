// A child process that we exchange lines of text with.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace polyte::lab {

// Starts `command`, whose first word is a path or a name of PATH, gives it `input` on stdin and
// each line of its stdout to `take`; its stderr is ours. Returns how it ended: "" with status 0,
// else "ended with status 5", "was ended by signal 11 (Segmentation fault)", "took more than 600 s"
// (it is then killed). UserError(ResourceLimit) where it cannot be started.
//
// `is_stopped` is asked every second and after each signal: true ends the child ("was stopped").
std::string run_child(const std::vector<std::string>& command, const std::string& input,
                      double seconds, const std::function<void(const std::string&)>& take,
                      const std::function<bool()>& is_stopped = {});

}  // namespace polyte::lab
