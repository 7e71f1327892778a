#include "driver/lab/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>

#include "support/error.h"

extern char** environ;

namespace polyte::lab {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostLine = 64U << 20U;

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw UserError(ExitStatus::ResourceLimit, "a pipe to a worker cannot be made");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
};

pid_t start(std::vector<std::string> words, const Pipe& in, const Pipe& out) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw UserError(ExitStatus::ResourceLimit, words[0] + " cannot be started: " + std::string(strerror(error)));
  return child;
}

void send(Pipe& in, const std::string& input) {
  std::size_t at = 0;
  while (at < input.size()) {
    const ssize_t done = write(in.ends[1], input.data() + at, input.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;  // it has ended: its status says why
    at += static_cast<std::size_t>(done);
  }
  in.close_end(1);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  return WEXITSTATUS(status) == 0 ? "" : "ended with status " + std::to_string(WEXITSTATUS(status));
}

// Lines until the end of the stream; false where the time is over before.
bool read_lines(int file, Clock::time_point until, const std::function<void(const std::string&)>& take) {
  std::string open;
  char buffer[1U << 16U];
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0 || open.size() > kMostLine) return false;
    pollfd waiting{file, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, 1000)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    open.append(buffer, static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = open.find('\n')) != std::string::npos; open.erase(0, end + 1))
      take(open.substr(0, end));
  }
}

}  // namespace

std::string run_child(const std::vector<std::string>& command, const std::string& input, double seconds,
                      const std::function<void(const std::string&)>& take) {
  Pipe in, out;
  const auto until = Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
  const auto before = std::signal(SIGPIPE, SIG_IGN);  // a worker that ends before it has read its order
  const pid_t child = start(command, in, out);
  out.close_end(1);
  in.close_end(0);
  send(in, input);
  std::signal(SIGPIPE, before);
  const bool in_time = read_lines(out.ends[0], until, take);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return "took more than " + std::to_string(static_cast<std::int64_t>(seconds)) + " s";
  return how_it_ended(status);
}

}  // namespace polyte::lab
