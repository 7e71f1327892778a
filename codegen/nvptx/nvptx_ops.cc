#include "codegen/nvptx/nvptx_ops.h"

#include "codegen/common/emitter.h"
#include "codegen/nvptx/assembler.h"
#include "support/error.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetOptions.h>

namespace polyte::codegen {
namespace {

namespace id = llvm::Intrinsic;
using Value = llvm::Value;

constexpr const char* kTriple = "nvptx64-nvidia-cuda";
constexpr const char* kPtxVersion = "+ptx83";  // drivers from CUDA 12.3 on

class NvptxOps final : public DeviceOps {
 public:
  explicit NvptxOps(const Gpu& gpu)
      : DeviceOps({.global = 1, .shared = 3}), architecture_(architecture_of(gpu)) {}

  Kernel make_kernel(KernelContext& context, const std::string& name,
                     const std::vector<llvm::Type*>& arguments,
                     std::int64_t threads) const override {
    llvm::Module& module = context.module;
    llvm::LLVMContext& llvm_context = module.getContext();
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(llvm_context), arguments, false);
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
    function->setCallingConv(llvm::CallingConv::PTX_Kernel);
    function->addFnAttr("target-cpu", architecture_);
    function->addFnAttr("target-features", kPtxVersion);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    annotate(module, *function, "kernel", 1);
    // Without it ptxas gives a thread no more registers than blocks of 1024 threads can have.
    annotate(module, *function, "maxntidx", threads);
    Kernel kernel{function, {}};
    for (llvm::Argument& argument : function->args()) kernel.arguments.push_back(&argument);
    return kernel;
  }

  Value* thread(Builder& b) const override { return number(b, id::nvvm_read_ptx_sreg_tid_x); }
  Value* block(Builder& b, int axis) const override {
    constexpr id::ID kAxes[] = {id::nvvm_read_ptx_sreg_ctaid_x, id::nvvm_read_ptx_sreg_ctaid_y,
                                id::nvvm_read_ptx_sreg_ctaid_z};
    return number(b, kAxes[axis]);
  }

  // Dynamic shared memory, whose size the launch says: one external array of no elements per
  // module.
  Value* shared_memory(Builder& b) const override {
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    constexpr const char* kName = "polyte_shared";
    if (llvm::GlobalVariable* known = module.getNamedGlobal(kName)) return known;
    auto* bytes = llvm::ArrayType::get(b.getInt8Ty(), 0);
    auto* memory = new llvm::GlobalVariable(  // NOLINT: the module owns it
        module, bytes, false, llvm::GlobalValue::ExternalLinkage, nullptr, kName, nullptr,
        llvm::GlobalValue::NotThreadLocal, spaces.shared);
    memory->setAlignment(llvm::Align(static_cast<std::uint64_t>(kSharedAlignment)));
    return memory;
  }

  void barrier(Builder& b, bool of_warp) const override {
    if (of_warp) {
      b.CreateIntrinsic(id::nvvm_bar_warp_sync, {}, {b.getInt32(0xffffffff)});
    } else {
      b.CreateIntrinsic(id::nvvm_barrier0, {}, {});
    }
  }

  // `.cg` bypasses L1 and exists for 16 bytes alone; 4 and 8 bytes have to take `.ca` (PTX ISA,
  // "cp.async"). Bytes beyond `src-size`, the last operand, are written as zeros: with a size of 0,
  // all of them.
  llvm::CallInst* copy_async(Builder& b, Value* to, Value* from, int bytes,
                             Value* is_given) const override {
    if (is_given == nullptr) {
      const id::ID copy = bytes == 4   ? id::nvvm_cp_async_ca_shared_global_4
                          : bytes == 8 ? id::nvvm_cp_async_ca_shared_global_8
                                       : id::nvvm_cp_async_cg_shared_global_16;
      return b.CreateIntrinsic(copy, {}, {to, from});
    }
    const id::ID copy = bytes == 4   ? id::nvvm_cp_async_ca_shared_global_4_s
                        : bytes == 8 ? id::nvvm_cp_async_ca_shared_global_8_s
                                     : id::nvvm_cp_async_cg_shared_global_16_s;
    Value* given =
        b.CreateSelect(is_given, b.getInt32(static_cast<std::uint32_t>(bytes)), b.getInt32(0));
    return b.CreateIntrinsic(copy, {}, {to, from, given});
  }
  void copy_group(Builder& b, const ir::CopyGroup& group) const override {
    if (group.wait) {
      b.CreateIntrinsic(id::nvvm_cp_async_wait_group, {},
                        {b.getInt32(static_cast<std::uint32_t>(group.pending))});
    } else {
      b.CreateIntrinsic(id::nvvm_cp_async_commit_group, {}, {});
    }
  }

