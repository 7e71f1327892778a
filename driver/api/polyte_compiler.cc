#include "driver/api/polyte_compiler.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "driver/api/polyte.h"

// Handles of the C interface: each owns a C++ object, and the texts that its functions hand out
// as pointers, which live as long as the handle.
struct polyte_program {
  polyte::api::Program program;
  std::string text;
};
struct polyte_options {
  polyte::api::CompileOptions options;
};
struct polyte_kernel_object {
  polyte::api::Kernel kernel;
  std::array<std::string, 5> texts;
};
struct polyte_execution {
  polyte::api::Execution execution;
};
struct polyte_failure {
  int status;
  std::string text;
};

namespace {

using namespace polyte;
using api::Failure;
using api::Outcome;

// Without memory for the text the status has to do.
// No exception may leave a function of the C interface, here not even for lack of memory.
int report(const Failure& failure, polyte_failure** into) noexcept {
  const int status = static_cast<int>(failure.status);
  if (!into) return status;
  try {
    std::string text;
    for (const std::string& message : failure.messages)
      text += (text.empty() ? "" : "\n") + message;
    *into = new polyte_failure{status, std::move(text)};
  } catch (...) {
    *into = nullptr;
  }
  return status;
}

int usage(const std::string& text, polyte_failure** into) {
  return report({ExitStatus::Usage, {text}}, into);
}

// Hands a value out; nothing but memory can lack here.
template <class Handle, class... Parts>
int give(Handle** into, polyte_failure** failure, Parts&&... parts) noexcept {
  if (failure) *failure = nullptr;
  try {
    *into = new Handle{std::forward<Parts>(parts)...};
    return 0;
  } catch (...) {
    return report({ExitStatus::ResourceLimit, {"out of memory"}}, failure);
  }
}

// ---- Programs

int give_program(const Outcome<api::Program>& made, polyte_program** program,
                 polyte_failure** failure) {
  if (!made) return report(made.error(), failure);
  return give(program, failure, *made, made->text());
}

int program_from_text(const char* text, const char* origin, polyte_program** program,
                      polyte_failure** failure) {
  if (!text || !program) return usage("text or program is null", failure);
  return give_program(api::parse_program(text, origin ? origin : "program"), program, failure);
}

int program_from_notation(const char* notation, const char* dtype, polyte_program** program,
                          polyte_failure** failure) {
  if (!notation || !dtype || !program) return usage("notation, dtype or program is null", failure);
  const auto type = dtype_from_string(dtype);
  if (!type)
    return usage("dtype '" + std::string(dtype) +
                     "': expected f64, f32, f16, bf16, i8 .. i64, u8 .. u64, bool",
                 failure);
  return give_program(api::parse_notation(notation, *type), program, failure);
}

const char* program_text(const polyte_program* program) {
  return program ? program->text.c_str() : nullptr;
}
void program_free(polyte_program* program) { delete program; }

// ---- options

polyte_options* options_new() {
  try {
    return new polyte_options();
  } catch (...) {
    return nullptr;
  }
}
void options_free(polyte_options* options) { delete options; }

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && at == text.data() + text.size() ? std::optional(value)
                                                                 : std::nullopt;
}

std::optional<api::Scheduler> scheduler_of(const std::string& text) {
  if (text == "naive") return api::Scheduler::Naive;
  if (text == "isl") return api::Scheduler::Isl;
  if (text == "poly") return api::Scheduler::Poly;
  if (text == "template") return api::Scheduler::Template;
  return std::nullopt;
}

// "1..256..65536"; nothing: as by default.
std::optional<api::OpenRange> range_of(const std::string& text) {
  if (text.empty()) return api::OpenRange{};
  const std::size_t first = text.find(".."),
                    second = first == std::string::npos ? first : text.find("..", first + 2);
  if (second == std::string::npos) return std::nullopt;
  const auto least = number_of(text.substr(0, first)),
             typical = number_of(text.substr(first + 2, second - first - 2)),
             most = number_of(text.substr(second + 2));
  return least && typical && most ? std::optional(api::OpenRange{*least, *typical, *most})
                                  : std::nullopt;
}

