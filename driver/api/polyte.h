// Polyte from C++: one operator to machine code in this process, or an ONNX model to an artifact
// file. No exception leaves these functions: every Outcome holds a value or a Failure with
// all problems found.
//
//   auto program = api::parse_notation("C[m,n] = sum[k] A[m,k]*B[k,n]", DType::F32);
//   auto kernel = api::compile(*program, {.sizes = {{"m", 64}, {"n", 64}, {"k", 64}}});
//   if (!kernel) return report(kernel.error().messages);
//   auto done = kernel->run({api::argument<const float>("A", a),
//                            api::argument<const float>("B", b),
//                            api::argument<float>("C", c)}, 2);
//
// A program that only runs artifacts needs none of this: runtime/session.h, or
// runtime/polyte_runtime.h from C.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ir/builder.h"
#include "support/kernel_abi.h"
#include "support/result.h"

namespace polyte::runtime {
class Session;
class ThreadPool;
}  // namespace polyte::runtime

namespace polyte::driver {
struct CompiledOperator;
}

namespace polyte::api {

struct KernelTexts;

// Why a line of a script was not applied (docs/script-text.md).
struct Refusal {
  struct Counterexample {  // the smallest execution that shows the fault
    std::string dependence, reference, scheduled, watch;
    std::map<std::string, std::int64_t> sizes;
  };
  // "illegal": the result would change; "unknown": not decided; "malformed", "stale".
  std::string kind;
  std::string headline, directive;
  int line = 0;  // of the script; 0: not of one line
  std::vector<std::string> advice;
  std::vector<std::pair<std::string, std::string>> details;
  std::vector<Counterexample> counterexamples;
};

// Why nothing came of a call.
struct Failure {
  ExitStatus status = ExitStatus::Internal;  // as the command line would exit
  std::vector<std::string> messages;         // every problem found, one each
  std::optional<Refusal> refusal = {};       // where a script was refused
};
// Test it before use: `*outcome` of a failure is a programming error.
template <class T>
using Outcome = Result<T, Failure>;
struct Done {};  // the value of a call that gives none

// ---- what is computed

// Of a Program's open sizes, by name, in elements.
using Sizes = std::map<std::string, std::int64_t>;

// What is computed. Copies share one immutable ir::Program.
class Program {
 public:
  // Not null, and verified: as parse_program and build_program give it.
  explicit Program(std::shared_ptr<const ir::Program> program) : program_(std::move(program)) {}
  const ir::Program& ir() const { return *program_; }  // lives as long as any copy
  std::string text() const;                            // Program text, which parse_program reads
  // To keep it beyond this object.
  const std::shared_ptr<const ir::Program>& shared() const { return program_; }