  std::vector<Value*> multiply(Builder& b, const ir::Intrinsic& row, const std::vector<Value*>& a,
                               const std::vector<Value*>& other,
                               const std::vector<Value*>& c) const override {
    if (row.call.llvm.empty()) return multiply_by_text(b, row, a, other, c);
    const id::ID which = llvm::Function::lookupIntrinsicID(row.call.llvm);
    POLYTE_CHECK(which != id::not_intrinsic, "LLVM has no '" + row.call.llvm + "'");
    llvm::Function* function = id::getDeclaration(b.GetInsertBlock()->getModule(), which);
    std::vector<Value*> arguments;
    for (const auto* operand : {&a, &other, &c})
      for (Value* value : *operand) {
        llvm::Type* type =
            function->getFunctionType()->getParamType(static_cast<unsigned>(arguments.size()));
        arguments.push_back(b.CreateBitCast(value, type));
      }
    return parts(b, b.CreateCall(function, arguments), c.size());
  }

  std::vector<Value*> load_matrices(Builder& b, Value* row, int count, bool transposed,
                                    llvm::CallInst*& access) const override {
    const id::ID which = count == 4 ? transposed ? id::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                                                 : id::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16
                         : transposed ? id::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16
                                      : id::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16;
    access = b.CreateIntrinsic(which, {row->getType()}, {row});
    return parts(b, access, static_cast<std::size_t>(count));
  }

  Value* to_tf32(Builder& b, Value* value) const override {
    return b.CreateIntrinsic(id::nvvm_f2tf32_rna, {}, {value});
  }

  // LLVM has no intrinsics for products of a warpgroup (wgmma): they are written as PTX.
  std::vector<Value*> multiply_shared(Builder& b, const ir::Intrinsic& row,
                                      const std::array<Value*, 2>& operands,
                                      const std::array<bool, 2>& across,
                                      const std::vector<Value*>& c) const override {
    // Operands that are changed have two numbers, as results and as inputs tied to these: the next
    // operand comes after both.
    const std::string first = std::to_string(2 * c.size()),
                      second = std::to_string(2 * c.size() + 1);
    const auto flag = [](bool set) { return std::string(set ? ", 1" : ", 0"); };
    // Adds to c (scale-d), neither operand negated.
    const std::string text = row.call.ptx + " {" + numbered(0, c.size()) + "}, $" + first + ", $" +
                             second + ", 1, 1, 1" + flag(across[0]) + flag(across[1]) + ";";
    return on_registers(b, text, c, {operands[0], operands[1]});
  }
  // The fence stands between other uses of the registers and the products, the wait between the
  // products and what uses their sums. Both take the registers and give them back, so that LLVM
  // moves no use of them across.
  std::vector<Value*> product_group(Builder& b, const ir::ProductGroup& group,
                                    const std::vector<Value*>& values) const override {
    using Step = ir::ProductGroup::Step;
    if (group.step == Step::Commit)
      return on_registers(b, "wgmma.commit_group.sync.aligned;", {}, {});
    if (group.step == Step::Open) return on_registers(b, "wgmma.fence.sync.aligned;", values, {});
    return on_registers(b, "wgmma.wait_group.sync.aligned " + std::to_string(group.pending) + ";",
                        values, {});
  }
  void fence_products(Builder& b) const override {
    on_registers(b, "fence.proxy.async.shared::cta;", {}, {});
  }
  Value* shared_address(Builder& b, Value* pointer) const override {
    return b.CreatePtrToInt(pointer, b.getInt32Ty());
  }

  Register exchange(Builder& b, const Register& own, Value* lane) const override {
    // All 32 lanes of a warp take part.
    constexpr std::uint32_t kAllLanes = 0xffffffff, kWholeWarp = 0x1f;
    Value* from = b.CreateTrunc(lane, b.getInt32Ty());
    return {b.CreateIntrinsic(id::nvvm_shfl_sync_idx_i32, {},
                              {b.getInt32(kAllLanes), own.value, from, b.getInt32(kWholeWarp)}),
            nullptr};
  }

  llvm::Constant* emulated_entry(llvm::Module& host, const Kernel&) const override {
    return llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(host.getContext()));
  }

 private:
  std::string architecture_;

