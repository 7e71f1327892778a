#include <algorithm>
#include <cstdint>
#include <mutex>

#include "driver/api/arguments.h"
#include "driver/api/guard.h"
#include "driver/api/kernel_cache.h"
#include "driver/api/kernel_file.h"
#include "driver/api/open_sizes.h"
#include "driver/api/requests.h"
#include "driver/api/strided_tensors.h"
#include "driver/compile/operator.h"
#include "driver/package/assemble.h"
#include "ir/loop_program_text.h"
#include "runtime/session.h"

namespace polyte::api {

// A kernel comes from a compilation, with its State, Script and loops, or from a file, with texts
// in their place: `texts` is then what script(), directives() and loops() answer.
struct Kernel::Impl {
  driver::CompiledOperator op;
  std::optional<KernelTexts> texts;  // of one from a file
  std::vector<TensorInfo> tensors;
  std::vector<SizeInfo> sizes;
  std::mutex mutex;
  // Guarded by mutex; from the first execution on.
  std::shared_ptr<const driver::LoadedOperator> loaded;
  std::optional<codegen::Target> gpu;  // that it is for, and which one
  runtime::CudaOptions cuda;

  std::shared_ptr<const driver::LoadedOperator> load() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!loaded) loaded = std::make_shared<const driver::LoadedOperator>(op);
    return loaded;
  }
};

// The runner borrows from the kernel and from the arguments' memory.
struct Execution::Impl {
  Kernel kernel;
  std::shared_ptr<const ir::Program> program;
  std::vector<TensorInfo> infos;  // their shapes at `sizes`
  std::vector<runtime::Tensor> tensors;
  std::unique_ptr<driver::OperatorRunner> runner;
  bool has_memory = true;                   // of all tensors: run() has something to run on
  SizeValues own_sizes{};                   // those of the arguments that it was made with
  std::optional<SizeValues> sizes{};        // now; none: not known yet
  StridedTensors own_strided{}, strided{};  // of the arguments that it was made with; of run_on
  std::vector<void*> own_data{};            // of these arguments, where one has strides

  void resize(std::span<const std::int64_t> to);
  void run_on(std::span<void* const> data);
};

namespace {

// The same tensors with the extents that depend on sizes filled in.
std::vector<TensorInfo> tensors_at(std::vector<TensorInfo> tensors, const ir::Program& program,
                                   std::span<const std::int64_t> sizes) {
  std::vector<std::vector<std::int64_t>> shapes = shapes_at(program, sizes);
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].shape = std::move(shapes[i]);
  return tensors;
}

std::shared_ptr<const schedule::TemplateSet> templates_of(const std::string& folder,
                                                          bool is_asked_for) {
  if (!folder.empty() && !is_asked_for)
    throw UserError(ExitStatus::Usage,
                    "templates '" + folder + "': only Scheduler::Template takes them");
  return schedule::load_templates(folder);
}

}  // namespace

codegen::Target target_of(const CompileOptions& options) {
  if (options.threads < 0)
    throw UserError(ExitStatus::Usage,
                    "threads is " + std::to_string(options.threads) + ", expected 0 or more");
  codegen::Target target = driver::target_named(options.target, cuda_options(options.gpu));
  if (options.threads > 0) target.machine.cores = options.threads;
  return target;
}

schedule::Script script_of(const CompileOptions& options) {
  schedule::Script script = schedule::parse_script(options.script, "script");
  schedule::fill(script, options.params);
  return script;
}

// A script goes before the scheduler that is asked for; `options` looks at this object's script,
// which is why requests are not copied.
KernelRequest::KernelRequest(const Program& program, const CompileOptions& asked)
    : target(target_of(asked)), bound(bind_sizes(program, asked)) {
  options.scheduler = scheduler_of(asked.scheduler);
  options.strict = asked.strict;
  options.exact = asked.exact;
  options.templates = templates_of(asked.templates, asked.scheduler == Scheduler::Template);
  options.second_judge = asked.second_judge;
  options.emulated = asked.emulated && target.kind == TargetKind::Cuda;
  options.open = program.shared();
  options.typical = typical_sizes(*bound, asked);
  if (asked.script.empty()) return;
  script = script_of(asked);
  options.scheduler = driver::Scheduler::Script;
  options.script = &script;
  options.script_origin = "script";
}

