#include "codegen/link.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <vector>

#include "codegen/crash_guard.h"
#include "codegen/libm_stub.h"
#include "support/error.h"

#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

LLD_HAS_DRIVER(elf)

namespace polyte::codegen {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what) {
  throw UserError(ExitStatus::ResourceLimit, "linking: " + what + ": " + std::strerror(errno));
}

// A folder of its own for one link, removed with everything in it. (lld writes next to its output and renames, so
// the output cannot be a memory file.)
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "polyte-link-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) fail("cannot make the folder " + pattern);
    path_ = pattern;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream) fail("cannot write " + path);
}

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream) fail("cannot read " + path);
  return bytes;
}

void run_lld(const std::vector<std::string>& arguments) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::string text;
  int code = 0;
  const auto failure = run_guarded([&] {
    llvm::raw_string_ostream stream(text);
    code = lld::lldMain(argv, stream, stream, {{lld::Gnu, &lld::elf::link}}).retCode;
  });
  if (failure) throw InternalError("lld gave up: " + *failure);
  if (code != 0) throw InternalError("lld failed: " + text);
}

// Links `objects` with `options` in a fresh folder; `libraries` are shared objects to link against.
std::string link_shared(std::span<const std::string> objects, std::span<const std::string> libraries,
                        const std::vector<std::string>& options) {
  const ScratchFolder folder;
  const std::string output = folder.file("kernels.so");
  std::vector<std::string> arguments = {"ld.lld", "-shared", "-z", "defs", "--threads=1", "-o", output};
  arguments.insert(arguments.end(), options.begin(), options.end());
  for (const std::string& object : objects) {
    arguments.push_back(folder.file(std::to_string(arguments.size()) + ".o"));
    write_file(arguments.back(), object);
  }
  arguments.push_back("--as-needed");
  for (const std::string& library : libraries) {
    arguments.push_back(folder.file(std::to_string(arguments.size()) + ".so"));
    write_file(arguments.back(), library);
  }
  run_lld(arguments);
  return read_file(output);
}

const std::string& libm_stub() {
  static const std::string stub = [] {
    const std::string object = libm_stub_object();
    return link_shared({&object, 1}, {}, {"-soname", "libm.so.6"});
  }();
  return stub;
}

}  // namespace

std::string link(std::span<const std::string> objects) { return link_shared(objects, {&libm_stub(), 1}, {}); }

}  // namespace polyte::codegen