// What was expected; "" where the option is set.
// Options are pairs of names and texts, so that a new one changes no structure of the interface.
std::string set_option(api::CompileOptions& options, const std::string& name,
                       const std::string& text) {
  if (name == "script") return options.script = text, "";
  if (name == "target") return options.target = text, "";
  if (name == "templates") return options.templates = text, "";
  if (name == "cache") return options.cache = text, "";
  if (name.rfind("param.", 0) == 0) return options.params[name.substr(6)] = text, "";
  const std::optional<std::int64_t> number = number_of(text);
  if (name.rfind("size.", 0) == 0)
    return number ? (options.sizes[name.substr(5)] = *number, "") : "a number";
  if (name.rfind("open.", 0) == 0) {
    const auto range = range_of(text);
    return range ? (options.open[name.substr(5)] = *range, "")
                 : "nothing, or least..typical..most: 1..256..65536";
  }
  if (name == "threads") {
    if (!number || *number < 0 || *number > 1024) return "a number from 0 to 1024";
    return options.threads = static_cast<int>(*number), "";
  }
  if (name == "scheduler") {
    const auto scheduler = scheduler_of(text);
    return scheduler ? (options.scheduler = *scheduler, "") : "naive, isl, poly or template";
  }
  for (auto [known, flag] : {std::pair{"strict", &options.strict},
                             {"exact", &options.exact},
                             {"second_judge", &options.second_judge}})
    if (name == known) return number == 0 || number == 1 ? (*flag = *number == 1, "") : "0 or 1";
  return "another name: scheduler, script, param.NAME, size.NAME, open.NAME, target, threads, "
         "templates, cache, "
         "strict, exact or "
         "second_judge";
}

int options_set(polyte_options* options, const char* name, const char* text,
                polyte_failure** failure) {
  if (!options || !name || !text) return usage("options, name or text is null", failure);
  try {
    if (failure) *failure = nullptr;
    const std::string expected = set_option(options->options, name, text);
    if (expected.empty()) return 0;
    return usage("option '" + std::string(name) + "' = '" + text + "': expected " + expected,
                 failure);
  } catch (...) {
    return report({ExitStatus::ResourceLimit, {"out of memory"}}, failure);
  }
}

// ---- kernels

int give_kernel(const Outcome<api::Kernel>& made, polyte_kernel_object** kernel,
                polyte_failure** failure) {
  if (!made) return report(made.error(), failure);
  if (failure) *failure = nullptr;
  try {
    const api::Scheduling how = made->scheduling();
    const std::string why = how.declined ? how.declined->where + ": " + how.declined->reason : "";
    *kernel = new polyte_kernel_object{
        *made, {made->script(), made->directives(), made->loops(), how.used, why}};
    return 0;
  } catch (const std::exception& e) {
    return report({ExitStatus::Internal, {std::string("internal error: ") + e.what()}}, failure);
  }
}

int compile(const polyte_program* program, const polyte_options* options,
            polyte_kernel_object** kernel, polyte_failure** failure) {
  if (!program || !kernel) return usage("program or kernel is null", failure);
  return give_kernel(
      api::compile(program->program, options ? options->options : api::CompileOptions{}), kernel,
      failure);
}

int kernel_save(const polyte_kernel_object* kernel, const char* path, polyte_failure** failure) {
  if (!kernel || !path) return usage("kernel or path is null", failure);
  if (failure) *failure = nullptr;
  const Outcome<api::Done> done = kernel->kernel.save(path);
  return done ? 0 : report(done.error(), failure);
}

int kernel_load(const char* path, polyte_kernel_object** kernel, polyte_failure** failure) {
  if (!path || !kernel) return usage("path or kernel is null", failure);
  return give_kernel(api::Kernel::load(path), kernel, failure);
}

void kernel_free(polyte_kernel_object* kernel) { delete kernel; }

std::int32_t kernel_tensor_count(const polyte_kernel_object* kernel) {
  return kernel ? static_cast<std::int32_t>(kernel->kernel.tensors().size()) : 0;
}