Kernel Kernel::made(driver::CompiledOperator op, std::optional<KernelTexts> texts) {
  auto impl = std::make_shared<Impl>();
  impl->op = std::move(op);
  impl->texts = std::move(texts);
  for (const ir::Buffer* buffer : impl->op.built.program->interface()) {
    impl->tensors.push_back({buffer->name, buffer->role, buffer->dtype, {}, {}});
    for (const ir::Affine& extent : buffer->shape) {
      impl->tensors.back().shape.push_back(extent.is_constant() ? extent.constant() : kOpenExtent);
      impl->tensors.back().extents.push_back(ir::to_string(extent));
    }
  }
  impl->sizes = infos_of(*impl->op.built.program);
  Kernel kernel;
  kernel.impl_ = std::move(impl);
  return kernel;
}

namespace {

// That is asked for; none where it is off. Where no folder can be named there is none either,
// and `why` says so.
std::optional<KernelCache> cache_of(const CompileOptions& options, std::string& why) {
  if (options.cache.empty() || (options.cache == kDefaultCache && is_cache_off()))
    return std::nullopt;
  try {
    return KernelCache(options.cache == kDefaultCache ? "" : options.cache);
  } catch (const UserError& e) {
    why = e.what();
    return std::nullopt;
  }
}

// Why it is not kept; "" where it is.
std::string keep(const KernelCache& cache, const std::string& key,
                 const driver::CompiledOperator& op, const KernelTexts& texts) {
  try {
    cache.keep(key, op, texts);
    return "";
  } catch (const UserError& e) {
    return e.what();
  }
}

}  // namespace

// A cache that cannot be used or written is a note of the kernel, never a failure: the kernel is
// there. One from the cache has been judged and proved when it was made.
Outcome<Kernel> compile(const Program& program, const CompileOptions& options) {
  return guarded([&] {
    std::string why_not_kept;
    const std::optional<KernelCache> cache = cache_of(options, why_not_kept);
    const std::string key = cache ? key_of(program, options) : "";
    if (cache)
      if (auto found = cache->find(key))
        return Kernel::made(std::move(found->op), std::move(found->texts));
    const KernelRequest request(program, options);
    if (request.target.kind == TargetKind::Cuda && !options.open.empty())
      throw UserError(ExitStatus::Unsupported,
                      "size '" + options.open.begin()->first +
                          "' is open: kernels for a GPU are compiled for their sizes");
    driver::CompiledOperator op =
        driver::compile_operator(request.bound, request.target, request.options);
    std::optional<KernelTexts> texts;
    if (!key.empty()) {
      texts = texts_of(op);
      why_not_kept = keep(*cache, key, op, *texts);
    }
    if (!why_not_kept.empty()) op.built.notes.push_back("not kept in the cache: " + why_not_kept);
    Kernel kernel = Kernel::made(std::move(op), std::move(texts));
    if (request.target.kind == TargetKind::Cuda) {
      kernel.impl_->gpu = request.target;
      kernel.impl_->cuda = cuda_options(options.gpu);
    }
    return kernel;
  });
}

Outcome<Kernel> Kernel::load(const std::string& path) {
  return guarded([&] {
    StoredKernel found = read_kernel(path, "");
    return made(std::move(found.op), std::move(found.texts));
  });
}

Outcome<Done> Kernel::save(const std::string& path) const {
  return guarded([&] {
    if (impl_->op.arch == to_string(TargetKind::Cuda))
      throw UserError(ExitStatus::Unsupported,
                      path + ": a kernel for a GPU is saved as an artifact (polyte op --artifact)");
    write_kernel(path, impl_->op, impl_->texts ? *impl_->texts : texts_of(impl_->op), "");
    return Done{};
  });
}

