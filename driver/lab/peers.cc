#include "driver/lab/peers.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codegen/c/write_c.h"
#include "lower/lower.h"
#include "runtime/artifact.h"
#include "runtime/file.h"
#include "support/error.h"

extern char** environ;

namespace polyte::lab {

std::string on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + program;
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

namespace {

namespace fs = std::filesystem;

// A folder of its own that goes with it.
class Scratch {
 public:
  Scratch() {
    std::string form = (fs::temp_directory_path() / "polyte-lab-XXXXXX").string();
    if (mkdtemp(form.data()) == nullptr)
      throw UserError(ExitStatus::ResourceLimit, form + ": a temporary folder cannot be made");
    path_ = form;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Runs a program without a shell; both of its outputs go to `output`. Its exit status, or -1.
int run_program(std::vector<std::string> words, const std::string& output) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error != 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string first_on_path(std::initializer_list<const char*> programs) {
  for (const char* program : programs)
    if (std::string found = on_path(program); !found.empty()) return found;
  return "";
}

// What a user who wants speed gives, also where the plan is exact: outputs of peers are compared
// within a tolerance like those of all arms.
const std::vector<std::string>& fast_flags() {
  static const std::vector<std::string> kFlags{"-O3", "-march=native", "-ffast-math"};
  return kFlags;
}

// Whether this clang has Polly: Debian builds it in.
bool has_polly(const std::string& clang) {
  const Scratch scratch;
  std::ofstream(scratch.file("a.c")) << "int a;\n";
  return run_program({clang, "-O3", "-mllvm", "-polly", "-c", "-o", scratch.file("a.o"),
                      scratch.file("a.c")},
                     scratch.file("out")) == 0;
}

// Under its name only when it is complete: worker processes of several rows may share the folder,
// and a rename within it is atomic.
void compile(const Compiler& compiler, const std::string& source, const Scratch& scratch,
             const std::string& library) {
  const std::string c = scratch.file("kernel.c"), log = scratch.file("log");
  const std::string unfinished = library + ".part" + std::to_string(getpid());
  std::ofstream(c) << source;
  std::vector<std::string> words{compiler.path, "-std=c99"};
  words.insert(words.end(), compiler.flags.begin(), compiler.flags.end());
  words.insert(words.end(), {"-shared", "-fPIC", "-w", "-o", unfinished, c, "-lm"});
  if (run_program(words, log) != 0)
    throw UserError(ExitStatus::InvalidInput,
                    "peer:" + compiler.name + ": the compiler fails: " + first_line(log));
  fs::rename(unfinished, library);
}

}  // namespace

Compiler find_compiler(const std::string& name) {
  Compiler compiler{name, "", fast_flags(), ""};
  if (name == "gcc") {
    compiler.path = first_on_path({"gcc", "gcc-12"});
  } else if (name == "strict") {
    compiler.path = first_on_path({"gcc", "cc", "clang", "clang-19"});
    // -ffp-contract=off: a product that is fused with the sum is rounded once, where C says twice.
    compiler.flags = {"-O1", "-march=native", "-ffp-contract=off"};
  } else {
    compiler.path = first_on_path({"clang-19", "clang"});
  }
  if (name == "polly") {
    compiler.flags.insert(compiler.flags.end(), {"-mllvm", "-polly"});
    if (!compiler.path.empty() && !has_polly(compiler.path)) compiler.path.clear();
  }
  if (compiler.path.empty()) return compiler;
  const Scratch scratch;
  if (run_program({compiler.path, "--version"}, scratch.file("version")) == 0)
    compiler.version = first_line(scratch.file("version"));
  return compiler;
}

// A function of one array of pointers, for every Program: the kernel's own has as many parameters
// as there are buffers.
std::string peer_source(const driver::BuiltKernel& naive, const Machine& machine) {
  const ir::LoopProgram loops = lower::lower_to_plain_loops(*naive.state, {.machine = machine});
  POLYTE_CHECK(loops.buffers.size() == naive.program->interface().size(),
               "the reference order packs nothing");
  const std::string text = codegen::write_c({&loops, 1});
  // The function's name as C has it: the last definition of the text.
  const std::size_t at = text.rfind("\nvoid ");
  POLYTE_CHECK(at != std::string::npos, "a C function was written");
  const std::string function = text.substr(at + 6, text.find('(', at) - at - 6);
  std::string arguments;
  for (std::size_t i = 0; i < loops.buffers.size(); ++i)
    arguments += (i ? ", b[" : "b[") + std::to_string(i) + "]";
  return text + "\nvoid polyte_lab_call(void *const *b) { " + function + "(" + arguments + "); }\n";
}

PeerKernel::PeerKernel(const Compiler& compiler, const std::string& source,
                       const std::string& kept) {
  // A library that is kept is found by all that decides what is in it: source, compiler, flags.
  std::string made_by = compiler.version + compiler.path;
  for (const std::string& flag : compiler.flags) made_by += " " + flag;
  const Scratch scratch;
  std::string library = scratch.file("kernel.so");
  if (!kept.empty())
    library = kept + "/" + runtime::digest_of(runtime::as_bytes(made_by + "\n" + source)) + ".so";
  if (!fs::exists(library)) compile(compiler, source, scratch, library);
  handle_ = dlopen(fs::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = handle_ ? dlsym(handle_, "polyte_lab_call") : nullptr;
  if (!symbol)
    throw UserError(ExitStatus::InvalidInput,
                    "peer:" + compiler.name + ": its library cannot be loaded");
  call_ = reinterpret_cast<void (*)(void* const*)>(symbol);
}

PeerKernel::~PeerKernel() {
  if (handle_) dlclose(handle_);
}

void PeerKernel::bind(std::span<runtime::Tensor> tensors) {
  pointers_.clear();
  for (runtime::Tensor& tensor : tensors) pointers_.push_back(tensor.data());
}

}  // namespace polyte::lab
