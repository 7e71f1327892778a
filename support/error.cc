#include "support/error.h"

#include <utility>

namespace polyte {
namespace {

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    if (!text.empty()) text += '\n';
    text += line;
  }
  return text;
}

}  // namespace

UserError::UserError(ExitStatus status, std::string problem)
    : UserError(status, std::vector<std::string>{std::move(problem)}) {}

UserError::UserError(ExitStatus status, std::vector<std::string> problems)
    : std::runtime_error(join_lines(problems)), status_(status), problems_(std::move(problems)) {}

void fail_check(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + message + " (" +
                      condition + ")");
}

}  // namespace polyte
