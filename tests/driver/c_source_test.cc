// Loops as C: what the C compiler makes of them has the bits of the loops' interpreter, for every
// example and kernel of PolyBench, naive and by poly; names and types that C has no room for.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codegen/c/write_c.h"
#include "driver/compile/build_kernel.h"
#include "driver/compile/execution_check.h"
#include "ir/program_text.h"
#include "lower/lower.h"
#include "support/error.h"
#include "tests/runtime/temp_dir.h"

namespace polyte::driver {

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool has_cc() {
  static const bool found = std::system("cc --version > /dev/null 2>&1") == 0;
  if (!found) MESSAGE("skipped: there is no cc");
  return found;
}

Machine machine() {
  Machine result;
  result.cpu = "test";
  result.vector_bits = 256;
  result.vector_registers = 16;
  result.cores = 2;
  return result;
}

KernelOptions options_of(Scheduler scheduler) {
  KernelOptions options;
  options.scheduler = scheduler;
  options.second_judge = false;
  return options;
}

// Sizes of which no two are equal; 1, 2 and 3 for what repeats.
std::shared_ptr<const ir::Program> small(const ir::Program& open, std::int64_t first) {
  ir::Values sizes;
  for (const std::string& param : open.params) sizes[param] = param.starts_with("T") ? 3 : first++;
  return std::make_shared<const ir::Program>(ir::bind(open, sizes));
}

// The C text with a function that takes all buffers as one array.
std::string with_call(std::string text, const ir::LoopProgram& loops) {
  std::string arguments;
  for (std::size_t i = 0; i < loops.buffers.size(); ++i)
    arguments += (i ? ", b[" : "b[") + std::to_string(i) + "]";
  const std::size_t at = text.rfind("\nvoid ") + 6;
  return text + "\nvoid call_with(void** b) { " + text.substr(at, text.find('(', at) - at) + "(" +
         arguments + "); }\n";
}

void run_c(const std::string& text, const ir::LoopProgram& loops, ir::Environment& buffers) {
  const testing::TempDir folder;
  const std::string source = folder.file("k.c"), library = folder.file("k.so");
  std::ofstream(source) << with_call(text, loops);
  const std::string command =
      "cc -std=c99 -O1 -fopenmp -ffp-contract=off -Wall -Wno-unknown-pragmas -Wno-unused -Werror "
      "-shared -fPIC -o " +
      library + " " + source + " -lm";
  REQUIRE_MESSAGE(std::system(command.c_str()) == 0, text);
  // Stays: OpenMP keeps its threads.
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  std::vector<void*> pointers;
  for (const ir::Buffer& buffer : loops.buffers) {
    const auto contents = buffers.try_emplace(
        buffer.name, ir::make_contents(buffer.dtype, ir::constant_shape(buffer)));
    pointers.push_back(contents.first->second.bytes.data());
  }
  reinterpret_cast<void (*)(void**)>(::dlsym(handle, "call_with"))(pointers.data());
}

// Empty where all buffers of the interface have the same bits; a NaN is as good as another.
std::string difference(const ir::LoopProgram& loops, const ir::Environment& expected,
                       const ir::Environment& got) {
  for (const ir::Buffer& buffer : loops.buffers) {
    const ir::Contents &a = expected.at(buffer.name), &b = got.at(buffer.name);
    const auto size = static_cast<std::size_t>(size_in_bytes(a.dtype));
    for (std::size_t at = 0; at < a.bytes.size(); at += size) {
      if (std::memcmp(&a.bytes[at], &b.bytes[at], size) == 0) continue;
      const auto position = static_cast<std::int64_t>(at / size);
      const double x = ir::get_real(a, position), y = ir::get_real(b, position);
      if (std::isnan(x) && std::isnan(y)) continue;
      return buffer.name + "[" + std::to_string(position) + "]: " + std::to_string(x) + ", by C " +
             std::to_string(y);
    }
  }
  return "";
}

void check(const std::shared_ptr<const ir::Program>& program, Scheduler scheduler) {
  INFO(program->name << " by " << to_string(scheduler));
  const BuiltKernel kernel = build_kernel(program, machine(), options_of(scheduler));
  const ir::LoopProgram loops = lower::lower_to_plain_loops(*kernel.state, {.machine = machine()});
  ir::Environment inputs = small_integer_environment(*program, 1);
  if (!kernel.packed.empty()) ir::interpret(kernel.packing, inputs, {});
  ir::Environment expected = inputs, got = inputs;
  ir::interpret(kernel.kernel.program, expected, {});
  std::string text;
  try {
    text = codegen::write_c({&loops, 1});
  } catch (const UserError& error) {
    CHECK(std::string(error.what()).find("which C99 has no type for") != std::string::npos);
    return;
  }
  CAPTURE(text);
  run_c(text, loops, got);
  CHECK(difference(loops, expected, got) == "");
}

void check_folder(const fs::path& folder, std::int64_t first, std::size_t at_least) {
  if (!has_cc()) return;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".program") files.push_back(entry.path());
  std::ranges::sort(files);
  CHECK(files.size() >= at_least);
  for (const fs::path& file : files)
    for (const ir::Program& open : ir::parse_programs(text_of(file), file.string()))
      for (const Scheduler scheduler : {Scheduler::Naive, Scheduler::Poly})
        check(small(open, first), scheduler);
}