 private:
  std::shared_ptr<const ir::Program> program_;
};

// Program text (docs/program-text.md) with one program; `origin` names it in messages.
Outcome<Program> parse_program(std::string_view text, const std::string& origin = "program");
Outcome<Program> parse_notation(std::string_view text, DType dtype);
// `write` receives an empty ir::ProgramBuilder; what it throws, and what does not verify,
// is the failure.
Outcome<Program> build_program(const std::string& name, const std::vector<std::string>& params,
                               const std::function<void(ir::ProgramBuilder&)>& write);

// ---- how it is computed, and the result

// Who writes the schedule: the reference order as it is, isl's order with fixed tiles, Polyte's
// polyhedral scheduler, or manual templates.
enum class Scheduler { Naive, Isl, Poly, Template };

// Which GPU a target "cuda:native" is, and on which a network for a GPU runs: the driver's number,
// and the driver's library, where it is not libcuda.so.1.
struct GpuChoice {
  int device = 0;
  std::string driver{};
};

// Of a size that stays open: the kernel takes least to most, and its schedule is made
// for about `typical`.
struct OpenRange {
  std::int64_t least = 1, typical = 256, most = 65536;
};
inline constexpr std::int64_t kMostOpenSize = std::int64_t{1} << 31;

// How an operator is compiled. Sizes, params and scripts that do not fit are a Failure that
// lists them all.
struct CompileOptions {
  Scheduler scheduler = Scheduler::Poly;
  // Script text (docs/script-text.md): a schedule of your own; empty: the scheduler's.
  std::string script{};
  // Of the script: values for what it leaves open, or in place of its own.
  std::map<std::string, std::string> params{};
  // A folder of your own for Scheduler::Template (docs/templates.md); empty: ours.
  std::string templates{};
  Sizes sizes{};  // of the Program, each given here
  // Or left to the calls: one kernel for the whole range. Not for a GPU.
  std::map<std::string, OpenRange> open{};
  std::string target = "native";  // or as --target names one; the kernel runs in this process
  GpuChoice gpu{};
  int threads = 0;           // that schedules are made for; 0: as many as processors
  bool strict = false;       // what was not done as asked is a failure
  bool exact = false;        // refuse schedules that change the order of floating-point operations
  bool second_judge = true;  // what is proved is executed at small sizes too (docs/second-judge.md)
  // Of a GPU: with code that emulates its threads here, which is what executions then run.
  bool emulated = false;
  // A folder where compiled kernels are kept between processes, or kDefaultCache; empty: none. Not
  // for a GPU, nor with `templates`.
  std::string cache{};
};
// $POLYTE_CACHE, where it is set ("off": no cache), else $XDG_CACHE_HOME/polyte,
// else ~/.cache/polyte.
inline constexpr const char* kDefaultCache = "default";

// Memory of the caller for one tensor, row-major unless strides say otherwise. T may be const for
// tensors that are only read.
// Where sizes are open, shapes say what they are; without one, and of several dimensions, only the
// number of elements is compared.
struct Argument {
  std::string name;
  DType dtype = DType::F32;
  void* data = nullptr;
  std::size_t elements = 0;
  bool writable = true;
  std::vector<std::int64_t> shape{};  // extents in elements, outermost first; empty: not said
  // In elements, outermost first, of memory that is not dense: transposed, reversed, a part of a
  // larger array. `data` is then where the element with the subscripts 0 is. Each run copies the
  // elements first and, where they are written, back. Whether such memory overlaps other tensors
  // is not checked.
  std::vector<std::int64_t> strides{};
};

// The element type of C++'s T; does not compile for a T that has none.
template <class T>
constexpr DType dtype_of() {
  using E = std::remove_const_t<T>;
  if constexpr (std::is_same_v<E, double>) return DType::F64;
  if constexpr (std::is_same_v<E, float>) return DType::F32;
  if constexpr (std::is_same_v<E, bool>) return DType::Bool;
  if constexpr (std::is_integral_v<E>) {
    constexpr DType kSigned[] = {DType::I8, DType::I16, DType::I32, DType::I64};
    constexpr DType kUnsigned[] = {DType::U8, DType::U16, DType::U32, DType::U64};
    constexpr int kAt = sizeof(E) == 1 ? 0 : sizeof(E) == 2 ? 1 : sizeof(E) == 4 ? 2 : 3;
    return std::is_signed_v<E> ? kSigned[kAt] : kUnsigned[kAt];
  }
}

// f16, bf16: uint16 and dtype.
template <class T>
Argument argument(std::string name, std::span<T> data, DType dtype = dtype_of<T>()) {
  void* bytes = const_cast<std::remove_const_t<T>*>(data.data());
  return {std::move(name), dtype, bytes, data.size(), !std::is_const_v<T>};
}

// The same with its extents, for a kernel with open sizes: they say the sizes.
template <class T>
Argument argument(std::string name, std::span<T> data, std::vector<std::int64_t> shape,
                  DType dtype = dtype_of<T>()) {
  Argument made = argument(std::move(name), data, dtype);
  made.shape = std::move(shape);
  return made;
}

// A size that a kernel leaves open, and what it may be.
struct SizeInfo {
  std::string name;
  std::int64_t least = 0, most = 0;
};

// Stands in TensorInfo::shape for an extent that depends on an open size.
inline constexpr std::int64_t kOpenExtent = -1;

// A tensor of a kernel's interface: dense, row-major.
struct TensorInfo {
  std::string name;
  ir::Role role = ir::Role::In;
  DType dtype = DType::F32;
  // Extents in elements, outermost first; kOpenExtent where open sizes decide.
  std::vector<std::int64_t> shape;
  std::vector<std::string> extents;  // the same over the open sizes: "M", "64"
};

// Who runs the iterations of a kernel's parallel loops. Executions that are given one object
// share its threads.
class Workers {
 public:
  Workers(int threads = 1);  // NOLINT: implicit by design, prepare(arguments, 2)
  // The caller's own threads (support/kernel_abi.h): `workers` and `parallel_for`. It must
  // outlive the executions.
  explicit Workers(const polyte_host& host);
  int threads() const { return threads_; }