  // Instructions without an intrinsic of LLVM, written as PTX.
  static std::vector<Value*> multiply_by_text(Builder& b, const ir::Intrinsic& row,
                                              const std::vector<Value*>& a,
                                              const std::vector<Value*>& other,
                                              const std::vector<Value*>& c) {
    std::vector<Value*> read = a;
    read.insert(read.end(), other.begin(), other.end());
    const std::string sums = "{" + numbered(0, c.size()) + "}";
    const std::size_t first = 2 * c.size();  // what is changed is numbered twice
    return on_registers(b,
                        row.call.ptx + " " + sums + ", {" + numbered(first, a.size()) + "}, {" +
                            numbered(first + a.size(), other.size()) + "}, " + sums + ";",
                        c, read);
  }

  static std::vector<Value*> parts(Builder& b, Value* all, std::size_t count) {
    std::vector<Value*> result;
    for (unsigned i = 0; i < count; ++i) result.push_back(b.CreateExtractValue(all, i));
    return result;
  }

  // "$0, $1, $2": operands of LLVM's inline assembly.
  static std::string numbered(std::size_t first, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
      text += (i > 0 ? ", $" : "$") + std::to_string(first + i);
    return text;
  }

  static std::string constraint_of(llvm::Type* type) {
    if (type->isDoubleTy()) return "d";
    if (type->isFloatTy()) return "f";
    return type->isIntegerTy(64) ? "l" : "r";
  }

  // Assembly that changes registers, and reads what else is given. A changed register is an output,
  // and an input tied to it by its number ("=f,..,0,.."), as LLVM's inline assembly has no operand
  // that is both. With side effects and a clobber of memory it stays in its place among other
  // accesses; convergent, it is not moved under a condition that lanes differ in.
  static std::vector<Value*> on_registers(Builder& b, const std::string& text,
                                          const std::vector<Value*>& changed,
                                          const std::vector<Value*>& read) {
    std::string constraints;
    std::vector<llvm::Type*> results, types;
    std::vector<Value*> arguments = changed;
    arguments.insert(arguments.end(), read.begin(), read.end());
    for (Value* value : changed) {
      constraints += "=" + constraint_of(value->getType()) + ",";
      results.push_back(value->getType());
    }
    for (std::size_t i = 0; i < changed.size(); ++i) constraints += std::to_string(i) + ",";
    for (Value* value : read) constraints += constraint_of(value->getType()) + ",";
    for (Value* value : arguments) types.push_back(value->getType());
    llvm::Type* result = results.empty()       ? b.getVoidTy()
                         : results.size() == 1 ? results.front()
                                               : llvm::StructType::get(b.getContext(), results);
    auto* type = llvm::FunctionType::get(result, types, false);
    llvm::CallInst* call = b.CreateCall(
        type, llvm::InlineAsm::get(type, text, constraints + "~{memory}", true), arguments);
    call->setConvergent();
    if (results.size() == 1) return {call};
    return parts(b, call, results.size());
  }

  // %tid and %ctaid are of 32 bits and unsigned (PTX ISA, "Special Registers").
  static Value* number(Builder& b, id::ID which) {
    return b.CreateZExt(b.CreateIntrinsic(which, {}, {}), b.getInt64Ty());
  }

  static void annotate(llvm::Module& module, llvm::Function& function, const char* what,
                       std::int64_t value) {
    llvm::LLVMContext& context = module.getContext();
    auto* number =
        llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<std::uint64_t>(value));
    module.getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(
            context, {llvm::ValueAsMetadata::get(&function), llvm::MDString::get(context, what),
                      llvm::ConstantAsMetadata::get(number)}));
  }
};

}  // namespace

std::unique_ptr<const DeviceOps> nvptx_ops(const Gpu& gpu) {
  return std::make_unique<const NvptxOps>(gpu);
}

std::unique_ptr<const Instructions> gpu_instructions() {
  return std::make_unique<const Instructions>(
      Instructions::Has{.fma = true, .half_floats = true, .rounding = true, .libm = false});
}

std::string nvptx_triple() { return kTriple; }

std::unique_ptr<llvm::TargetMachine> make_nvptx_machine(const Gpu& gpu) {
  static const llvm::Target& target = [&]() -> const llvm::Target& {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(kTriple, error);
    POLYTE_CHECK(found != nullptr, std::string("LLVM was built without ") + kTriple + ": " + error);
    return *found;
  }();
  return std::unique_ptr<llvm::TargetMachine>(
      target.createTargetMachine(kTriple, architecture_of(gpu), kPtxVersion, llvm::TargetOptions(),
                                 std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

}  // namespace polyte::codegen
