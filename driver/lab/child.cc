#include "driver/lab/child.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>

#include "driver/lab/process.h"

namespace polyte::lab {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostLine = 64U << 20U;

// What the child takes of the rest of its input; false where there is nothing more to write.
bool write_some(int file, std::string_view& rest) {
  const ssize_t done = write_quietly(file, rest);
  if (done < 0) return errno == EAGAIN || errno == EINTR;  // else it has ended: its status says why
  rest.remove_prefix(static_cast<std::size_t>(done));
  return !rest.empty();
}

enum class Ended { Well, Late, Stopped };

// Writes the input and reads lines until the end of the child's stream, in whichever order the
// child takes and gives them.
Ended exchange(Pipe& in, std::string_view input, int file, Clock::time_point until,
               const std::function<void(const std::string&)>& take,
               const std::function<bool()>& is_stopped) {
  std::string open;
  char buffer[1U << 16U];
  // A child that does not read its input must not hold us.
  fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  if (input.empty()) in.close_end(1);
  // Polls for a second at most, so that the limit is kept although nothing comes.
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    // A line that never ends is not a record, and would take all memory.
    if (left <= 0 || open.size() > kMostLine) return Ended::Late;
    if (is_stopped && is_stopped()) return Ended::Stopped;
    // poll passes over the second one where it is closed, and so is -1.
    pollfd waiting[] = {{file, POLLIN, 0}, {in.ends[1], POLLOUT, 0}};
    if (poll(waiting, 2, static_cast<int>(std::min<std::int64_t>(left, 1000))) <= 0) continue;
    if (waiting[1].revents != 0 && !write_some(in.ends[1], input)) in.close_end(1);
    if (waiting[0].revents == 0) continue;
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Ended::Well;
    open.append(buffer, static_cast<std::size_t>(count));
    // Whole lines only: what is behind the last newline waits for the rest.
    for (std::size_t end = 0; (end = open.find('\n')) != std::string::npos; open.erase(0, end + 1))
      take(open.substr(0, end));
  }
}

}  // namespace

std::string run_child(const std::vector<std::string>& command, const std::string& input,
                      double seconds, const std::function<void(const std::string&)>& take,
                      const std::function<bool()>& is_stopped) {
  Pipe in, out;
  const auto until =
      Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
  const pid_t child = start_process(command, in, out);
  out.close_end(1);
  in.close_end(0);
  const Ended ended = exchange(in, input, out.ends[0], until, take, is_stopped);
  in.close_end(1);
  if (ended != Ended::Well) kill(child, SIGKILL);
  const int status = wait_for(child);
  if (ended == Ended::Stopped) return "was stopped";
  if (ended == Ended::Late)
    return "took more than " + std::to_string(static_cast<std::int64_t>(seconds)) + " s";
  return how_it_ended(status);
}

}  // namespace polyte::lab