Workers::Workers(int threads) : threads_(threads) {
  if (threads < 1) return;  // prepare() says so
  pool_ = std::make_shared<runtime::ThreadPool>(threads);
  host_ = &pool_->host();
}
Workers::Workers(const polyte_host& host)
    : threads_(static_cast<int>(host.workers)), host_(&host) {}

const std::vector<TensorInfo>& Kernel::tensors() const { return impl_->tensors; }
const std::vector<SizeInfo>& Kernel::sizes() const { return impl_->sizes; }

const std::vector<std::string>& Kernel::notes() const { return impl_->op.built.notes; }
Scheduling Kernel::scheduling() const {
  return impl_->texts ? impl_->texts->scheduling : scheduling_of(impl_->op.built);
}
std::string Kernel::script() const {
  return impl_->texts ? impl_->texts->script : schedule::print(impl_->op.built.script);
}
std::string Kernel::directives() const {
  return impl_->texts ? impl_->texts->directives : texts_of(impl_->op).directives;
}
std::string Kernel::loops() const {
  return impl_->texts ? impl_->texts->loops : ir::print(impl_->op.built.kernel.program);
}

Outcome<std::vector<std::int64_t>> Kernel::sizes_by(
    const std::map<std::string, std::vector<std::int64_t>>& shapes, const Sizes& given) const {
  return guarded([&] { return values_by(*impl_->op.built.program, shapes, given); });
}

Outcome<std::vector<std::vector<std::int64_t>>> Kernel::shapes_at(
    std::span<const std::int64_t> sizes) const {
  return guarded([&] {
    check_values(*impl_->op.built.program, sizes);
    return api::shapes_at(*impl_->op.built.program, sizes);
  });
}

namespace {

// Of one dimension and no shape: as many elements as there are.
std::vector<std::int64_t> shape_of(const Argument& argument, const TensorInfo& tensor) {
  if (argument.shape.empty() && tensor.shape.size() == 1)
    return {static_cast<std::int64_t>(argument.elements)};
  return argument.shape;
}

// By the arguments' shapes, and by `given` for what no shape says. Names are checked before,
// for a misspelt tensor would show as a size that follows from nothing.
SizeValues sizes_of(const std::vector<TensorInfo>& tensors, const std::vector<Argument>& arguments,
                    const ir::Program& program, const Sizes& given) {
  Shapes shapes;
  std::vector<std::string> problems;
  for (const TensorInfo& tensor : tensors) {
    const Argument* argument = find_argument(arguments, tensor.name);
    if (!argument) problems.push_back("argument '" + tensor.name + "' is missing");
    if (argument && !shape_of(*argument, tensor).empty())
      shapes[tensor.name] = shape_of(*argument, tensor);
  }
  check_names(tensors, arguments, problems);
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  return values_by(program, shapes, given);
}

// The shapes of constants are what they are said to be: the sizes of a call have to be those.
std::vector<TensorInfo> as_given(std::vector<TensorInfo> tensors,
                                 const std::vector<Argument>& constants) {
  std::vector<std::string> problems;
  for (TensorInfo& tensor : tensors) {
    const Argument* constant =
        tensor.role == ir::Role::Const ? find_argument(constants, tensor.name) : nullptr;
    const std::vector<std::int64_t> shape =
        constant ? shape_of(*constant, tensor) : std::vector<std::int64_t>();
    const bool is_open = std::ranges::find(tensor.shape, kOpenExtent) != tensor.shape.end();
    if (is_open && constant && shape.size() != tensor.shape.size())
      problems.push_back("argument '" + tensor.name +
                         "' is of open size: its shape has to be given, of " +
                         std::to_string(tensor.shape.size()) + " dimensions");
    for (std::size_t d = 0; d < tensor.shape.size(); ++d)
      if (tensor.shape[d] == kOpenExtent) tensor.shape[d] = d < shape.size() ? shape[d] : 0;
  }
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  return tensors;
}

}  // namespace

