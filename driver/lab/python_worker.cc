#include "driver/lab/python_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "driver/lab/peers.h"
#include "driver/lab/shared_files.h"
#include "support/error.h"

extern char** environ;

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kMostSeconds = 600;
constexpr std::size_t kMostAnswer = 64U << 20U;
constexpr int kMemory = 3;  // the file's number in the worker

constexpr const char* kStart =
    "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('lab_peers', run_name='__main__', alter_sys=True)";

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw UserError(ExitStatus::ResourceLimit, "a pipe to a worker cannot be made");
  }
};

}  // namespace

PythonHome find_python() {
  const char* given = std::getenv("POLYTE_PYTHON");
  PythonHome home{given && *given ? given : on_path("python3"), ""};
  if (home.interpreter.empty())
    throw UserError(ExitStatus::Unsupported, "no python3 on PATH; POLYTE_PYTHON names another one");
  if (access(home.interpreter.c_str(), X_OK) != 0)
    throw UserError(ExitStatus::Unsupported, "POLYTE_PYTHON: " + home.interpreter + " cannot be run");
  for (const std::string& folder : shared_folders("POLYTE_LAB_PEERS", "bench"))
    if (home.folder.empty() && access((folder + "/lab_peers/__main__.py").c_str(), R_OK) == 0) home.folder = folder;
  if (home.folder.empty())
    throw UserError(ExitStatus::Unsupported,
                    "lab_peers is not beside this binary; POLYTE_LAB_PEERS names the folder that it is in (bench)");
  return home;
}

std::vector<std::string> python_command(const PythonHome& home, std::vector<std::string> arguments) {
  std::vector<std::string> command{home.interpreter, "-B", "-c", kStart, home.folder};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

PythonWorker::PythonWorker(const PythonHome& home) {
  memory_ = memfd_create("polyte-lab", MFD_CLOEXEC);
  if (memory_ < 0) throw UserError(ExitStatus::ResourceLimit, "memory for a worker cannot be had");
  const Pipe in, out;
  std::vector<std::string> words = python_command(home, {"work"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, memory_, kMemory);
  const int error = posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in.ends[0]);
  close(out.ends[1]);
  in_ = in.ends[1];
  out_ = out.ends[0];
  if (error == 0) return;
  process_ = -1;
  close(in_), close(out_), close(memory_);
  throw UserError(ExitStatus::ResourceLimit, home.interpreter + ": cannot be started: " + strerror(error));
}

PythonWorker::~PythonWorker() {
  close(in_);
  close(out_);
  close(memory_);
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void PythonWorker::ended() {
  int status = 0;
  kill(process_, SIGKILL);  // it has closed its side: what is left of it goes, too
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  std::string how = "has ended";
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
    how = "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  else if (WIFEXITED(status))
    how = "ended with status " + std::to_string(WEXITSTATUS(status));
  throw UserError(ExitStatus::InvalidInput, "the peer's process " + how);
}

Json PythonWorker::ask(const Json& order) {
  if (process_ < 0) throw UserError(ExitStatus::InvalidInput, "the peer's process has ended before");
  const std::string text = order.dump() + "\n";
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t done = ::write(in_, text.data() + at, text.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;  // it has ended: reading says so
    at += static_cast<std::size_t>(done);
  }
  std::signal(SIGPIPE, before);
  for (int seconds = 0; seconds < kMostSeconds && unread_.size() < kMostAnswer;) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      const Json answer = Json::parse(unread_.substr(0, end), nullptr, false);
      unread_.erase(0, end + 1);
      if (!answer.is_object()) throw UserError(ExitStatus::InvalidInput, "the peer's process gave no answer");
      return answer;
    }
    pollfd waiting{out_, POLLIN, 0};
    const int ready = poll(&waiting, 1, 1000);
    if (ready == 0) ++seconds;
    if (ready <= 0) continue;
    char buffer[1U << 16U];
    const ssize_t count = ::read(out_, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ended();
    unread_.append(buffer, static_cast<std::size_t>(count));
  }
  throw UserError(ExitStatus::InvalidInput, "the peer's process took more than " + std::to_string(kMostSeconds) + " s");
}

void PythonWorker::write(std::int64_t at, std::span<const std::byte> bytes) {
  const std::int64_t end = at + static_cast<std::int64_t>(bytes.size());
  if (end > size_ && ftruncate(memory_, size_ = end) != 0)
    throw UserError(ExitStatus::ResourceLimit, "memory for a worker cannot be had");
  while (!bytes.empty()) {
    const ssize_t done = pwrite(memory_, bytes.data(), bytes.size(), at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw UserError(ExitStatus::ResourceLimit, "memory for a worker cannot be had");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    at += done;
  }
}

void PythonWorker::read(std::int64_t at, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = pread(memory_, bytes.data(), bytes.size(), at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw UserError(ExitStatus::ResourceLimit, "memory of a worker cannot be read");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    at += done;
  }
}

}  // namespace polyte::lab
