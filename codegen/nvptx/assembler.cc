#include "codegen/nvptx/assembler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codegen/nvptx/assembler_report.h"
#include "codegen/nvptx/jit_link.h"
#include "support/error.h"
#include "support/system_error.h"

extern char** environ;  // NOLINT

namespace polyte::codegen {
namespace {

namespace fs = std::filesystem;

// The path of a program of the CUDA Toolkit; empty: it is not installed.
std::string find_tool(const std::string& name) {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("PATH")) {
    std::stringstream parts(path);
    for (std::string folder; std::getline(parts, folder, ':');) folders.push_back(folder);
  }
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::string(home) + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders)
    if (const std::string file = folder + "/" + name; ::access(file.c_str(), X_OK) == 0)
      return file;
  return "";
}

// A temporary folder that is removed with its owner.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "polyte_ptx_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw UserError(ExitStatus::ResourceLimit, "a temporary folder: " + text_of_errno(errno));
    folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string file(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Runs a program without a shell and returns its exit status, as shells do 128 + the signal's
// number where one ended it. Its output goes to the file `log`.
int run(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  // ptxas reports on stderr with -v, on success too.
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw UserError(ExitStatus::Device,
                    words.front() + " cannot be started: " + text_of_errno(failed));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

DeviceBinary assemble_by_ptxas(const std::string& program, const std::string& ptx,
                               const Machine& machine) {
  DeviceBinary binary;
  binary.assembler = program;
  const Scratch scratch;
  const std::string source = scratch.file("kernels.ptx"), output = scratch.file("kernels.cubin");
  const std::string log = scratch.file("log");
  if (!(std::ofstream(source, std::ios::binary) << ptx << std::flush))
    throw UserError(ExitStatus::ResourceLimit, "cannot write " + source);
  const int status =
      run({program, "-v", "-arch=" + architecture_of(*machine.gpu), source, "-o", output}, log);
  const std::string said = contents_of(log);
  if (status != 0) throw InternalError("ptxas refuses the code for " + machine.cpu + ":\n" + said);
  read_report(said, binary);
  binary.bytes = contents_of(output);
  return binary;
}

DeviceBinary assemble_once(const std::string& ptx, const Machine& machine, Assembler which) {
  const std::string program = which == Assembler::Library ? "" : find_tool("ptxas");
  if (!program.empty()) return assemble_by_ptxas(program, ptx, machine);
  if (which == Assembler::Program || jit_link_path().empty())
    throw UserError(ExitStatus::Device,
                    "no ptxas on PATH, in $CUDA_HOME/bin or /usr/local/cuda/bin, and no "
                    "libnvJitLink: they come with the "
                    "CUDA Toolkit");
  return assemble_by_jit_link(ptx, machine);
}

int spilled_bytes(const DeviceBinary& binary) {
  int sum = 0;
  for (const DeviceBinary::Kernel& kernel : binary.kernels)
    sum += kernel.spill_store_bytes + kernel.spill_load_bytes;
  return sum;
}

// The kernels that spill, told that one block of them on a multiprocessor is enough (PTX ISA,
// .minnctapersm, which has to come with .maxntid): then each thread may have as many registers as
// that leaves.
std::string with_all_registers(const std::string& ptx, const DeviceBinary& spilling) {
  std::stringstream lines(ptx), result;
  bool spills = false;
  for (std::string line; std::getline(lines, line);) {
    result << line << "\n";
    // A kernel's directives stand between its .entry and its body:
    //
    //   .visible .entry k(
    //     ..
    //   )
    //   .maxntid 256, 1, 1
    //   .minnctapersm 1            <- added
    if (line.find(".entry ") != std::string::npos) {
      spills = std::ranges::any_of(spilling.kernels, [&](const DeviceBinary::Kernel& kernel) {
        return kernel.spill_store_bytes > 0 &&
               line.find(".entry " + kernel.name + "(") != std::string::npos;
      });
    }
    if (spills && line.starts_with(".maxntid")) result << ".minnctapersm 1\n";
  }
  return result.str();
}

}  // namespace

std::string assembler_path(Assembler which) {
  const std::string program = which == Assembler::Library ? "" : find_tool("ptxas");
  return program.empty() && which != Assembler::Program ? jit_link_path() : program;
}

// Left alone, ptxas limits the registers of a kernel so that several blocks run side by side on a
// multiprocessor, even where it has to spill for that. So a kernel that spills is assembled a
// second time, without that limit, and the version with fewer bytes of spills is kept.
DeviceBinary assemble_ptx(const std::string& ptx, const Machine& machine, Assembler which) {
  DeviceBinary binary = assemble_once(ptx, machine, which);
  if (spilled_bytes(binary) == 0) return binary;
  DeviceBinary other = assemble_once(with_all_registers(ptx, binary), machine, which);
  return spilled_bytes(other) < spilled_bytes(binary) ? other : binary;
}

std::string disassemble(const DeviceBinary& binary) {
  std::vector<std::string> command = {find_tool("nvdisasm"), "-c"};
  if (command[0].empty()) command = {find_tool("cuobjdump"), "-sass"};
  if (command[0].empty())
    throw UserError(ExitStatus::Device,
                    "no nvdisasm or cuobjdump on PATH, in $CUDA_HOME/bin or /usr/local/cuda/bin: "
                    "they come with the CUDA "
                    "Toolkit; --emit ptx and --emit resources need neither");
  const Scratch scratch;
  const std::string file = scratch.file("kernels.cubin"), log = scratch.file("log");
  std::ofstream(file, std::ios::binary) << binary.bytes;
  command.push_back(file);
  const int status = run(command, log);
  const std::string text = contents_of(log);
  if (status != 0) throw UserError(ExitStatus::Device, command[0] + " failed: " + text);
  return text;
}

}  // namespace polyte::codegen