// Tensors borrow the arguments' memory. Of prepare_calls only the constants have any, and run_on
// brings the rest.
Execution Kernel::bind(const std::vector<Argument>& arguments, const Workers& workers,
                       std::vector<TensorInfo> tensors) const {
  auto impl = std::make_shared<Execution::Impl>(
      Execution::Impl{*this, impl_->op.built.program, std::move(tensors), {}, nullptr});
  for (const TensorInfo& info : impl->infos) {
    const Argument* argument = find_argument(arguments, info.name);
    impl->has_memory = impl->has_memory && argument;
    impl->own_data.push_back(argument ? argument->data : nullptr);
    if (argument) impl->own_strided.set(impl->own_data.size() - 1, argument->strides);
  }
  const std::span<void* const> dense = impl->own_strided.gather(impl->infos, impl->own_data);
  for (std::size_t i = 0; i < impl->infos.size(); ++i)
    impl->tensors.push_back(
        runtime::Tensor::borrow(impl->infos[i].dtype, impl->infos[i].shape, dense[i]));
  impl->runner = std::make_unique<driver::OperatorRunner>(
      impl_->load(), impl_->op, impl->tensors, driver::Workers{workers.pool_, workers.host_});
  if (impl_->sizes.empty()) impl->sizes.emplace();
  Execution execution;
  execution.impl_ = std::move(impl);
  return execution;
}

Outcome<Execution> Kernel::prepare(const std::vector<Argument>& arguments, const Workers& workers,
                                   const Sizes& sizes) const {
  return guarded([&] {
    // Sizes first, from the arguments' shapes; only then the arguments are compared with tensors
    // whose shapes are numbers.
    const SizeValues values =
        impl_->sizes.empty() && sizes.empty()
            ? SizeValues()
            : sizes_of(impl_->tensors, arguments, *impl_->op.built.program, sizes);
    std::vector<TensorInfo> tensors =
        values.empty() ? impl_->tensors
                       : tensors_at(impl_->tensors, *impl_->op.built.program, values);
    check_arguments(tensors, arguments, workers.threads());
    Execution execution = bind(arguments, workers, std::move(tensors));
    execution.impl_->own_sizes = values;
    execution.impl_->resize(values);
    return execution;
  });
}

Outcome<Execution> Kernel::prepare_calls(const std::vector<Argument>& constants,
                                         const Workers& workers) const {
  return guarded([&] {
    std::vector<TensorInfo> tensors = as_given(impl_->tensors, constants);
    check_arguments(constants_of(tensors), constants, workers.threads());
    return bind(constants, workers, std::move(tensors));
  });
}

Outcome<std::shared_ptr<const runtime::Session>> Kernel::open_session(
    const std::vector<Argument>& constants) const {
  return guarded([&] {
    if (!impl_->gpu)
      throw UserError(ExitStatus::Usage, "the kernel is for a processor, expected one for a GPU");
    check_arguments(constants_of(impl_->tensors), constants, 1);
    std::vector<void*> data;
    StridedTensors strided;
    for (const TensorInfo& info : impl_->tensors) {
      const Argument* constant = find_argument(constants, info.name);
      data.push_back(constant ? constant->data : nullptr);
      if (constant) strided.set(data.size() - 1, constant->strides);
    }
    const std::span<void* const> dense = strided.gather(impl_->tensors, data);
    std::vector<runtime::Tensor> tensors;
    for (std::size_t i = 0; i < data.size(); ++i)
      tensors.push_back(
          runtime::Tensor::borrow(impl_->tensors[i].dtype, impl_->tensors[i].shape, dense[i]));
    return std::make_shared<const runtime::Session>(
        runtime::Artifact::from_parts(driver::assemble(impl_->op, tensors, *impl_->gpu)),
        runtime::SessionOptions{.cuda = impl_->cuda});
  });
}

