#include <algorithm>
#include <cstdint>

#include "driver/api/arms.h"
#include "driver/api/guard.h"
#include "driver/compile/operator.h"
#include "ir/loop_program_text.h"

namespace polyte::api {

struct Kernel::Impl {
  driver::CompiledOperator op;
};

// The runner borrows from the kernel and from the arguments' memory.
struct Execution::Impl {
  Kernel kernel;
  std::vector<runtime::Tensor> tensors;
  std::unique_ptr<driver::OperatorRunner> runner;
};

namespace {

// Sizes by the Program's own names; all unknown and missing ones at once.
std::shared_ptr<const ir::Program> bind_sizes(const Program& program, const Sizes& sizes) {
  ir::Values values;
  std::vector<std::string> problems;
  for (const auto& [name, size] : sizes) {
    if (const auto param = ir::find_param(program.ir(), name)) {
      values[*param] = size;
    } else {
      problems.push_back("size '" + name + "': program '" + program.ir().name + "' has no such size");
    }
  }
  for (const std::string& param : program.ir().params) {
    if (!values.contains(param)) problems.push_back("size '" + param + "' is missing");
  }
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
  return values.empty() ? program.shared() : std::make_shared<const ir::Program>(ir::bind(program.ir(), values));
}

const Argument* find_argument(const std::vector<Argument>& arguments, const std::string& name) {
  auto it = std::ranges::find_if(arguments, [&](const Argument& a) { return a.name == name; });
  return it == arguments.end() ? nullptr : &*it;
}

bool is_written(const TensorInfo& tensor) { return tensor.role == ir::Role::Out || tensor.role == ir::Role::InOut; }

// What is wrong with the argument for one tensor; nothing where it fits.
void check_argument(const TensorInfo& tensor, const Argument* argument, std::vector<std::string>& problems) {
  auto complain = [&](const std::string& what) { problems.push_back("argument '" + tensor.name + "' " + what); };
  if (!argument) return complain("is missing");
  if (argument->dtype != tensor.dtype) {
    complain("is " + std::string(to_string(argument->dtype)) + ", expected " + std::string(to_string(tensor.dtype)));
  }
  const std::int64_t expected = runtime::count_elements(tensor.shape);
  if (static_cast<std::int64_t>(argument->elements) != expected) {
    complain("has " + std::to_string(argument->elements) + " elements, expected " + std::to_string(expected) + ": " +
             runtime::to_string(tensor.shape));
  }
  if (!argument->data && expected > 0) complain("has no memory");
  if (reinterpret_cast<std::uintptr_t>(argument->data) % static_cast<std::uintptr_t>(size_in_bytes(tensor.dtype)) != 0)
    complain("is not aligned to its element");
  if (is_written(tensor) && !argument->writable) complain("is written: its memory must not be const");
}

bool overlap(const Argument& a, const Argument& b) {
  const auto bytes = [](const Argument& x) { return x.elements * static_cast<std::size_t>(size_in_bytes(x.dtype)); };
  const auto at = [](const Argument& x) { return reinterpret_cast<std::uintptr_t>(x.data); };
  return bytes(a) > 0 && bytes(b) > 0 && at(a) < at(b) + bytes(b) && at(b) < at(a) + bytes(a);
}

// A kernel takes it that what it writes lies in no other tensor. One problem a pair; every argument is there.
void check_overlaps(const std::vector<TensorInfo>& tensors, const std::vector<Argument>& arguments,
                    std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (std::size_t j = i + 1; j < tensors.size(); ++j) {
      const bool first = is_written(tensors[i]);
      if (!first && !is_written(tensors[j])) continue;
      const std::string &one = tensors[i].name, &other = tensors[j].name;
      if (overlap(*find_argument(arguments, one), *find_argument(arguments, other)))
        problems.push_back("argument '" + (first ? one : other) + "' is written and overlaps argument '" +
                           (first ? other : one) + "'");
    }
  }
}

void check_arguments(const std::vector<TensorInfo>& tensors, const std::vector<Argument>& arguments, int threads) {
  std::vector<std::string> problems;
  for (const TensorInfo& tensor : tensors) check_argument(tensor, find_argument(arguments, tensor.name), problems);
  for (const Argument& argument : arguments) {
    if (std::ranges::none_of(tensors, [&](const TensorInfo& t) { return t.name == argument.name; })) {
      problems.push_back("argument '" + argument.name + "': there is no such tensor");
    } else if (find_argument(arguments, argument.name) != &argument) {
      problems.push_back("argument '" + argument.name + "' is given twice");
    }
  }
  if (threads < 1) problems.push_back("threads is " + std::to_string(threads) + ", expected at least 1");
  if (problems.empty()) check_overlaps(tensors, arguments, problems);
  if (!problems.empty()) throw UserError(ExitStatus::InvalidInput, problems);
}

std::shared_ptr<const schedule::TemplateSet> templates_of(const std::string& folder, bool is_asked_for) {
  if (!folder.empty() && !is_asked_for)
    throw UserError(ExitStatus::Usage, "templates '" + folder + "': only Scheduler::Template takes them");
  return schedule::load_templates(folder);
}

}  // namespace

