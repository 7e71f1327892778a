// Errors of the whole project, in three kinds.
//
//   UserError      the model, schedule, file or device is at fault. Carries every
//                  problem found (not only the first) and the exit status of the command
//                  line (docs/command-line.md).
//   InternalError  the compiler broke a promise to itself: thrown by POLYTE_CHECK, kept on
//                  in release.
//   Decline        (result.h) a transform does not apply; returned, never thrown.
//
// Messages are lower case, end without a period, name the node, directive or file, and say
// got and expected:
//   node 'fc1' (Gemm): attribute 'alpha' is 2, expected 1
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace polyte {

// Exit statuses of the binary; one list for errors, the command line and its documentation.
enum class ExitStatus : int {
  Success = 0,
  Refused = 1,        // mismatch, refused schedule, failed comparison
  Usage = 2,          // wrong command line
  InvalidInput = 3,   // invalid model, program, script or file
  Unsupported = 4,    // operator, attribute or type that is not supported (all of them listed)
  ResourceLimit = 5,  // a size, time or memory limit
  Device = 6,         // device or driver
  Artifact = 7,       // artifact incompatible or damaged
  Unknown = 8,        // legality could not be decided
  Internal = 70,      // internal error
};

// A fault of the input. `problems` holds one message per problem; what() joins them by newlines.
class UserError : public std::runtime_error {
 public:
  UserError(ExitStatus status, std::string problem);
  UserError(ExitStatus status, std::vector<std::string> problems);
  ExitStatus status() const { return status_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  ExitStatus status_;
  std::vector<std::string> problems_;
};

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line,
                             const std::string& message);

}  // namespace polyte

// An invariant of the compiler; `message` (std::string or literal) says what was expected and
// what came.
#define POLYTE_CHECK(condition, message)                                             \
  do {                                                                               \
    if (!(condition)) ::polyte::fail_check(#condition, __FILE__, __LINE__, message); \
  } while (false)
