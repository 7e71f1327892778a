#include "driver/lab/peers.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
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
#include "support/join_words.h"

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
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

constexpr int kTimeout = -2;
constexpr int kMostSecondsOfCompiler = 300;  // Polly has taken 122 for a kernel
constexpr int kMostSecondsOfRewriter = 60;

// Runs a program in `folder` without a shell; both of its outputs go to the file `output`. Its exit
// status, -1 where there is none, or kTimeout. The time is the processor's, of each process that
// it starts, too: no limit by the clock would reach those, whose parent is a shell.
int run_program(std::vector<std::string> words, const std::string& folder,
                const std::string& output, int seconds = 60) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  const auto limit = static_cast<rlim_t>(seconds);
  const rlimit limits{limit, limit};
  prlimit(child, RLIMIT_CPU, &limits, nullptr);
  int status = 0;
  rusage used{};
  if (wait4(child, &status, 0, &used) != child) return -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  // With its children, which it has waited for.
  if (used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 >= seconds) return kTimeout;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The first line of a log that speaks of an error, else its first line.
std::string telling_line(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.find("rror") != std::string::npos) return line;
  return first_line(path);
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
  return run_program({clang, "-O3", "-mllvm", "-polly", "-c", "-o", "a.o", "a.c"}, scratch.path(),
                     scratch.file("out")) == 0;
}

void run_step(const Compiler& compiler, const std::vector<std::string>& words,
              const Scratch& scratch, int seconds) {
  const std::string log = scratch.file("log");
  const int status = run_program(words, scratch.path(), log, seconds);
  if (status == 0) return;
  const std::string who = "peer:" + compiler.name + ": " + fs::path(words[0]).filename().string();
  if (status == kTimeout)
    throw UserError(ExitStatus::Unsupported,
                    who + " took more than " + std::to_string(seconds) + " s");
  throw UserError(ExitStatus::InvalidInput, who + " fails: " + telling_line(log));
}

// Under its name only when it is complete: worker processes of several rows may share the folder,
// and a rename within it is atomic.
void compile(const Compiler& compiler, const PeerSource& source, const Scratch& scratch,
             const std::string& library) {
  const std::string unfinished =
      fs::absolute(library).string() + ".part" + std::to_string(getpid());
  std::string c = "kernel.c";
  std::ofstream(scratch.file(c)) << source.loops;
  if (!compiler.rewriter.empty()) {
    std::vector<std::string> words = compiler.rewriter;
    words.insert(words.end(), {c, "-o", "rewritten.c"});
    run_step(compiler, words, scratch, kMostSecondsOfRewriter);
    c = "rewritten.c";
  }
  std::ofstream(scratch.file(c), std::ios::app) << source.behind;
  std::vector<std::string> words{compiler.path, "-std=c99"};
  words.insert(words.end(), compiler.flags.begin(), compiler.flags.end());
  words.insert(words.end(), {"-shared", "-fPIC", "-w", "-o", unfinished, c, "-lm"});
  run_step(compiler, words, scratch, kMostSecondsOfCompiler);
  fs::rename(unfinished, library);
}

// polycc of Pluto (U. Bondhugula et al., "A practical automatic polyhedral parallelizer and
// locality optimizer", PLDI 2008), its own choice of tiles and fusion.
void add_pluto(Compiler& compiler) {
  const char* named = std::getenv("POLYTE_POLYCC");
  const std::string polycc = named && *named != '\0' ? named : on_path("polycc");
  if (polycc.empty() || access(polycc.c_str(), X_OK) != 0) {
    compiler.path.clear();
    compiler.missing = polycc.empty() ? "no polycc (Pluto) on PATH, and POLYTE_POLYCC is not set"
                                      : "POLYTE_POLYCC: " + polycc + " is no program";
    return;
  }
  compiler.rewriter = {polycc, "--pet", "--tile"};
  if (compiler.threads == 1) {
    compiler.rewriter.emplace_back("--noparallel");
    return;
  }
  // Of a parallel loop that is unrolled, the rest goes on where a thread's private counter was.
  compiler.rewriter.insert(compiler.rewriter.end(), {"--parallel", "--nounrolljam"});
  compiler.flags.emplace_back("-fopenmp");
}