polyte_dl_type dl_type_of(DType dtype) {
  const std::uint8_t code = dtype == DType::Bool       ? POLYTE_DL_BOOL
                            : dtype == DType::BF16     ? POLYTE_DL_BFLOAT
                            : is_float(dtype)          ? POLYTE_DL_FLOAT
                            : is_signed_integer(dtype) ? POLYTE_DL_INT
                                                       : POLYTE_DL_UINT;
  return {code, static_cast<std::uint8_t>(8 * size_in_bytes(dtype)), 1};
}

std::int32_t role_of(ir::Role role) {
  switch (role) {
    case ir::Role::Const:
      return POLYTE_CONST;
    case ir::Role::Out:
      return POLYTE_OUT;
    case ir::Role::InOut:
      return POLYTE_INOUT;
    default:
      return POLYTE_IN;
  }
}

int kernel_tensor(const polyte_kernel_object* kernel, std::int32_t index,
                  polyte_kernel_tensor* tensor) {
  if (!tensor || index < 0 || index >= kernel_tensor_count(kernel))
    return static_cast<int>(ExitStatus::Usage);
  const api::TensorInfo& info = kernel->kernel.tensors()[static_cast<std::size_t>(index)];
  *tensor = {info.name.c_str(), role_of(info.role), dl_type_of(info.dtype),
             static_cast<std::int32_t>(info.shape.size()), info.shape.data()};
  return 0;
}

const char* kernel_text(const polyte_kernel_object* kernel, std::int32_t which) {
  if (!kernel || which < 0 || which > POLYTE_DECLINED) return nullptr;
  return kernel->texts.at(static_cast<std::size_t>(which)).c_str();
}

std::int32_t kernel_note_count(const polyte_kernel_object* kernel) {
  return kernel ? static_cast<std::int32_t>(kernel->kernel.notes().size()) : 0;
}
const char* kernel_note(const polyte_kernel_object* kernel, std::int32_t index) {
  if (index < 0 || index >= kernel_note_count(kernel)) return nullptr;
  return kernel->kernel.notes()[static_cast<std::size_t>(index)].c_str();
}

// ---- open sizes

std::int32_t kernel_open_size_count(const polyte_kernel_object* kernel) {
  return kernel ? static_cast<std::int32_t>(kernel->kernel.sizes().size()) : 0;
}

int kernel_open_size(const polyte_kernel_object* kernel, std::int32_t index,
                     polyte_open_size* size) {
  if (!size || index < 0 || index >= kernel_open_size_count(kernel))
    return static_cast<int>(ExitStatus::Usage);
  const api::SizeInfo& info = kernel->kernel.sizes()[static_cast<std::size_t>(index)];
  *size = {info.name.c_str(), info.least, info.most};
  return 0;
}

int kernel_shape(const polyte_kernel_object* kernel, std::int32_t tensor, const std::int64_t* sizes,
                 std::int32_t count, std::int64_t* shape, polyte_failure** failure) {
  if (!kernel || (!sizes && count > 0) || count < 0 || !shape)
    return usage("kernel, sizes or shape is null", failure);
  if (tensor < 0 || tensor >= kernel_tensor_count(kernel))
    return usage("there is no such tensor", failure);
  if (failure) *failure = nullptr;
  const auto shapes = kernel->kernel.shapes_at({sizes, static_cast<std::size_t>(count)});
  if (!shapes) return report(shapes.error(), failure);
  std::ranges::copy((*shapes)[static_cast<std::size_t>(tensor)], shape);
  return 0;
}

// ---- executions

// Addresses come in the order of the tensors, one for each; those of tensors that are no constants
// are not looked at.
std::vector<api::Argument> constants_of(const api::Kernel& kernel, void* const* addresses) {
  std::vector<api::Argument> constants;
  const std::vector<api::TensorInfo>& tensors = kernel.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role != ir::Role::Const || !addresses) continue;
    std::size_t elements = 1;
    for (const std::int64_t extent : tensors[i].shape) elements *= static_cast<std::size_t>(extent);
    constants.push_back({tensors[i].name, tensors[i].dtype, addresses[i], elements, false});
  }
  return constants;
}

// A constant whose size an address cannot say; null: there is none.
const api::TensorInfo* open_constant(const api::Kernel& kernel) {
  const auto found = std::ranges::find_if(kernel.tensors(), [](const api::TensorInfo& tensor) {
    return tensor.role == ir::Role::Const && std::ranges::count(tensor.shape, api::kOpenExtent) > 0;
  });
  return found == kernel.tensors().end() ? nullptr : &*found;
}