 private:
  friend class Kernel;
  int threads_ = 1;
  const polyte_host* host_ = nullptr;
  std::shared_ptr<runtime::ThreadPool> pool_;
};

// A kernel bound to arguments and threads. The memory must outlive it; Const tensors are packed
// when it is made, so their contents must be there by then. `run` is for one thread at a time
// and allocates nothing.
class Execution {
 public:
  Outcome<Done> run() noexcept;  // on the arguments that it was made with
  // On other memory of the same sizes: an address for each of Kernel::tensors(), in that order.
  // Null, misaligned and overlapping ones are refused as by `prepare`. Const tensors stay
  // as they were packed.
  Outcome<Done> run_on(std::span<void* const> data) noexcept;
  // The same at these values of the open sizes, one for each of Kernel::sizes(), in that order;
  // they stay for the next run. Memory is taken as large as they say. Allocates nothing where they
  // are those of the run before.
  Outcome<Done> run_on(std::span<void* const> data, std::span<const std::int64_t> sizes) noexcept;
  // For run_on, from now on: memory of that one of Kernel::tensors(), no Const one, has these
  // strides (Argument::strides); none: it is dense.
  Outcome<Done> set_strides(std::size_t tensor, std::span<const std::int64_t> strides) noexcept;

 private:
  friend class Kernel;
  Execution() = default;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Who scheduled a kernel: what was asked ("poly", "script"), whose schedule it has, and where
// these differ why, and of what. Then it runs in reference order ("naive"); with `strict` that
// is a failure.
struct Declined {
  std::string reason, where;
};
// As said above; `declined` where `used` is not what was asked.
struct Scheduling {
  std::string asked, used;
  std::optional<Declined> declined{};
};

// A compiled operator. Copies share the code; any number of threads may use one.
class Kernel {
 public:
  // The interface, in the Program's order.
  const std::vector<TensorInfo>& tensors() const;
  // Left open, in the Program's order; none where all are bound.
  const std::vector<SizeInfo>& sizes() const;
  // Declines, fallbacks, what is not as asked.
  const std::vector<std::string>& notes() const;
  Scheduling scheduling() const;   // whose schedule it has, and why it was declined if it was
  std::string script() const;      // the schedule; give it back as CompileOptions::script
  std::string directives() const;  // the same, one step per line, with who chose it
  std::string loops() const;       // the loops that it led to

  // What the shapes of some tensors, by name, say of the open sizes, and the caller of what none of
  // them says: one value for each of sizes(). All shapes that do not fit are listed.
  Outcome<std::vector<std::int64_t>> sizes_by(
      const std::map<std::string, std::vector<std::int64_t>>& shapes,
      const Sizes& given = {}) const;
  // Of all tensors, in order, at these values of sizes().
  Outcome<std::vector<std::vector<std::int64_t>>> shapes_at(
      std::span<const std::int64_t> sizes) const;

  // Arguments by name, in any order. All that are missing, unknown, or of a wrong type or size are
  // listed. `sizes`: open ones that no shape says. The first one maps the kernel's code, which
  // stays as long as the kernel or an execution.
  Outcome<Execution> prepare(const std::vector<Argument>& arguments, const Workers& workers = {},
                             const Sizes& sizes = {}) const;
  // For run_on alone: the Const tensors, by name in any order.
  Outcome<Execution> prepare_calls(const std::vector<Argument>& constants,
                                   const Workers& workers = {}) const;
  Outcome<Done> run(const std::vector<Argument>& arguments, const Workers& workers = {},
                    const Sizes& sizes = {}) const;  // prepare, then once

  // Of a kernel for a GPU: a session of that GPU (CompileOptions::gpu), on tensors in its memory
  // or in this processor's, in any streams (runtime/session.h). The Const tensors by name, in this
  // processor's memory; they are packed now. A tensor that is updated in place is an input and an
  // output of its name. Usage where the kernel is a processor's.
  Outcome<std::shared_ptr<const runtime::Session>> open_session(
      const std::vector<Argument>& constants = {}) const;

  // As a file that runs without the compiler's work: machine code, so load what you trust. Not
  // for a GPU's.
  Outcome<Done> save(const std::string& path) const;
  // Artifact where it is damaged or no such file.
  static Outcome<Kernel> load(const std::string& path);

