#include "codegen/c/write_header.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "codegen/c/c_helpers.h"
#include "codegen/c/c_names.h"
#include "support/checked.h"

namespace polyte::codegen {
namespace {

// What several headers have in common; the guard is theirs together.
constexpr const char* kCommon = R"(#ifndef POLYTE_AHEAD_OF_TIME
#define POLYTE_AHEAD_OF_TIME

// What a call returns; 0: done.
// After the first one results are undefined; after the others nothing was done.
#define POLYTE_OUT_OF_BOUNDS 1 // a subscript among the data is outside its dimension
#define POLYTE_BAD_POINTER 2   // null, or not aligned as its comment asks
#define POLYTE_OVERLAP 3       // what is written shares bytes with another argument
#define POLYTE_BAD_THREADS 4   // no workers, or no parallel_for

static inline const char* polyte_error(int code) {
  switch (code) {
    case 0: return "done";
    case POLYTE_OUT_OF_BOUNDS: return "a subscript among the data is outside its dimension";
    case POLYTE_BAD_POINTER: return "a pointer is null or not aligned";
    case POLYTE_OVERLAP: return "what is written shares bytes with another argument";
    case POLYTE_BAD_THREADS: return "threads: expected at least one worker, and parallel_for";
    default: return "not a code of a kernel";
  }
}

// Part of a parallel loop: iterations [begin, end), by worker 0 <= worker < workers; no two at a
// time by one worker.
typedef void (*polyte_body)(void* context, int64_t begin, int64_t end, int64_t worker);

// Who runs parallel loops. parallel_for calls `body`, at will from several threads, so that each
// iteration of [begin, end) is run once, and returns when all are done. No `threads` (null): the
// calling thread runs them all.
typedef struct polyte_threads {
  uint32_t workers;
  void* self; // handed back to parallel_for
  void (*parallel_for)(void* self, polyte_body body, void* context, int64_t begin, int64_t end);
} polyte_threads;

#ifdef _OPENMP
static inline void polyte_openmp_for(void* self, polyte_body body, void* context, int64_t begin,
                                     int64_t end) {
  const int64_t workers = (int64_t)(intptr_t)self, count = end - begin;
  int64_t worker;
#pragma omp parallel for num_threads((int)workers) schedule(static, 1)
  for (worker = 0; worker < workers; ++worker) {
    const int64_t first = begin + count * worker / workers;
    const int64_t last = begin + count * (worker + 1) / workers;
    if (first < last) body(context, first, last, worker);
  }
}

// Workers by OpenMP.
static inline polyte_threads polyte_openmp(uint32_t workers) {
  polyte_threads threads;
  threads.workers = workers;
  threads.self = (void*)(intptr_t)workers;
  threads.parallel_for = polyte_openmp_for;
  return threads;
}
#endif

// As the kernels are given it.
typedef struct polyte_call_host {
  uint32_t size, workers;
  void* self;
  void (*parallel_for)(void* self, polyte_body body, void* context, int64_t begin, int64_t end);
  void* unused[2];
} polyte_call_host;

typedef struct polyte_argument {
  const void* data;
  int64_t bytes; // 0: not looked at
  int64_t alignment;
  int written;
} polyte_argument;

static inline int polyte_check(const polyte_argument* arguments, int count) {
  int i, j;
  for (i = 0; i < count; ++i) {
    const uintptr_t at = (uintptr_t)arguments[i].data;
    if (arguments[i].bytes > 0 && (at == 0 || at % (uintptr_t)arguments[i].alignment != 0))
      return POLYTE_BAD_POINTER;
  }
  for (i = 1; i < count; ++i) {
    for (j = 0; j < i; ++j) {
      const uintptr_t one = (uintptr_t)arguments[i].data, other = (uintptr_t)arguments[j].data;
      if (!arguments[i].written && !arguments[j].written) continue;
      if (arguments[i].bytes == 0 || arguments[j].bytes == 0) continue;
      if (one < other + (uintptr_t)arguments[j].bytes &&
          other < one + (uintptr_t)arguments[i].bytes)
        return POLYTE_OVERLAP;
    }
  }
  return 0;
}

static inline int polyte_host_of(const polyte_threads* threads, polyte_call_host* host) {
  host->size = (uint32_t)sizeof *host;
  host->workers = 1;
  host->self = 0;
  host->parallel_for = 0;
  host->unused[0] = host->unused[1] = 0;
  if (!threads) return 0;
  if (threads->workers == 0 || !threads->parallel_for) return POLYTE_BAD_THREADS;
  host->workers = threads->workers;
  host->self = threads->self;
  host->parallel_for = threads->parallel_for;
  return 0;
}

#endif // POLYTE_AHEAD_OF_TIME
)";

// Features of which gcc and clang can ask the processor, each with the name that both have
// had for years.
constexpr std::array<std::string_view, 24> kAskable{
    "popcnt",     "sse",         "sse2",       "sse3",       "ssse3",        "sse4.1",
    "sse4.2",     "avx",         "avx2",       "fma",        "bmi",          "bmi2",
    "avx512f",    "avx512cd",    "avx512bw",   "avx512dq",   "avx512vl",     "avx512ifma",
    "avx512vbmi", "avx512vbmi2", "avx512vnni", "avx512bf16", "avx512bitalg", "avx512vpopcntdq"};

std::int64_t elements_of(const CArgument& argument) { return checked_product(argument.shape); }
std::int64_t bytes_of(const CArgument& argument) {
  return checked_mul(elements_of(argument), size_in_bytes(argument.dtype));
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// "A  f32[100, 64], element (i0, i1) at 64*i0 + i1; at a multiple of 4 bytes".
std::string description(const CArgument& argument, const std::string& name) {
  std::string shape, indices, place;
  // Row-major strides: from the number of all elements, divided by one extent after the other.
  std::int64_t stride = elements_of(argument);
  for (std::size_t i = 0; i < argument.shape.size(); ++i) {
    const std::string index = "i" + std::to_string(i);
    stride = argument.shape[i] > 0 ? stride / argument.shape[i] : 0;
    shape += (i ? ", " : "") + std::to_string(argument.shape[i]);
    indices += (i ? ", " : "") + index;
    place += (i ? " + " : "") + (stride == 1 ? "" : std::to_string(stride) + "*") + index;
  }
  std::string text = name + "  " + std::string(to_string(argument.dtype)) + "[" + shape + "], ";
  if (!argument.shape.empty()) text += "element (" + indices + ") at " + place + "; ";
  text += std::to_string(bytes_of(argument)) + " bytes, at a multiple of " +
          std::to_string(argument.alignment);
  if (argument.dtype == DType::F16 || argument.dtype == DType::BF16)
    text += "; the bits of each element";
  if (argument.dtype == DType::Bool) text += "; 0 or 1";
  return text + (argument.is_written ? "; written" : "");
}

class HeaderWriter {
 public:
  explicit HeaderWriter(const CKernel& kernel)
      : kernel_(kernel), symbols_(c_names_of(kernel.name)) {
    for (const CArgument& argument : kernel.arguments) names_.of(argument.name);
    for (const CArgument& argument : kernel.packing) names_.of(argument.name);
    workspace_ = names_.function("workspace");
    threads_ = names_.function("threads");
  }

  std::string run() {
    const std::string guard = "POLYTE_" + symbols_.prefix + "_H";
    for (const std::string& line : kernel_.about)
      put(line.find_first_not_of(' ') == std::string::npos ? "//" : "// " + line);
    put("#ifndef " + guard + "\n#define " + guard + "\n");
    put("#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    text_ += kCommon;
    put("");
    if (!kernel_.needs.empty()) processor();
    sizes();
    if (!kernel_.packing.empty()) packing();
    call();
    put("\n#ifdef __cplusplus\n}\n#endif\n\n#endif  // " + guard);
    return text_;
  }

 private:
  const CKernel& kernel_;
  const CNamesOfKernel symbols_;
  CNames names_;
  std::string workspace_, threads_, text_;

  void put(const std::string& line) { text_ += line + "\n"; }

  void processor() {
    std::vector<std::string> asked;
    for (const std::string& need : kernel_.needs)
      if (std::ranges::find(kAskable, need) != kAskable.end())
        asked.push_back("__builtin_cpu_supports(\"" + need + "\")");
    put("// Whether this processor has what the object needs, as far as compilers "
        "can ask. Of the object only: C text\n// is for the processor that it is compiled for.");
    put("static inline int " + symbols_.call + "_runs_here(void) {");
    put("#if defined(__x86_64__) && defined(__GNUC__)");
    put("  __builtin_cpu_init();");
    put("  return " + (asked.empty() ? "1" : joined(asked, " &&\n         ")) + ";");
    put("#else\n  return 0;\n#endif\n}\n");
  }

  void sizes() {
    put("// Bytes of the arguments.");
    for (const CArgument& argument : kernel_.arguments)
      if (argument.is_passed) size_of(argument);
    for (const CArgument& argument : kernel_.packing)
      if (!is_argument(argument.name)) size_of(argument);
    put("// Bytes of the workspace, at a multiple of 64; 0: it may be null. Calls at the same time "
        "need one each.");
    put("#define " + symbols_.prefix + "_WORKSPACE(workers) ((size_t)" +
        std::to_string(kernel_.shared_bytes) + " + (size_t)(workers) * (size_t)" +
        std::to_string(kernel_.bytes_per_worker) + ")\n");
  }

  void size_of(const CArgument& argument) {
    put("#define " + symbols_.prefix + "_BYTES_" + names_.of(argument.name) + " ((size_t)" +
        std::to_string(bytes_of(argument)) + ")");
  }

  bool is_argument(const std::string& name) const {
    return std::ranges::any_of(
        kernel_.arguments, [&](const CArgument& one) { return one.name == name && one.is_passed; });
  }

  std::vector<std::string> parameters(const std::vector<CArgument>& arguments) {
    std::vector<std::string> result;
    for (const CArgument& argument : arguments)
      if (argument.is_passed)
        result.push_back((argument.is_written ? "" : "const ") + c_type(argument.dtype) + "* " +
                         names_.of(argument.name));
    return result;
  }

  void describe(const std::vector<CArgument>& arguments) {
    for (const CArgument& argument : arguments)
      if (argument.is_passed) put("//   " + description(argument, names_.of(argument.name)));
  }

  // The table for polyte_check, and the one for the kernel. `more`: an argument that only the
  // table has.
  void tables(const std::vector<CArgument>& arguments, const std::string& more) {
    std::vector<std::string> checks, buffers;
    for (const CArgument& argument : arguments) {
      const std::string name = argument.is_passed ? names_.of(argument.name) : "0";
      buffers.push_back(name);
      if (argument.is_passed)
        checks.push_back("{" + name + ", " + std::to_string(bytes_of(argument)) + ", " +
                         std::to_string(argument.alignment) + ", " +
                         (argument.is_written ? "1" : "0") + "}");
    }
    if (!more.empty()) checks.push_back(more);
    put("  const void* const polyte_buffers[] = {" + joined(buffers, ", ") + "};");
    put("  const polyte_argument polyte_arguments[] = {\n      " + joined(checks, ",\n      ") +
        "};  // bytes, alignment, written");
    put("  const int polyte_code = polyte_check(polyte_arguments, " +
        std::to_string(checks.size()) + ");");
    put("  if (polyte_code != 0) return polyte_code;");
  }

  void declare(const std::string& symbol) {
    put("int " + symbol + "(const void* const* buffers, void* workspace, const void* host);");
  }

  void packing() {
    put("// Lays constants out as " + symbols_.call +
        " reads them: once, where they do not change.");
    describe(kernel_.packing);
    declare(symbols_.pack_kernel);
    put("static inline int " + symbols_.pack + "(" + joined(parameters(kernel_.packing), ", ") +
        ") {");
    put("  polyte_call_host polyte_host_;");
    tables(kernel_.packing, "");
    put("  polyte_host_of(0, &polyte_host_);");
    put("  return " + symbols_.pack_kernel + "(polyte_buffers, 0, &polyte_host_);\n}\n");
  }

  void call() {
    put("// Any number of threads may call it at once, each with its own results and workspace.");
    describe(kernel_.arguments);
    put(kernel_.is_parallel
            ? "// It has parallel loops: `threads` says who runs them."
            : "// It has no parallel loop: one thread does it all, whoever `threads` are.");
    declare(symbols_.kernel);
    std::vector<std::string> list = parameters(kernel_.arguments);
    list.push_back("void* " + workspace_);
    // Workspace and threads come last, behind the arguments in the Program's order.
    list.push_back("const polyte_threads* " + threads_);
    put("static inline int " + symbols_.call + "(" + joined(list, ", ") + ") {");
    put("  polyte_call_host polyte_host_;");
    put("  const int polyte_bad_threads = polyte_host_of(" + threads_ + ", &polyte_host_);");
    tables(kernel_.arguments, "{" + workspace_ + ", " + "(int64_t)" + symbols_.prefix +
                                  "_WORKSPACE(polyte_host_.workers), 64, 1}");
    put("  if (polyte_bad_threads != 0) return polyte_bad_threads;");
    put("  return " + symbols_.kernel + "(polyte_buffers, " + workspace_ + ", &polyte_host_);\n}");
  }
};

// A buffer as the parameter of write_c's function has it: an array of rows.
std::string row_pointer(const CArgument& argument, std::size_t place, bool flat) {
  std::string rows;
  for (std::size_t i = 1; i < argument.shape.size() && !flat; ++i)
    rows += "[" + std::to_string(std::max<std::int64_t>(argument.shape[i], 1)) + "]";
  const std::string type = (argument.is_written ? "" : "const ") + c_type(argument.dtype);
  return "(" + type + (rows.empty() ? "*" : " (*)" + rows) + ")" +
         (argument.is_written ? "(uintptr_t)" : "") + "buffers[" + std::to_string(place) + "]";
}

// The function that the header declares, around that of write_c: it takes the table of pointers
// apart.
std::string entry(const std::string& symbol, const std::string& function,
                  const std::vector<CArgument>& arguments, bool flat) {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    list.push_back(row_pointer(arguments[i], i, flat));
  return "\nint " + symbol +
         "(const void* const* buffers, void* workspace, const void* host) {\n  (void)workspace;\n" +
         "  (void)host;\n  " + function + "(" + joined(list, ", ") + ");\n  return 0;\n}\n";
}

}  // namespace

CNamesOfKernel c_names_of(const std::string& program) {
  CNamesOfKernel names;
  names.call = CNames().function(program);
  names.pack = CNames().function(program + "_pack");
  names.kernel = names.call + "_kernel";
  names.pack_kernel = names.call + "_pack_kernel";
  std::ranges::transform(names.call, std::back_inserter(names.prefix),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return names;
}

std::string write_c_header(const CKernel& kernel) { return HeaderWriter(kernel).run(); }

std::string write_c_entries(const CKernel& kernel) {
  const CNamesOfKernel names = c_names_of(kernel.name);
  std::string text =
      "\n// What the header calls. The threads are OpenMP's, the workspace is not needed.\n";
  text +=
      "int " + names.kernel + "(const void* const* buffers, void* workspace, const void* host);";
  text += entry(names.kernel, names.call, kernel.arguments, false);
  if (kernel.packing.empty()) return text;
  text += "\nint " + names.pack_kernel +
          "(const void* const* buffers, void* workspace, const void* host);";
  return text + entry(names.pack_kernel, names.pack, kernel.packing, true);
}

}  // namespace polyte::codegen