int execution_new(const polyte_kernel_object* kernel, void* const* constants, std::int32_t threads,
                  const polyte_host* host, polyte_execution** execution, polyte_failure** failure) {
  if (!kernel || !execution) return usage("kernel or execution is null", failure);
  if (!host && (threads < 1 || threads > 1024))
    return usage("threads is " + std::to_string(threads) + ", expected a number from 1 to 1024",
                 failure);
  if (const api::TensorInfo* open = open_constant(kernel->kernel))
    return usage("constant '" + open->name +
                     "' is of open size, which an address does not say: declare it `in`",
                 failure);
  try {
    const api::Workers workers = host ? api::Workers(*host) : api::Workers(threads);
    const Outcome<api::Execution> made =
        kernel->kernel.prepare_calls(constants_of(kernel->kernel, constants), workers);
    return made ? give(execution, failure, *made) : report(made.error(), failure);
  } catch (const std::exception& e) {  // threads that cannot be started
    return report({ExitStatus::ResourceLimit, {e.what()}}, failure);
  }
}

int execution_run(polyte_execution* execution, void* const* data, std::int32_t count,
                  polyte_failure** failure) {
  if (!execution || (!data && count > 0) || count < 0)
    return usage("execution or data is null", failure);
  if (failure) *failure = nullptr;
  const Outcome<api::Done> done =
      execution->execution.run_on({data, static_cast<std::size_t>(count)});
  return done ? 0 : report(done.error(), failure);
}

int execution_run_at(polyte_execution* execution, void* const* data, std::int32_t count,
                     const std::int64_t* sizes, std::int32_t size_count, polyte_failure** failure) {
  if (!execution || (!data && count > 0) || count < 0 || (!sizes && size_count > 0) ||
      size_count < 0)
    return usage("execution, data or sizes is null", failure);
  if (failure) *failure = nullptr;
  const Outcome<api::Done> done = execution->execution.run_on(
      {data, static_cast<std::size_t>(count)}, {sizes, static_cast<std::size_t>(size_count)});
  return done ? 0 : report(done.error(), failure);
}

int execution_set_strides(polyte_execution* execution, std::int32_t tensor,
                          const std::int64_t* strides, std::int32_t count,
                          polyte_failure** failure) {
  if (!execution || tensor < 0 || count < 0)
    return usage("execution is null, or tensor or count is negative", failure);
  if (failure) *failure = nullptr;
  const Outcome<api::Done> done = execution->execution.set_strides(
      static_cast<std::size_t>(tensor),
      {strides, strides ? static_cast<std::size_t>(count) : std::size_t{0}});
  return done ? 0 : report(done.error(), failure);
}
void execution_free(polyte_execution* execution) { delete execution; }

// ---- failures

const char* failure_text(const polyte_failure* failure) {
  return failure ? failure->text.c_str() : "";
}
int failure_status(const polyte_failure* failure) { return failure ? failure->status : 0; }
void failure_free(polyte_failure* failure) { delete failure; }

// In the order of the header. New functions come last: a caller that was built for an older header
// sees the beginning of the table.
constexpr polyte_compiler_api kApi{sizeof(polyte_compiler_api),
                                   POLYTE_COMPILER_API_VERSION,
                                   program_from_text,
                                   program_from_notation,
                                   program_text,
                                   program_free,
                                   options_new,
                                   options_set,
                                   options_free,
                                   compile,
                                   kernel_free,
                                   kernel_save,
                                   kernel_load,
                                   kernel_tensor_count,
                                   kernel_tensor,
                                   kernel_text,
                                   kernel_note_count,
                                   kernel_note,
                                   execution_new,
                                   execution_run,
                                   execution_free,
                                   failure_text,
                                   failure_status,
                                   failure_free,
                                   kernel_open_size_count,
                                   kernel_open_size,
                                   kernel_shape,
                                   execution_run_at,
                                   execution_set_strides};

}  // namespace

const polyte_compiler_api* polyte_compiler_get_api(uint32_t version) {
  return version >= 1 && version <= POLYTE_COMPILER_API_VERSION ? &kApi : nullptr;
}