 private:
  friend Outcome<Kernel> compile(const Program& program, const CompileOptions& options);
  Kernel() = default;
  static Kernel made(driver::CompiledOperator op, std::optional<KernelTexts> texts);
  Execution bind(const std::vector<Argument>& arguments, const Workers& workers,
                 std::vector<TensorInfo> tensors) const;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Every size of the Program has to be given, or named as open. From any thread.
Outcome<Kernel> compile(const Program& program, const CompileOptions& options = {});

// ---- a schedule by itself

// A script that was proved.
struct CheckedScript {
  std::string script;              // as it prints
  std::string nest;                // the loops that it leads to, in one line
  std::vector<std::string> notes;  // what a line did not do although it says so
  // What changes in the order of floating-point operations; empty: nothing.
  std::vector<std::string> rounding;
};

// Whether `options.script` is legal for the Program. Sizes that are not given stay open: it is
// proved for all of them. A refused script is a Failure with a Refusal.
Outcome<CheckedScript> check(const Program& program, const CompileOptions& options);
// The script that `options.scheduler` writes, proved; Failure where it declines.
Outcome<CheckedScript> write_script(const Program& program, const CompileOptions& options);
// The words with which lines of a script begin, by family: param, where, let, split ..
std::vector<std::string> directive_words();

// ---- a network

// Of a size that a model names and nothing binds: an artifact takes least to most, and is made
// for about `typical`.
struct OpenSize {
  std::int64_t least = 1, typical = 16, most = 65536;
};

// How a network is compiled; what is not said again is as in CompileOptions.
struct ModelOptions {
  Scheduler scheduler = Scheduler::Poly;
  std::map<std::string, Scheduler> groups{};  // another scheduler for one group
  // Script texts, for the groups that their headers name.
  std::vector<std::string> scripts{};
  std::string templates{};  // a folder of your own for Scheduler::Template
  // Binds inputs of symbolic shape, or one symbol: {4}.
  std::map<std::string, std::vector<std::int64_t>> shapes{};
  std::map<std::string, OpenSize> open{};  // of symbols that stay open, where not as by default
  std::string target = "native";
  GpuChoice gpu{};
  bool strict = false;
  bool exact = false;
  bool optimize = true;  // false: neither graph passes nor fusion
};

struct GroupInfo {  // of the fused operators that became one kernel
  std::string name, program, script, loops;
  Scheduling scheduling{};
};

// What a compiled network consists of.
struct ModelReport {
  std::vector<GroupInfo> groups;   // in execution order; those without a kernel are left out
  std::vector<std::string> notes;  // declines, fallbacks, what is not as asked
};

// Compiles an ONNX file and writes the artifact. With an empty `artifact` nothing is written.
Outcome<ModelReport> compile_model(const std::string& onnx, const std::string& artifact,
                                   const ModelOptions& options = {});

// An input of a network: memory of the caller, row-major, used until run() returns.
struct NetworkTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
  std::size_t elements = 0;
};

// The input of that name; the type of T unless `dtype` says otherwise (f16, bf16: uint16).
template <class T>
NetworkTensor tensor(std::string name, std::vector<std::int64_t> shape, std::span<T> data,
                     DType dtype = dtype_of<T>()) {
  return {std::move(name), dtype, std::move(shape), data.data(), data.size()};
}

// An output of a network, which owns its elements: row-major, in this machine's byte order.
struct NetworkOutput {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

// A network that is run where it is compiled. Dimensions that the file leaves open, and inputs
// whose values decide shapes, are settled by what it is run on: the first run of a kind compiles,
// later ones find it compiled.
//
//   auto network = api::Network::open("detector.onnx", {.scheduler = api::Scheduler::Template}, 2);
//   auto outputs = network->run({api::tensor<const float>("image", {1, 3, 480, 640}, pixels)});
class Network {
 public:
  // Reads nothing yet. `threads` 0: as many as processors. Shapes of `options` are bound for good.
  static Outcome<Network> open(const std::string& onnx, const ModelOptions& options = {},
                               int threads = 0);
  // From any number of threads. What is missing, unknown or does not fit is listed.
  Outcome<std::vector<NetworkOutput>> run(const std::vector<NetworkTensor>& inputs) const;
  int compilations() const;                // how often a run had to compile
  std::vector<std::string> notes() const;  // of the last time

 private:
  Network() = default;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace polyte::api
