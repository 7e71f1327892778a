#include "tests/codegen/native.h"

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "codegen/cpu/link.h"
#include "ir/arithmetic.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::codegen::testing {
namespace {

// Memory whose last byte is followed by an unreadable page; `aligned` moves the start down
// to a multiple of 64.
class GuardedBytes {
 public:
  GuardedBytes(const std::vector<std::byte>& content, bool aligned) : size_(content.size()) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    mapped_ = (size_ + 2 * page - 1) / page * page + page;
    base_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    POLYTE_CHECK(base_ != MAP_FAILED, "mmap");
    auto* limit = static_cast<std::byte*>(base_) + mapped_ - page;
    ::mprotect(limit, page, PROT_NONE);
    data_ = limit - (aligned ? (size_ + 63) / 64 * 64 : size_);
    std::copy(content.begin(), content.end(), data_);
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { ::munmap(base_, mapped_); }
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_, mapped_ = 0;
  void* base_ = nullptr;
  std::byte* data_ = nullptr;
};

std::vector<std::int64_t> extents(const ir::Buffer& buffer, const ir::Values& sizes) {
  std::vector<std::int64_t> shape;
  for (const ir::Affine& extent : buffer.shape) shape.push_back(ir::evaluate(extent, sizes));
  return shape;
}

}  // namespace

Library::Library(const std::string& bytes) {
  const int fd = memfd_create("kernel", MFD_CLOEXEC);
  POLYTE_CHECK(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
               "write");
  handle_ = ::dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* problem = handle_ == nullptr ? ::dlerror() : nullptr;
  ::close(fd);
  POLYTE_CHECK(problem == nullptr, std::string("dlopen: ") + problem);
}

Library::~Library() { ::dlclose(handle_); }

polyte_kernel Library::kernel(const std::string& name) const {
  void* symbol = ::dlsym(handle_, name.c_str());
  POLYTE_CHECK(symbol != nullptr, "no kernel '" + name + "'");
  return reinterpret_cast<polyte_kernel>(symbol);
}

std::vector<Target> runnable_targets() {
  std::vector<Target> targets = {detect_host(), target_for_cpu("x86-64")};
  const Machine host = targets.front().machine;
  if (host.has("sse4.2")) targets.push_back(target_for_cpu("x86-64-v2"));
  if (host.has("avx2") && host.has("fma") && host.has("f16c"))
    targets.push_back(target_for_cpu("x86-64-v3"));
  if (host.has("avx512bw") && host.has("avx512vl") && host.has("avx512dq")) {
    targets.push_back(target_for_cpu("x86-64-v4"));
  }
  return targets;
}

void run_native(const ir::LoopProgram& program, ir::Environment& buffers,
                const RunOptions& options) {
  Kernel kernel{program, {}};
  if (options.aligned) kernel.aligned.assign(program.buffers.size(), true);
  const ObjectCode object = compile({&kernel, 1}, options.target, options.codegen);
  const Library library(link({&object.bytes, 1}));
  std::vector<std::unique_ptr<GuardedBytes>> memory;
  std::vector<const void*> pointers;
  for (const ir::Buffer& buffer : program.buffers) {
    auto& contents =
        buffers.try_emplace(buffer.name, zeros(buffer.dtype, extents(buffer, options.sizes)))
            .first->second;
    memory.push_back(std::make_unique<GuardedBytes>(contents.bytes, options.aligned));
    pointers.push_back(memory.back()->data());
  }
  std::vector<std::int64_t> sizes;
  for (const std::string& param : program.params) sizes.push_back(options.sizes.at(param));
  pointers.push_back(sizes.data());
  const auto scratch_bytes =
      static_cast<std::size_t>(object.kernels.front().scratch.total_bytes(options.workers));
  const GuardedBytes scratch(std::vector<std::byte>(scratch_bytes, std::byte{0xa5}), true);
  const int code = library.kernel(program.name)(pointers.data(), scratch.data(), options.host);
  POLYTE_CHECK(code == 0, "the kernel returned " + std::to_string(code));
  for (std::size_t i = 0; i < memory.size(); ++i) {
    auto& bytes = buffers.at(program.buffers[i].name).bytes;
    std::copy_n(memory[i]->data(), bytes.size(), bytes.begin());
  }
}

