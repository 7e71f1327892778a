#include "driver/api/kernel_cache.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "runtime/artifact.h"
#include "support/machine.h"

namespace polyte::api {
namespace {

namespace fs = std::filesystem;
constexpr const char* kEnding = ".kernel";

// ---- who compiles: the build-id that the linker gave the object that this code is in

struct Identity {
  std::uintptr_t here;
  std::string id;
};

// Notes of ELF: a header with three sizes, then name and content, each filled up to a multiple of
// four bytes.
std::string build_id_of(const char* notes, std::size_t bytes) {
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes + at, sizeof header);
    const auto rounded = [](std::size_t n) { return (n + 3) / 4 * 4; };
    const std::size_t content = at + sizeof header + rounded(header.n_namesz);
    if (content + header.n_descsz > bytes) break;
    if (header.n_type == NT_GNU_BUILD_ID) return {notes + content, header.n_descsz};
    at = content + rounded(header.n_descsz);
  }
  return "";
}

// Called for each loaded object until it returns 1. Ours is the one that has this code in one of
// its segments: the program, or a shared library within another's process.
int look(dl_phdr_info* object, std::size_t, void* into) {
  auto& identity = *static_cast<Identity*>(into);
  const auto begins_at = [&](const ElfW(Phdr) & part) { return object->dlpi_addr + part.p_vaddr; };
  const std::span parts(object->dlpi_phdr, object->dlpi_phnum);
  const bool is_ours = std::ranges::any_of(parts, [&](const ElfW(Phdr) & part) {
    return part.p_type == PT_LOAD && identity.here >= begins_at(part) &&
           identity.here < begins_at(part) + part.p_memsz;
  });
  if (!is_ours) return 0;
  for (const ElfW(Phdr) & part : parts)
    if (part.p_type == PT_NOTE && identity.id.empty())
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader's addresses are numbers
      identity.id = build_id_of(reinterpret_cast<const char*>(begins_at(part)), part.p_memsz);
  return 1;
}

// Never destroyed: threads may still ask at the end of the process.
const std::string& build_id() {
  static const std::string& id = *new std::string([] {
    Identity identity{reinterpret_cast<std::uintptr_t>(&build_id_of), ""};
    dl_iterate_phdr(look, &identity);
    return identity.id;
  }());
  return id;
}

// ---- for what

// This processor, without LLVM: what its CPU name, features and tile sizes follow from.
std::string native_text() {
  const Machine machine = detect_machine();
  std::string text = machine.model_name;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  // Family, model, stepping.
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) text += " " + std::to_string(a);
#endif
  for (const std::string& feature : machine.features) text += " " + feature;
  for (const Cache& cache : {machine.l1, machine.l2, machine.l3})
    text += " " + std::to_string(cache.bytes) + "/" + std::to_string(cache.ways);
  return text + " " + std::to_string(machine.cores) + " " + std::to_string(machine.vector_bits);
}

bool is_native(const std::string& target) { return target == "native" || target == "cpu:native"; }

}  // namespace

std::string key_of(const Program& program, const CompileOptions& options) {
  if (build_id().empty() || options.target.rfind("cuda", 0) == 0 || !options.templates.empty())
    return "";
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    // No two requests are one text.
    text += name + " " + std::to_string(value.size()) + "\n" + value + "\n";
  };
  add("build", build_id());
  add("program", program.text());
  for (const auto& [name, size] : options.sizes) add("size " + name, std::to_string(size));
  for (const auto& [name, size] : options.open)
    for (const std::int64_t number : {size.least, size.typical, size.most})
      add("open " + name, std::to_string(number));
  add("scheduler", std::to_string(static_cast<int>(options.scheduler)));
  add("script", options.script);
  for (const auto& [name, value] : options.params) add("param " + name, value);
  add("target", is_native(options.target) ? native_text() : options.target);
  add("threads", std::to_string(options.threads));
  for (const bool flag : {options.strict, options.exact, options.second_judge})
    add("flag", flag ? "1" : "0");
  return runtime::digest_of(runtime::as_bytes(text));
}

