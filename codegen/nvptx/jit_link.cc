#include "codegen/nvptx/jit_link.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "codegen/nvptx/assembler_report.h"
#include "support/error.h"

namespace polyte::codegen {
namespace {

// The interface is declared here, so that building needs no CUDA. It is that of nvJitLink 12 and
// 13 (CUDA Toolkit, "nvJitLink"), whose functions return 0 or an error's number.
using Handle = struct JitLinkObject*;
constexpr int kSuccess = 0, kPtx = 2;  // by its header, nvJitLink.h

// The functions of nvJitLink that are called here.
struct Library {
  std::string path;  // empty: there is none
  int (*create)(Handle*, std::uint32_t, const char**) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*add)(Handle, int, const void*, std::size_t, const char*) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubin_size)(Handle, std::size_t*) = nullptr;
  int (*cubin)(Handle, void*) = nullptr;
  int (*info_size)(Handle, std::size_t*) = nullptr;
  int (*info)(Handle, char*) = nullptr;
  int (*error_size)(Handle, std::size_t*) = nullptr;
  int (*error)(Handle, char*) = nullptr;
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));  // NOLINT
  return function != nullptr;
}

std::vector<std::string> candidates() {
  std::vector<std::string> folders = {""};
  if (const char* home = std::getenv("CUDA_HOME"))
    for (const char* folder : {"/lib64/", "/lib/"}) folders.push_back(std::string(home) + folder);
  for (const char* folder : {"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"})
    folders.emplace_back(folder);
  std::vector<std::string> files;
  for (const std::string& folder : folders)
    for (const char* name : {"libnvJitLink.so.13", "libnvJitLink.so.12"})
      files.push_back(folder + name);
  return files;
}

// The library stays open until the process ends: its 100 MB are mapped only once.
Library load() {
  for (const std::string& file : candidates()) {
    void* const opened = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) continue;
    Library library;
    const bool all = find(opened, "nvJitLinkCreate", library.create) &&
                     find(opened, "nvJitLinkDestroy", library.destroy) &&
                     find(opened, "nvJitLinkAddData", library.add) &&
                     find(opened, "nvJitLinkComplete", library.complete) &&
                     find(opened, "nvJitLinkGetLinkedCubinSize", library.cubin_size) &&
                     find(opened, "nvJitLinkGetLinkedCubin", library.cubin) &&
                     find(opened, "nvJitLinkGetInfoLogSize", library.info_size) &&
                     find(opened, "nvJitLinkGetInfoLog", library.info) &&
                     find(opened, "nvJitLinkGetErrorLogSize", library.error_size) &&
                     find(opened, "nvJitLinkGetErrorLog", library.error);
    // Another library of that name, or an older one.
    if (!all) continue;
    Dl_info found{};
    const bool known = ::dladdr(reinterpret_cast<void*>(library.create), &found) != 0;  // NOLINT
    library.path = known ? found.dli_fname : file;
    return library;
  }
  return {};
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

class Link {
 public:
  explicit Link(const Machine& machine) {
    const std::string arch = "-arch=" + architecture_of(*machine.gpu);
    const char* options[] = {arch.c_str(), "-verbose", "-Xptxas=-v"};
    // -verbose and -Xptxas=-v: registers and spills per kernel in the log of information, as
    // ptxas -v prints.
    check(library().create(&handle_, 3, options), "nvJitLinkCreate");
  }
  ~Link() { library().destroy(&handle_); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // The size of PTX includes its terminating zero.
  bool assemble(const std::string& ptx) {
    return library().add(handle_, kPtx, ptx.c_str(), ptx.size() + 1, "kernels.ptx") == kSuccess &&
           library().complete(handle_) == kSuccess;
  }
  std::string cubin() const {
    std::size_t size = 0;
    check(library().cubin_size(handle_, &size), "nvJitLinkGetLinkedCubinSize");
    std::string bytes(size, '\0');
    check(library().cubin(handle_, bytes.data()), "nvJitLinkGetLinkedCubin");
    return bytes;
  }
  std::string info() const { return log(library().info_size, library().info); }
  std::string error() const { return log(library().error_size, library().error); }

 private:
  Handle handle_ = nullptr;

  static void check(int result, const char* call) {
    if (result != kSuccess)
      throw InternalError(std::string(call) + " gives " + std::to_string(result));
  }
  // Logs have two calls, one for the size (the terminating zero included), one for the text.
  std::string log(int (*size_of)(Handle, std::size_t*), int (*text_of)(Handle, char*)) const {
    std::size_t size = 0;
    if (size_of(handle_, &size) != kSuccess || size == 0) return "";
    std::string text(size, '\0');
    if (text_of(handle_, text.data()) != kSuccess) return "";
    return text.substr(0, text.find('\0'));  // up to its zero
  }
};

}  // namespace

std::string jit_link_path() { return library().path; }

// The log is read before `link` goes: the handle owns it.
DeviceBinary assemble_by_jit_link(const std::string& ptx, const Machine& machine) {
  DeviceBinary binary;
  binary.assembler = library().path;
  Link link(machine);
  if (!link.assemble(ptx))
    throw InternalError(binary.assembler + " refuses the code for " + machine.cpu + ":\n" +
                        link.error());
  read_report(link.info(), binary);
  binary.bytes = link.cubin();
  return binary;
}

}  // namespace polyte::codegen
