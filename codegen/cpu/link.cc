#include "codegen/cpu/link.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "codegen/common/crash_guard.h"
#include "codegen/cpu/backend.h"
#include "codegen/cpu/libm_stub.h"
#include "support/descriptor.h"
#include "support/system_error.h"

#include <lld/Common/Driver.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBufferRef.h>
#include <llvm/Support/raw_ostream.h>

LLD_HAS_DRIVER(elf)

namespace polyte::codegen {
namespace {

// With the reason in errno, which is a limit of this process or of the system whatever it says.
[[noreturn]] void fail(const std::string& what) {
  const int error = errno;
  throw UserError(ExitStatus::ResourceLimit, "linking: " + what + ": " + text_of_errno(error));
}

// lld takes and gives files by their names. Nothing of a link is on a disk, so nothing is
// left there, no folder for temporary files is needed and nobody else can get between: an open
// descriptor has a name too.
class MemoryFile {
 public:
  MemoryFile(const char* name, std::string_view content) : file_(memfd_create(name, MFD_CLOEXEC)) {
    if (file_.get() < 0) fail("no memory file");
    while (!content.empty()) {
      const ssize_t count = write(file_.get(), content.data(), content.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail("cannot write to memory");
      content.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  std::string path() const { return file_.path(); }

 private:
  Descriptor file_;
};

// The place that lld writes to: a pipe, which it writes at once, at the end of the link, while a
// thread of ours reads. A regular file it would write beside its place and rename.
class LinkedOutput {
 public:
  LinkedOutput() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail("no pipe");
    read_.reset(ends[0]);
    write_.reset(ends[1]);
    try {
      reader_ = std::thread([this] { read_all(); });
    } catch (const std::system_error& error) {
      throw UserError(ExitStatus::ResourceLimit,
                      std::string("linking: no thread: ") + error.what());
    }
  }
  LinkedOutput(const LinkedOutput&) = delete;
  LinkedOutput& operator=(const LinkedOutput&) = delete;
  ~LinkedOutput() { finish(); }
  std::string path() const { return write_.path(); }

  std::string take() {
    finish();
    if (failure_) std::rethrow_exception(failure_);
    return std::move(bytes_);
  }

 private:
  Descriptor read_, write_;
  std::thread reader_;
  std::string bytes_;
  std::exception_ptr failure_;

  void finish() {
    write_.reset();  // the last of its writers: the reader comes to the end
    if (reader_.joinable()) reader_.join();
  }

  // To the end in any case, or the writer would wait for ever.
  void read_all() {
    std::vector<char> piece(std::size_t{1} << 16);
    while (true) {
      const ssize_t count = read(read_.get(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;
      try {
        if (!failure_) bytes_.append(piece.data(), static_cast<std::size_t>(count));
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
  }
};

// The objects as members of one file: a file each would take a descriptor each. No symbol table:
// --whole-archive takes every member.
std::string archive_of(std::span<const std::string> objects) {
  std::vector<llvm::NewArchiveMember> members;
  for (const std::string& object : objects)
    members.emplace_back(llvm::MemoryBufferRef(object, "kernel.o"));
  std::string archive;
  llvm::raw_string_ostream stream(archive);
  llvm::Error error = llvm::writeArchiveToStream(stream, members, llvm::SymtabWritingMode::NoSymtab,
                                                 llvm::object::Archive::K_GNU, true, false);
  if (error) throw InternalError("no archive of objects: " + llvm::toString(std::move(error)));
  return archive;
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
  if (code == 0) return;
  check_exhaustion(text);
  throw InternalError("lld failed: " + text);
}

// Links `objects` with `options`; `libraries` are shared objects to link against.
std::string link_shared(std::span<const std::string> objects,
                        std::span<const std::string> libraries,
                        const std::vector<std::string>& options) {
  const MemoryFile archive("objects", archive_of(objects));
  std::vector<std::unique_ptr<MemoryFile>> files;
  LinkedOutput output;
  // -z defs: what is defined nowhere is an error here, not when a kernel is first called. One
  // thread, as lld's pool would outlive the call. --as-needed: a kernel without calls of libm
  // does not depend on it.
  std::vector<std::string> arguments = {"ld.lld",      "-shared", "-z",         "defs",
                                        "--threads=1", "-o",      output.path()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(),
                   {"--whole-archive", archive.path(), "--no-whole-archive", "--as-needed"});
  for (const std::string& library : libraries) {
    files.push_back(std::make_unique<MemoryFile>("library", library));
    arguments.push_back(files.back()->path());
  }
  run_lld(arguments);
  return output.take();
}

// Only names and the soname count: at load the symbols are those of the system's libm.
std::string libm_stub(TargetKind kind) {
  const std::string object = libm_stub_object(kind);
  return link_shared({&object, 1}, {}, {"-soname", "libm.so.6"});
}

const std::string& kept_libm_stub(TargetKind kind) {
  if (kind == TargetKind::X86) {
    static const std::string x86 = libm_stub(kind);
    return x86;
  }
  static const std::string aarch64 = libm_stub(kind);
  return aarch64;
}

// By its ELF header.
TargetKind kind_of(const std::string& object) {
  Elf64_Ehdr header{};
  std::memcpy(&header, object.data(), std::min(object.size(), sizeof header));
  return header.e_machine == backend_of(TargetKind::AArch64).elf_machine ? TargetKind::AArch64
                                                                         : TargetKind::X86;
}

}  // namespace

std::string link(std::span<const std::string> objects) {
  const TargetKind kind = objects.empty() ? kNativeKind : kind_of(objects.front());
  return link_shared(objects, {&kept_libm_stub(kind), 1}, {});
}

}  // namespace polyte::codegen