Outcome<Done> Kernel::run(const std::vector<Argument>& arguments, const Workers& workers,
                          const Sizes& sizes) const {
  Outcome<Execution> execution = prepare(arguments, workers, sizes);
  if (!execution) return execution.error();
  return execution->run();
}

// Nothing where the sizes are those of the last run, so that repeated calls allocate nothing.
// Constants were packed for their shapes: sizes that would change one are refused. Members change
// at the end, so that an execution that was refused sizes still has its old ones.
void Execution::Impl::resize(std::span<const std::int64_t> to) {
  if (sizes && std::ranges::equal(*sizes, to)) return;
  check_values(*program, to);
  std::vector<TensorInfo> next = tensors_at(kernel.tensors(), *program, to);
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < next.size(); ++i)
    if (next[i].role == ir::Role::Const && next[i].shape != infos[i].shape)
      problems.push_back("constant '" + next[i].name + "' has shape " +
                         runtime::to_string(infos[i].shape) + ", expected " +
                         runtime::to_string(next[i].shape) + " at these sizes");
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
  std::vector<runtime::Tensor> resized;
  for (std::size_t i = 0; i < next.size(); ++i)
    resized.push_back(runtime::Tensor::borrow(next[i].dtype, next[i].shape, tensors[i].data()));
  runner->resize(to, resized);
  tensors = std::move(resized);
  infos = std::move(next);
  sizes = SizeValues(to.begin(), to.end());
}

// Tensors that are not dense are checked as what they are copied to.
void Execution::Impl::run_on(std::span<void* const> data) {
  const std::span<void* const> dense = strided.empty() ? data : strided.gather(infos, data);
  check_addresses(infos, tensors, dense);
  runner->run_on(dense);
  strided.scatter(infos, data);
}

Outcome<Done> Execution::run() noexcept {
  return guarded([&] {
    if (!impl_->has_memory)
      throw UserError(ExitStatus::Usage,
                      "the execution was prepared for calls: run_on takes their memory");
    impl_->resize(impl_->own_sizes);
    if (!impl_->own_strided.empty()) impl_->own_strided.gather(impl_->infos, impl_->own_data);
    impl_->runner->run();
    impl_->own_strided.scatter(impl_->infos, impl_->own_data);
    return Done{};
  });
}

Outcome<Done> Execution::run_on(std::span<void* const> data) noexcept {
  return guarded([&] {
    if (!impl_->sizes)
      throw UserError(ExitStatus::Usage, "sizes are open: run_on takes their values");
    impl_->run_on(data);
    return Done{};
  });
}

Outcome<Done> Execution::run_on(std::span<void* const> data,
                                std::span<const std::int64_t> sizes) noexcept {
  return guarded([&] {
    impl_->resize(sizes);
    impl_->run_on(data);
    return Done{};
  });
}

Outcome<Done> Execution::set_strides(std::size_t tensor,
                                     std::span<const std::int64_t> strides) noexcept {
  return guarded([&] {
    if (tensor >= impl_->infos.size())
      throw UserError(ExitStatus::Usage, "there is no tensor " + std::to_string(tensor) +
                                             ": the kernel has " +
                                             std::to_string(impl_->infos.size()));
    const TensorInfo& info = impl_->infos[tensor];
    if (info.role == ir::Role::Const)
      throw UserError(ExitStatus::Usage, "constant '" + info.name +
                                             "' is packed already: its strides are those of the "
                                             "argument that it was given by");
    if (!strides.empty() && strides.size() != info.shape.size())
      throw UserError(ExitStatus::Usage,
                      "argument '" + info.name + "' " + stride_problem(info, strides));
    impl_->strided.set(tensor, strides);
    return Done{};
  });
}

}  // namespace polyte::api
