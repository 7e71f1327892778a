#include "driver/lab/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "support/error.h"

extern char** environ;

namespace polyte::lab {

// Closed on exec: a worker that held the other end of its own pipe, or of another worker's, would
// never see the end of it. dup2 clears the flag for the files that a worker is to have.
Pipe::Pipe() {
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw UserError(ExitStatus::ResourceLimit, "a pipe to a worker cannot be made");
}

Pipe::~Pipe() {
  close_end(0);
  close_end(1);
}

void Pipe::close_end(int end) {
  if (ends[end] >= 0) close(ends[end]);
  ends[end] = -1;
}

int Pipe::take_end(int end) { return std::exchange(ends[end], -1); }

// posix_spawn rather than fork: this process may have threads and much memory. `memory` becomes
// the worker's descriptor kMemoryOfWorker; such a worker's stderr is dropped, for libraries
// write what they like there.
pid_t start_process(std::vector<std::string> words, const Pipe& in, const Pipe& out, int memory) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  if (memory >= 0) {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, memory, kMemoryOfWorker);
  }
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw UserError(ExitStatus::ResourceLimit,
                    words[0] + " cannot be started: " + std::string(strerror(error)));
  return child;
}

// A worker that has ended would end this process, too, by SIGPIPE.
ssize_t write_quietly(int file, std::string_view text) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const ssize_t done = write(file, text.data(), text.size());
  const int error = errno;
  std::signal(SIGPIPE, before);
  errno = error;
  return done;
}

void write_all(int file, const std::string& text) {
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t done = write_quietly(file, rest);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;  // it has ended: its status says why
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  return WEXITSTATUS(status) == 0 ? "" : "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace polyte::lab
