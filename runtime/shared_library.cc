#include "runtime/shared_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "support/descriptor.h"
#include "support/system_error.h"

namespace polyte::runtime {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw UserError(ExitStatus::Artifact, "object '" + name + "': " + why);
}

#ifdef __x86_64__
constexpr int kElfMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kElfMachine = EM_AARCH64;
#endif

// True when [offset, offset + bytes) lies in a file of `total` bytes.
bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t total) {
  return offset <= total && total - offset >= bytes;
}

// dlopen maps segments by the program headers: beyond the end of a file that is cut off, a page
// is a SIGBUS at the first touch, not an error. So the bounds are checked here. (Gabi, "ELF
// header", "Program header".)
void check_elf(Bytes elf, const std::string& name) {
  Elf64_Ehdr header{};
  if (elf.size() < sizeof header) refuse(name, "is truncated");
  std::memcpy(&header, elf.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN) {
    refuse(name, "is not a shared object of 64-bit ELF");
  }
  if (header.e_machine != kElfMachine) {
    refuse(name, "is for ELF machine " + std::to_string(header.e_machine) + ", this processor is " +
                     std::to_string(kElfMachine));
  }
  const std::uint64_t table = std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (header.e_phentsize != sizeof(Elf64_Phdr) || !inside(header.e_phoff, table, elf.size())) {
    refuse(name, "has damaged program headers");
  }
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    std::memcpy(&segment, elf.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (!inside(segment.p_offset, segment.p_filesz, elf.size())) refuse(name, "is truncated");
  }
}

// With the reason in errno.
[[noreturn]] void refuse_errno(const std::string& name, const std::string& what) {
  const int error = errno;
  throw UserError(status_of_errno(error, ExitStatus::Artifact),
                  "object '" + name + "': " + what + ": " + text_of_errno(error));
}

// A file in memory that nobody can change any more, ourselves included.
std::shared_ptr<const Descriptor> sealed_file(Bytes content, const std::string& name) {
  const int file = memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) refuse_errno(name, "no memory file");
  auto owner = std::make_shared<const Descriptor>(file);
  while (!content.empty()) {
    const ssize_t count = write(file, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) refuse_errno(name, "cannot be copied to memory");
    content = content.subspan(static_cast<std::size_t>(count));
  }
  if (fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    refuse_errno(name, "cannot be sealed");
  return owner;
}

// The loader has words only for what it ran out of.
ExitStatus status_of_loader(const std::string& why) {
  for (const char* limit :
       {"Cannot allocate memory", "Too many open files", "failed to map", "cannot create"})
    if (why.find(limit) != std::string::npos) return ExitStatus::ResourceLimit;
  return ExitStatus::Artifact;
}

}  // namespace

SharedLibrary::SharedLibrary(Bytes elf, std::string name) : name_(std::move(name)) {
  check_elf(elf, name_);
  // A file that only memory holds needs no folder that may execute, leaves nothing behind, and
  // cannot be exchanged between the check and the load.
  const auto file = sealed_file(elf, name_.substr(0, 200));
  file_ = file;
  handle_ = dlopen(file->path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ != nullptr) return;
  const char* words = dlerror();
  const std::string why = words != nullptr ? words : "unknown reason";
  throw UserError(status_of_loader(why), "object '" + name_ + "': cannot be loaded: " + why);
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept
    : name_(std::move(other.name_)),
      file_(std::move(other.file_)),
      handle_(std::exchange(other.handle_, nullptr)) {}

void* SharedLibrary::find(const std::string& symbol) const {
  return dlsym(handle_, symbol.c_str());
}

polyte_kernel SharedLibrary::kernel(const std::string& symbol) const {
  void* address = find(symbol);
  if (address == nullptr) refuse(name_, "has no kernel '" + symbol + "'");
  return reinterpret_cast<polyte_kernel>(address);
}

}  // namespace polyte::runtime
