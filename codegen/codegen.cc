#include "codegen/codegen.h"

#include <utility>

#include "codegen/common/crash_guard.h"
#include "codegen/common/emitter.h"
#include "codegen/common/extrema.h"
#include "codegen/common/interleave_chains.h"
#include "codegen/common/kernel_interface.h"
#include "codegen/cpu/backend.h"
#include "codegen/nvptx/nvptx_ops.h"
#include "ir/intrinsics.h"
#include "support/error.h"
#include "support/kernel_abi.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Pass.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Utils.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

namespace polyte::codegen {

namespace {

// Vector registers for what a chain of operations multiplies by and adds, where an instruction
// takes no element of memory for all lanes.
constexpr int kConstantRegisters = 3;

// One module with everything that belongs to it; the context outlives the module.
class Job {
 public:
  Job(std::span<const Kernel> kernels, const Target& target, const CodegenOptions& options)
      : kernels_(kernels),
        target_(target),
        host_(target.kind != TargetKind::Cuda ? target
              : options.emulated              ? detect_host()
                                              : plain_host()),
        instructions_(backend_of(host_.kind).instructions(host_.machine)),
        machine_(make_target_machine(host_, options)),
        module_(std::make_unique<llvm::Module>("polyte", context_)) {
    module_->setTargetTriple(backend_of(host_.kind).triple);
    module_->setDataLayout(machine_->createDataLayout());
    module_->setPICLevel(llvm::PICLevel::BigPIC);
    if (target.kind == TargetKind::Cuda) open_device(options.emulated);
    for (const Kernel& kernel : kernels_) emit(kernel);
    check_module();
  }

  enum class Output { Ir, Assembly, Object };
  std::string run(Output output) {
    llvm::SmallString<0> text;
    const auto failure = run_guarded([&] {
      if (reports_accesses_) prepare_reports();
      run_passes(*module_, *machine_, *instructions_, registers_of(host_.machine), output, text);
    });
    if (failure) throw InternalError("kernel '" + names() + "': LLVM gave up: " + *failure);
    return std::string(text);
  }
  // What the runtime checks calls against, as data in objects. Text that people read is the code
  // alone.
  void add_interfaces() {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const std::vector<std::int64_t> numbers =
          interface_of(kernels_[i], infos_[i].scratch, device_ops_ != nullptr);
      const std::vector<std::uint64_t> words(numbers.begin(), numbers.end());
      llvm::Constant* data = llvm::ConstantDataArray::get(context_, words);
      // The module owns it.
      new llvm::GlobalVariable(*module_, data->getType(), true, llvm::GlobalValue::ExternalLinkage,
                               data, kernels_[i].program.name + POLYTE_INTERFACE_SUFFIX);
    }
  }
  std::vector<ObjectCode::KernelInfo> take_infos() { return std::move(infos_); }

  // The device's code as PTX, or LLVM IR; empty where it has none of its own.
  std::string device_text(Output output) {
    if (!device_module_) return "";
    llvm::SmallString<0> text;
    const auto failure = run_guarded([&] {
      run_passes(*device_module_, *device_machine_, *device_instructions_, {}, output, text);
    });
    if (failure)
      throw InternalError("kernel '" + names() + "', the device's code: LLVM gave up: " + *failure);
    return std::string(text);
  }

 private:
  std::span<const Kernel> kernels_;
  const Target& target_;
  const Target host_;  // the target itself, or what launches the kernels of a GPU
  std::unique_ptr<const Instructions> instructions_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<llvm::Module> module_;
  std::vector<ObjectCode::KernelInfo> infos_;
  // For a GPU. The device's code has its own module, unless this CPU runs it (emulated): then it
  // lies in the host's.
  std::unique_ptr<const Instructions> device_instructions_;
  std::unique_ptr<const DeviceOps> device_ops_;
  std::unique_ptr<llvm::TargetMachine> device_machine_;
  std::unique_ptr<llvm::Module> device_module_;
  bool reports_accesses_ = false;

  // A host of which nothing is known but its kind. Its code only starts kernels and waits, so no
  // feature of the processor matters.
  static Target plain_host() { return target_for_cpu(backend_of(kNativeKind).generic_cpu); }

  void open_device(bool emulated) {
    device_instructions_ = gpu_instructions();
    reports_accesses_ = emulated;
    device_ops_ = emulated ? emulated_ops() : nvptx_ops(*target_.machine.gpu);
    if (emulated) return;
    device_machine_ = make_nvptx_machine(*target_.machine.gpu);
    device_module_ = std::make_unique<llvm::Module>("polyte_device", context_);
    device_module_->setTargetTriple(nvptx_triple());
    device_module_->setDataLayout(device_machine_->createDataLayout());
  }

  std::string names() const {
    std::string text;
    for (const Kernel& kernel : kernels_)
      text += (text.empty() ? "" : "', '") + kernel.program.name;
    return text;
  }

  // Refuses an instruction that the target lacks, by its name and before anything is emitted: LLVM
  // would fail in selection, without saying which directive asked for it.
  void check_instructions(const Kernel& kernel) const {
    ir::for_each_stmt(kernel.program.body, [&](const ir::Stmt& s) {
      const auto* tensorized = std::get_if<ir::Tensorized>(&s->op);
      const ir::Intrinsic* row = tensorized ? ir::find_intrinsic(tensorized->intrinsic) : nullptr;
      if (!row) return;  // what lowering has put in is there where it does so
      const std::string missing = ir::missing_for(*row, target_.machine);
      if (!missing.empty())
        throw UserError(ExitStatus::Unsupported, "kernel '" + kernel.program.name +
                                                     "': tensorize with " + tensorized->intrinsic +
                                                     " needs " + missing + ", which " +
                                                     target_.machine.cpu + " does not have");
    });
  }

