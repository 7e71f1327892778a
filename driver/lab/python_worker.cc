#include "driver/lab/python_worker.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "driver/lab/peers.h"
#include "driver/lab/process.h"
#include "driver/lab/shared_files.h"
#include "support/error.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kMostSeconds = 600;
constexpr std::size_t kMostAnswer = 64U << 20U;

// The folder of lab_peers is the first argument, for it need not be on the interpreter's path.
constexpr const char* kStart =
    "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('lab_peers', run_name='__main__', alter_sys=True)";

}  // namespace

PythonHome find_python() {
  const char* given = std::getenv("POLYTE_PYTHON");
  PythonHome home{given && *given ? given : on_path("python3"), ""};
  if (home.interpreter.empty())
    throw UserError(ExitStatus::Unsupported, "no python3 on PATH; POLYTE_PYTHON names another one");
  if (access(home.interpreter.c_str(), X_OK) != 0)
    throw UserError(ExitStatus::Unsupported,
                    "POLYTE_PYTHON: " + home.interpreter + " cannot be run");
  for (const std::string& folder : shared_folders("POLYTE_LAB_PEERS", "bench"))
    if (home.folder.empty() && access((folder + "/lab_peers/__main__.py").c_str(), R_OK) == 0)
      home.folder = folder;
  if (home.folder.empty())
    throw UserError(ExitStatus::Unsupported,
                    "lab_peers is not beside this binary; POLYTE_LAB_PEERS names the folder that "
                    "it is in (bench)");
  return home;
}

std::vector<std::string> python_command(const PythonHome& home,
                                        std::vector<std::string> arguments) {
  std::vector<std::string> command{home.interpreter, "-B", "-c", kStart, home.folder};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// Orders and answers are lines of JSON through pipes; tensors lie in a file of memory that both
// have open, so that they need no copy through a pipe.
PythonWorker::PythonWorker(const PythonHome& home) {
  Pipe in, out;
  memory_.reset(memfd_create("polyte-lab", MFD_CLOEXEC));
  if (memory_.get() < 0)
    throw UserError(ExitStatus::ResourceLimit, "memory for a worker cannot be had");
  process_ = start_process(python_command(home, {"work"}), in, out, memory_.get());
  in_.reset(in.take_end(1));
  out_.reset(out.take_end(0));
}

// Closing its stdin would end it, too, but a library may hang.
PythonWorker::~PythonWorker() {
  in_.reset();
  out_.reset();
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  wait_for(process_);
}

void PythonWorker::ended() {
  kill(process_, SIGKILL);  // it has closed its side: what is left of it goes, too
  const int status = wait_for(process_);
  process_ = -1;
  const std::string how = how_it_ended(status);
  const bool is_ours = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  throw UserError(ExitStatus::InvalidInput,
                  "the peer's process " + (is_ours || how.empty() ? "has ended" : how));
}

// Without waiting: its answer is skipped by the next ask().
void PythonWorker::tell(const Json& order) {
  write_all(in_.get(), order.dump() + "\n");
  ++unasked_;
}

Json PythonWorker::ask(const Json& order) {
  if (process_ < 0)
    throw UserError(ExitStatus::InvalidInput, "the peer's process has ended before");
  write_all(in_.get(), order.dump() + "\n");
  for (; unasked_ > 0; --unasked_) answer();
  Json json = Json::parse(answer(), nullptr, false);
  if (!json.is_object())
    throw UserError(ExitStatus::InvalidInput, "the peer's process gave no answer");
  return json;
}

// The next line.
// The limit is of silence: it counts seconds in which nothing came.
std::string PythonWorker::answer() {
  for (int seconds = 0; seconds < kMostSeconds && unread_.size() < kMostAnswer;) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd waiting{out_.get(), POLLIN, 0};
    const int ready = poll(&waiting, 1, 1000);
    if (ready == 0) ++seconds;
    if (ready <= 0) continue;
    char buffer[1U << 16U];
    const ssize_t count = ::read(out_.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ended();
    unread_.append(buffer, static_cast<std::size_t>(count));
  }
  throw UserError(ExitStatus::InvalidInput,
                  "the peer's process took more than " + std::to_string(kMostSeconds) + " s");
}

// The memory grows to the highest byte that is written.
void PythonWorker::write(std::int64_t at, std::span<const std::byte> bytes) {
  const std::int64_t end = at + static_cast<std::int64_t>(bytes.size());
  if (end > size_) {
    size_ = end;
    if (ftruncate(memory_.get(), size_) != 0)
      throw UserError(ExitStatus::ResourceLimit, "memory for a worker cannot be had");
  }
  while (!bytes.empty()) {
    const ssize_t done = pwrite(memory_.get(), bytes.data(), bytes.size(), at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw UserError(ExitStatus::ResourceLimit, "memory for a worker cannot be had");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    at += done;
  }
}

void PythonWorker::read(std::int64_t at, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = pread(memory_.get(), bytes.data(), bytes.size(), at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw UserError(ExitStatus::ResourceLimit, "memory of a worker cannot be read");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    at += done;
  }
}

}  // namespace polyte::lab