// Whatever the status: polycc goes on without a file, and fails.
std::string version_of(const std::string& program) {
  const Scratch scratch;
  const std::string file = scratch.file("version");
  return run_program({program, "--version"}, scratch.path(), file) >= 0 ? first_line(file) : "";
}

}  // namespace

std::string Compiler::command() const {
  std::string words;
  for (const std::string& word : rewriter) words += word + " ";
  words += (words.empty() ? "" : "&& ") + path;
  for (const std::string& flag : flags) words += " " + flag;
  return words;
}

Compiler find_compiler(const std::string& name, int threads) {
  Compiler compiler{name, "", fast_flags(), "", name + " is not installed", threads};
  if (name == "gcc") {
    compiler.path = first_on_path({"gcc", "gcc-12"});
  } else if (name == "strict") {
    compiler.path = first_on_path({"gcc", "cc", "clang", "clang-19"});
    // -ffp-contract=off: a product that is fused with the sum is rounded once, where C says twice.
    compiler.flags = {"-O1", "-march=native", "-ffp-contract=off"};
  } else if (name == "pluto") {
    compiler.path = first_on_path({"gcc", "clang-19", "clang"});
    if (!compiler.path.empty()) add_pluto(compiler);
  } else {
    compiler.path = first_on_path({"clang-19", "clang"});
  }
  if (name == "polly") {
    compiler.flags.insert(compiler.flags.end(), {"-mllvm", "-polly"});
    if (!compiler.path.empty() && !has_polly(compiler.path)) compiler.path.clear();
  }
  if (compiler.path.empty()) return compiler;
  compiler.version = version_of(compiler.path);
  if (!compiler.rewriter.empty())
    compiler.version = version_of(compiler.rewriter[0]) + ", " + compiler.version;
  return compiler;
}

// A function of one array of pointers, for every Program: the kernel's own has as many parameters
// as there are buffers.
PeerSource peer_source(const Compiler& compiler, const driver::BuiltKernel& naive,
                       const Machine& machine) {
  const ir::LoopProgram loops = lower::lower_to_plain_loops(*naive.state, {.machine = machine});
  POLYTE_CHECK(loops.buffers.size() == naive.program->interface().size(),
               "the reference order packs nothing");
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < loops.buffers.size(); ++i)
    arguments.push_back("b[" + std::to_string(i) + "]");
  PeerSource source;
  std::string call;  // what its body says
  if (compiler.rewriter.empty()) {
    source.loops = codegen::write_c({&loops, 1});
  } else {
    const codegen::MarkedC marked = codegen::write_marked_c(loops);
    source = {marked.text, "\n" + marked.helpers};
    for (const std::int64_t bytes : marked.arrays) {
      const std::string name = "room" + std::to_string(arguments.size());
      call += "  static char " + name + "[" + std::to_string(bytes) +
              "] __attribute__((aligned(64)));\n";
      arguments.push_back("(void *)" + name);
    }
  }
  if (compiler.threads > 1) {
    source.behind += "void omp_set_num_threads(int);\n";
    call += "  omp_set_num_threads(" + std::to_string(compiler.threads) + ");\n";
  }
  // The function's name as C has it: the last definition of the text.
  const std::size_t at = source.loops.rfind("\nvoid ");
  POLYTE_CHECK(at != std::string::npos, "a C function was written");
  const std::string function = source.loops.substr(at + 6, source.loops.find('(', at) - at - 6);
  source.behind += "\nvoid polyte_lab_call(void *const *b) {\n" + call + "  " + function + "(" +
                   join_words(arguments) + ");\n}\n";
  return source;
}

PeerKernel::PeerKernel(const Compiler& compiler, const PeerSource& source,
                       const std::string& kept) {
  // A library that is kept is found by all that decides what is in it: source, compiler, flags.
  const std::string made_by = compiler.version + compiler.command();
  const Scratch scratch;
  std::string library = scratch.file("kernel.so");
  if (!kept.empty())
    library = kept + "/" +
              runtime::digest_of(runtime::as_bytes(made_by + "\n" + source.loops + source.behind)) +
              ".so";
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