  void emit(const Kernel& kernel) {
    check_instructions(kernel);
    POLYTE_CHECK(module_->getFunction(kernel.program.name) == nullptr,
                 "two kernels named '" + kernel.program.name + "' in one object");
    ObjectCode::KernelInfo info{kernel.program.name, plan_scratch(kernel.program), {}, {}};
    KernelContext context{
        *module_, host_.machine, *instructions_, kernel, info.scratch, info.notes, {}, 0};
    context.loaded = loaded_buffers(kernel.program);
    if (device_ops_) {
      Device device{device_module_ ? *device_module_ : *module_, target_.machine,
                    *device_instructions_, *device_ops_, info.launches};
      context.device = &device;
      emit_kernel(context);
    } else {
      emit_kernel(context);
    }
    infos_.push_back(std::move(info));
  }

  void check_module() {
    for (const llvm::Module* module : {module_.get(), device_module_.get()}) {
      std::string problem;
      llvm::raw_string_ostream stream(problem);
      POLYTE_CHECK(!module || !llvm::verifyModule(*module, &stream),
                   "kernel '" + names() + "': emitted invalid IR: " + problem);
    }
  }

  static VectorRegisters registers_of(const Machine& machine) {
    const int of_constants = machine.has("avx512f") ? 0 : kConstantRegisters;
    return {static_cast<std::size_t>(std::max(1, machine.vector_registers - of_constants)),
            static_cast<std::size_t>(machine.vector_bits)};
  }

  // Light passes only: vectors, unrolling and address sums are in place already, as the schedule
  // chose them, so LLVM's loop passes are left out. mem2reg turns the slots of register cells into
  // SSA values. On CPUs one is left of loads of one element with stores to other buffers alone in
  // between, and of stores the last, where nothing reads the element before it: rows side by side
  // that add to one vector store it once; extrema of lanes are taken in pairs, and long chains of
  // operations go side by side in its `registers`. GPU code (no registers) stays as prepare_reports
  // has it, without that.
  static void simplify(llvm::Module& module, llvm::TargetMachine& machine,
                       const Instructions& instructions, const VectorRegisters& registers) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager calls;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(&machine);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(calls);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, calls, modules);

    llvm::FunctionPassManager passes;
    passes.addPass(llvm::PromotePass());
    const bool is_of_cpu = registers.count > 0;
    passes.addPass(llvm::EarlyCSEPass(is_of_cpu));
    if (is_of_cpu) passes.addPass(llvm::DSEPass());
    for (llvm::Function& function : module) {
      if (function.isDeclaration()) continue;
      passes.run(function, functions);
      if (!is_of_cpu) continue;
      reduce_lanes(function);
      lower_extrema(function, instructions);
      interleave_chains(function, functions.getResult<llvm::AAManager>(function), registers);
    }
  }

  static void run_passes(llvm::Module& module, llvm::TargetMachine& machine,
                         const Instructions& instructions, const VectorRegisters& registers,
                         Output output, llvm::SmallString<0>& text) {
    simplify(module, machine, instructions, registers);
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    // Without the target's costs, masked accesses are taken apart lane by lane.
    passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
    passes.add(llvm::createScopedNoAliasAAWrapperPass());
    if (output != Output::Ir) {
      const auto type = output == Output::Object ? llvm::CodeGenFileType::ObjectFile
                                                 : llvm::CodeGenFileType::AssemblyFile;
      if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) {
        llvm::report_fatal_error("this target cannot emit files", false);
      }
    }
    passes.run(module);
    if (output == Output::Ir) module.print(stream, nullptr);
  }

  // Brings the code to the form in which the device runs it before accesses are reported: values in
  // registers, one load of what is loaded twice, masked accesses lane by lane.
  void prepare_reports() {
    const AccessNames names = access_names(*module_);
    simplify(*module_, *machine_, *instructions_, {});
    llvm::legacy::PassManager passes;
    passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());
    passes.run(*module_);
    report_accesses(*module_, names);
  }
};

}  // namespace

ObjectCode compile(std::span<const Kernel> kernels, const Target& target,
                   const CodegenOptions& options) {
  Job job(kernels, target, options);
  job.add_interfaces();
  ObjectCode object;
  object.bytes = job.run(Job::Output::Object);
  object.device = job.device_text(Job::Output::Assembly);
  object.kernels = job.take_infos();
  return object;
}

std::string emit_llvm_ir(std::span<const Kernel> kernels, const Target& target,
                         const CodegenOptions& options) {
  Job job(kernels, target, options);
  const std::string device = job.device_text(Job::Output::Ir);
  return device.empty() ? job.run(Job::Output::Ir) : device;
}

std::string emit_asm(std::span<const Kernel> kernels, const Target& target,
                     const CodegenOptions& options) {
  Job job(kernels, target, options);
  const std::string device = job.device_text(Job::Output::Assembly);
  return device.empty() ? job.run(Job::Output::Assembly) : device;
}

}  // namespace polyte::codegen