std::string differences(const ir::LoopProgram& program, const ir::Environment& expected,
                        const ir::Environment& got) {
  std::string text;
  int count = 0;
  for (const ir::Buffer& buffer : program.buffers) {
    const ir::Contents& want = expected.at(buffer.name);
    const ir::Contents& have = got.at(buffer.name);
    const auto size = static_cast<std::size_t>(size_in_bytes(want.dtype));
    for (std::size_t at = 0; at < want.bytes.size(); at += size) {
      if (std::memcmp(&want.bytes[at], &have.bytes[at], size) == 0) continue;
      const auto position = static_cast<std::int64_t>(at / size);
      const double a = value_at(want, position), b = value_at(have, position);
      if (is_float(want.dtype) && std::isnan(a) && std::isnan(b)) continue;
      if (++count > 5) return text;
      text += buffer.name + "[" + std::to_string(position) + "]: expected " + std::to_string(a) +
              ", got " + std::to_string(b) + "\n";
    }
  }
  return text;
}

std::string against_interpreter(const ir::LoopProgram& program, const ir::Environment& inputs,
                                const RunOptions& options) {
  const auto problems = verify(program, ir::Form::Flat);
  if (!problems.empty()) return "not in Flat form: " + problems.front();
  ir::Environment expected = inputs, got = inputs;
  ir::interpret(program, expected, {.sizes = options.sizes, .on_event = {}});
  run_native(program, got, options);
  return differences(program, expected, got);
}

std::string against_interpreter(const std::string& text, const ir::Environment& inputs,
                                const RunOptions& options) {
  return against_interpreter(ir::parse_loop_program(text, "test"), inputs, options);
}

void check_everywhere(const std::string& text, const ir::Environment& inputs) {
  for (const codegen::Target& target : runnable_targets()) {
    for (const bool aligned : {false, true}) {
      CAPTURE(target.machine.cpu);
      CAPTURE(aligned);
      CHECK(against_interpreter(text, inputs,
                                {.target = target, .codegen = {}, .aligned = aligned}) == "");
    }
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

ir::Contents zeros(DType type, std::vector<std::int64_t> shape) {
  const auto count = static_cast<std::size_t>(checked_product(shape));
  return {type, std::move(shape),
          std::vector<std::byte>(count * static_cast<std::size_t>(size_in_bytes(type)))};
}

ir::Contents filled(DType type, std::vector<std::int64_t> shape, unsigned seed) {
  ir::Contents contents = zeros(type, std::move(shape));
  std::mt19937 random(seed);
  for (std::size_t at = 0; at < contents.bytes.size();
       at += static_cast<std::size_t>(size_in_bytes(type))) {
    const auto number = static_cast<std::int64_t>(random() % 41) - 20;
    const auto value = is_float(type)
                           ? ir::arithmetic::of_real(static_cast<double>(number) / 4)
                           : ir::arithmetic::of_integer(ir::arithmetic::wrap_to(type, number));
    ir::arithmetic::store(type, &contents.bytes[at], value);
  }
  return contents;
}

ir::Contents of_values(DType type, const std::vector<double>& values) {
  ir::Contents contents = zeros(type, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = ir::arithmetic::cast(type, DType::F64, ir::arithmetic::of_real(values[i]));
    ir::arithmetic::store(type, &contents.bytes[i * static_cast<std::size_t>(size_in_bytes(type))],
                          value);
  }
  return contents;
}

double value_at(const ir::Contents& contents, std::int64_t position) {
  const auto size = static_cast<std::int64_t>(size_in_bytes(contents.dtype));
  const auto value = ir::arithmetic::load(
      contents.dtype, &contents.bytes[static_cast<std::size_t>(position * size)]);
  if (is_float(contents.dtype)) return value.real;
  return contents.dtype == DType::U64
             ? static_cast<double>(static_cast<std::uint64_t>(value.integer))
             : static_cast<double>(value.integer);
}

}  // namespace polyte::codegen::testing