bool is_cache_off() {
  const char* said = std::getenv("POLYTE_CACHE");
  return said && std::strcmp(said, "off") == 0;
}

KernelCache::KernelCache(const std::string& folder, std::int64_t most_bytes)
    : folder_(folder), most_bytes_(most_bytes) {
  // The XDG Base Directory Specification: user-specific data that is not essential.
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value && *value ? std::string(value) : std::string();
  };
  if (folder_.empty() && !is_cache_off()) folder_ = set("POLYTE_CACHE");
  // The XDG Base Directory Specification: a relative path is to be ignored.
  if (folder_.empty() && set("XDG_CACHE_HOME").starts_with('/'))
    folder_ = set("XDG_CACHE_HOME") + "/polyte";
  if (folder_.empty() && !set("HOME").empty()) folder_ = set("HOME") + "/.cache/polyte";
  if (folder_.empty())
    throw UserError(
        ExitStatus::Usage,
        "no folder for the cache: expected POLYTE_CACHE, XDG_CACHE_HOME or HOME to be set");
}

std::string KernelCache::path_of(const std::string& key) const {
  return folder_ + "/" + key + kEnding;
}

// A file that is damaged is removed, and the kernel is compiled again; no error of a cache ends a
// compilation.
std::optional<StoredKernel> KernelCache::find(const std::string& key) const {
  const std::string path = path_of(key);
  std::error_code error;
  if (key.empty() || !fs::exists(path, error)) return std::nullopt;
  try {
    StoredKernel kernel = read_kernel(path, key);
    fs::last_write_time(path, fs::file_time_type::clock::now(), error);  // used: it stays
    return kernel;
  } catch (const UserError& e) {  // damaged, gone meanwhile, or there is no memory to read it
    if (e.status() == ExitStatus::Artifact) fs::remove(path, error);
    return std::nullopt;
  }
}

void KernelCache::keep(const std::string& key, const driver::CompiledOperator& op,
                       const KernelTexts& texts) const {
  std::error_code error;
  // Code that others may exchange is not to be run: a folder of ours is its owner's alone.
  if (fs::create_directories(folder_, error)) fs::permissions(folder_, fs::perms::owner_all, error);
  if (error)
    throw UserError(ExitStatus::InvalidInput, folder_ + ": cannot be made: " + error.message());
  write_kernel(path_of(key), op, texts, key);
  evict();
}

namespace {

struct Entry {
  fs::path path;
  std::int64_t bytes;
  fs::file_time_type used;
};

// Other processes may take files away at any time.
std::vector<Entry> entries_of(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, error)) {
    std::error_code gone;
    const auto bytes = file.file_size(gone);
    const auto used = file.last_write_time(gone);
    if (!gone && file.path().extension() == kEnding)
      entries.push_back({file.path(), static_cast<std::int64_t>(bytes), used});
  }
  return entries;
}

}  // namespace

// To three quarters of the limit, so that not every new kernel looks for an old one.
void KernelCache::evict() const {
  std::vector<Entry> entries = entries_of(folder_);
  std::int64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  if (bytes <= most_bytes_) return;
  std::ranges::sort(entries, {}, &Entry::used);
  std::error_code error;
  for (const Entry& entry : entries) {
    if (bytes <= most_bytes_ / 4 * 3) return;
    fs::remove(entry.path, error);
    bytes -= entry.bytes;
  }
}

KernelCache::Contents KernelCache::contents() const {
  Contents contents;
  for (const Entry& entry : entries_of(folder_)) ++contents.kernels, contents.bytes += entry.bytes;
  return contents;
}

KernelCache::Contents KernelCache::clear() const {
  Contents contents;
  std::error_code error;
  for (const Entry& entry : entries_of(folder_)) {
    if (!fs::remove(entry.path, error) || error) continue;
    ++contents.kernels;
    contents.bytes += entry.bytes;
  }
  return contents;
}

}  // namespace polyte::api