Outcome<Kernel> compile(const Program& program, const CompileOptions& options) {
  return guarded([&] {
    const codegen::Target target = driver::target_named(options.target, cuda_options(options.gpu));
    schedule::Script script;
    driver::KernelOptions kernel_options;
    kernel_options.arm = arm_of(options.scheduler);
    kernel_options.strict = options.strict;
    kernel_options.exact = options.exact;
    kernel_options.templates = templates_of(options.templates, options.scheduler == Scheduler::Template);
    kernel_options.second_judge = options.second_judge;
    kernel_options.open = program.shared();
    if (!options.script.empty()) {
      script = schedule::parse_script(options.script, "script");
      kernel_options.arm = driver::Arm::Script;
      kernel_options.script = &script;
      kernel_options.script_origin = "script";
    }
    auto impl = std::make_shared<Kernel::Impl>();
    impl->op = driver::compile_operator(bind_sizes(program, options.sizes), target, kernel_options);
    Kernel kernel;
    kernel.impl_ = std::move(impl);
    return kernel;
  });
}

std::vector<TensorInfo> Kernel::tensors() const {
  std::vector<TensorInfo> infos;
  for (const ir::Buffer* buffer : impl_->op.built.program->interface()) {
    infos.push_back({buffer->name, buffer->role, buffer->dtype, ir::constant_shape(*buffer)});
  }
  return infos;
}

const std::vector<std::string>& Kernel::notes() const { return impl_->op.built.notes; }
Scheduling Kernel::scheduling() const { return scheduling_of(impl_->op.built); }
std::string Kernel::script() const { return schedule::print(impl_->op.built.script); }
std::string Kernel::directives() const {
  return schedule::print(schedule::expand_to_directives(impl_->op.built.script, *impl_->op.built.state));
}
std::string Kernel::loops() const { return ir::print(impl_->op.built.kernel.program); }

Outcome<Execution> Kernel::prepare(const std::vector<Argument>& arguments, int threads) const {
  return guarded([&] {
    const std::vector<TensorInfo> infos = tensors();
    check_arguments(infos, arguments, threads);
    auto impl = std::make_shared<Execution::Impl>(Execution::Impl{*this, {}, nullptr});
    for (const TensorInfo& info : infos) {
      void* data = find_argument(arguments, info.name)->data;
      impl->tensors.push_back(runtime::Tensor::borrow(info.dtype, info.shape, data));
    }
    impl->runner = std::make_unique<driver::OperatorRunner>(impl_->op, impl->tensors, threads);
    Execution execution;
    execution.impl_ = std::move(impl);
    return execution;
  });
}

Outcome<Done> Kernel::run(const std::vector<Argument>& arguments, int threads) const {
  Outcome<Execution> execution = prepare(arguments, threads);
  if (!execution) return execution.error();
  return execution->run();
}

Outcome<Done> Execution::run() noexcept {
  return guarded([&] {
    impl_->runner->run();
    return Done{};
  });
}

}  // namespace polyte::api
