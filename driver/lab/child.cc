#include "driver/lab/child.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "driver/lab/process.h"

namespace polyte::lab {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostLine = 64U << 20U;

// Lines until the end of the stream; false where the time is over before.
bool read_lines(int file, Clock::time_point until,
                const std::function<void(const std::string&)>& take) {
  std::string open;
  char buffer[1U << 16U];
  // Polls for a second at most, so that the limit is kept although nothing comes.
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    // A line that never ends is not a record, and would take all memory.
    if (left <= 0 || open.size() > kMostLine) return false;
    pollfd waiting{file, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, 1000)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    open.append(buffer, static_cast<std::size_t>(count));
    // Whole lines only: what is behind the last newline waits for the rest.
    for (std::size_t end = 0; (end = open.find('\n')) != std::string::npos; open.erase(0, end + 1))
      take(open.substr(0, end));
  }
}

}  // namespace

std::string run_child(const std::vector<std::string>& command, const std::string& input,
                      double seconds, const std::function<void(const std::string&)>& take) {
  Pipe in, out;
  const auto until =
      Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
  const pid_t child = start_process(command, in, out);
  out.close_end(1);
  in.close_end(0);
  // The input is written whole before anything is read: it has to be short enough for a pipe,
  // or the child has to read it before it answers much.
  write_all(in.ends[1], input);
  in.close_end(1);
  const bool in_time = read_lines(out.ends[0], until, take);
  if (!in_time) kill(child, SIGKILL);
  const int status = wait_for(child);
  if (!in_time)
    return "took more than " + std::to_string(static_cast<std::int64_t>(seconds)) + " s";
  return how_it_ended(status);
}

}  // namespace polyte::lab