// The C of statements over these buffers, in reference order, and its bits.
std::string check_statements(const std::string& name, const std::string& statements) {
  const auto program =
      std::make_shared<const ir::Program>(ir::parse_program("program " + name + "()" + R"(
  in    x: f32[9]
  in    w: f64[9]
  in    p: i8[9]
  in    q: u16[9]
  in    r: i64[9]
  in    u: u64[9]
  in    mask: bool[9]
  inout y: f32[9]
  inout z: f64[9]
  inout i8_: i8[9]
  inout u16_: u16[9]
  inout i64_: i64[9]
  inout u64_: u64[9]
  inout f: bool[9]
)" + statements + "\n",
                                                            "test"));
  check(program, Scheduler::Naive);
  const BuiltKernel kernel = build_kernel(program, machine(), options_of(Scheduler::Naive));
  const ir::LoopProgram loops = lower::lower_to_plain_loops(*kernel.state, {.machine = machine()});
  return codegen::write_c({&loops, 1});
}

}  // namespace

TEST_CASE("the examples as C have the bits of the interpreter") {
  check_folder("examples/programs", 11, 13);
}

TEST_CASE("PolyBench as C has the bits of the interpreter") {
  check_folder("bench/polybench", 17, 30);
}

TEST_CASE("arithmetic as C: floats") {
  if (!has_cc()) return;
  check_statements("floats", R"(
  A: y[i] = (x[i] - (y[i] - 2)) / (x[i] * -0.5 + 3.25) - -x[i]
  B: y[i] min= max(x[i], -0.0) / 0
  C: y[i] += sqrt(abs(x[i])) * floor(x[i] / 3) + round(x[i] / 2) - trunc(x[i] / 3) + ceil(x[i] / 3)
  D: y[i] += exp(x[i] / 8) + tanh(x[i]) + sigmoid(x[i]) * erf(x[i]) + pow(abs(x[i]), 1.5) + sin(x[i]) * cos(x[i])
  E: z[i] = fma(w[i], w[8-i], -1e-300) + inf * w[i] + log(w[i] + 7) + 1e300 + f64(x[i] / 3)
  F: z[i] = select(w[i] < 1 and not(mask[i]), z[i], exp(w[i]) + i * 2) when f[i] or w[i] != 0
  G: y[i] += (x[i-1] else 7) + f32(w[i] / 3) + tf32(x[i] / 3) + f32(i // 2 - i % 3) + x[(i * 5 + 2) % 9])");
}

TEST_CASE("arithmetic as C: integers") {
  if (!has_cc()) return;
  check_statements("integers", R"(
  A: i8_[i] = p[i] * p[8-i] * 31 - (p[i] << p[8-i]) / (p[i] >> 1) % 5 + abs(p[i]) - min(p[i], p[8-i])
  B: u16_[i] = (q[i] - 300) * (q[8-i] + 60000) / (q[i] - 2) + (q[i] << 3) % 7 - (q[i] >> q[8-i])
  C: i64_[i] = r[i] * 9223372036854775807 - -r[8-i] / (r[i] - 1) + (r[i] & 12 | r[8-i] ^ 5) + max(r[i], r[8-i])
  D: u64_[i] = (u[i] - 5) / (u[8-i] + 1) % 1000 + (u[i] - 7 >> 3) * 3 + max(u[i] - 9, 18446744073709551615 - u[i])
  E: i8_[i] += i8(x[i] * 100) + i8(i64_[i]) - i8(w[i] / 0)
  F: u64_[i] += u64(w[i] * 1e18) + u64(p[i]) + u64(mask[i])
  G: f[i] = mask[i] and p[i] < 0 or not(f[i]) != (u[i] <= 3) and bool(x[i])
  H: z[i] += f64(u[i] - 4) + f64(i64_[i]) + f64(f[i]))");
}

TEST_CASE("names that C has for itself") {
  const std::string text = check_statements("main", R"(
  temp double: f32[9]
  temp exp: f32[9]
  temp min_f32: f32[9]
  temp main: f32[9]
  double[int] = x[int]
  exp[for_] = exp(double[for_])
  min_f32[i] = min(exp[i], 3)
  main[i] = min_f32[i]
  y[i] = main[i])");
  CHECK(text.find("void main_(") != std::string::npos);
  CHECK(text.find("float double_[9]") != std::string::npos);
}

TEST_CASE("what C cannot say is reported, all of it") {
  const auto program = std::make_shared<const ir::Program>(
      ir::parse_program("program short(N)\n  in x: f16[3]\n  in b: bf16[3]\n  out y: f32[3]\n"
                        "  y[i] = f32(x[i]) + f32(b[i])\n",
                        "test"));
  const BuiltKernel kernel =
      build_kernel(small(*program, 3), machine(), options_of(Scheduler::Naive));
  const ir::LoopProgram loops = lower::lower_to_plain_loops(*kernel.state, {.machine = machine()});
  try {
    codegen::write_c({&loops, 1});
    FAIL("16-bit floats were written");
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::Unsupported);
    CHECK(std::string(error.what())
              .find("kernel 'short' is no C: 'b' is bf16, which C99 has no type for") == 0);
    CHECK(std::string(error.what()).find("'x' is f16") != std::string::npos);
  }
}

}  // namespace polyte::driver
