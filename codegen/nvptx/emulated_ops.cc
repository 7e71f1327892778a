// The device's code for a CPU. A kernel is a function of the thread that it plays:
//
//   k(thread*, number, block x, y, z, shared, meet, touch, arguments ...)     what it was emitted from is what is run
//   k.emulated(thread*, arguments*)                                           loads all that and calls it
#include <cstddef>

#include "codegen/common/emitter.h"
#include "codegen/nvptx/nvptx_ops.h"
#include "support/kernel_abi.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>

namespace polyte::codegen {
namespace {

using Value = llvm::Value;

enum Place : unsigned { kThread, kNumber, kBlockX, kShared = kBlockX + 3, kMeet, kTouch, kArguments };
constexpr const char* kMark = "polyte-emulated";

class EmulatedOps final : public DeviceOps {
 public:
  EmulatedOps() : DeviceOps({.global = 0, .shared = 0}) {}

  Kernel make_kernel(KernelContext& context, const std::string& name, const std::vector<llvm::Type*>& arguments,
                     std::int64_t) const override {
    llvm::LLVMContext& llvm_context = context.module.getContext();
    llvm::Type* const pointer = llvm::PointerType::getUnqual(llvm_context);
    llvm::Type* const number = llvm::Type::getInt64Ty(llvm_context);
    std::vector<llvm::Type*> all = {pointer, number, number, number, number, pointer, pointer, pointer};
    all.insert(all.end(), arguments.begin(), arguments.end());
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(llvm_context), all, false);
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, context.module);
    function->addFnAttr(kMark);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    Kernel kernel{function, {}};
    for (unsigned i = 0; i < arguments.size(); ++i) kernel.arguments.push_back(function->getArg(kArguments + i));
    return kernel;
  }

  Value* thread(Builder& b) const override { return own(b, kNumber); }
  Value* block(Builder& b, int axis) const override { return own(b, kBlockX + static_cast<unsigned>(axis)); }
  Value* shared_memory(Builder& b) const override { return own(b, kShared); }

  void barrier(Builder& b, bool of_warp) const override {
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
    b.CreateCall(type, own(b, kMeet), {own(b, kThread), b.getInt64(of_warp ? 1 : 0), b.getInt64(count_calls(b))});
  }

  llvm::Constant* emulated_entry(llvm::Module& module, const Kernel& kernel) const override {
    llvm::Function* const inner = kernel.function;
    llvm::IRBuilder<> b(module.getContext());
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()}, false);
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, inner->getName() + ".emulated", module);
    b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function));
    Value* const thread = function->getArg(0);
    const auto member = [&](std::size_t offset, llvm::Type* of) {
      return b.CreateLoad(of, b.CreateGEP(b.getInt8Ty(), thread, b.getInt64(offset)));
    };
    std::vector<Value*> values = {thread, member(offsetof(polyte_emulated_thread, thread), b.getInt64Ty())};
    for (std::size_t axis = 0; axis < 3; ++axis)
      values.push_back(member(offsetof(polyte_emulated_thread, block) + 8 * axis, b.getInt64Ty()));
    for (const std::size_t offset : {offsetof(polyte_emulated_thread, shared), offsetof(polyte_emulated_thread, meet),
                                     offsetof(polyte_emulated_thread, touch)})
      values.push_back(member(offset, b.getPtrTy()));
    for (unsigned i = kArguments; i < inner->arg_size(); ++i) {
      Value* place = b.CreateGEP(b.getPtrTy(), function->getArg(1), b.getInt64(i - kArguments));
      values.push_back(b.CreateLoad(inner->getArg(i)->getType(), b.CreateLoad(b.getPtrTy(), place)));
    }
    b.CreateCall(inner, values);
    b.CreateRetVoid();
    return function;
  }

 private:
  static Value* own(Builder& b, unsigned place) { return b.GetInsertBlock()->getParent()->getArg(place); }

  // Of barriers so far, which is the number of the next.
  static std::uint64_t count_calls(Builder& b) {
    std::uint64_t count = 0;
    for (const llvm::BasicBlock& block : *b.GetInsertBlock()->getParent())
      for (const llvm::Instruction& instruction : block)
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) count += call->isIndirectCall() ? 1 : 0;
    return count;
  }
};

struct Touched {
  llvm::Instruction* instruction;
  Value* address;
  llvm::Type* type;
  bool write;
};

std::vector<Touched> accesses_of(llvm::Function& function) {
  std::vector<Touched> all;
  const auto add = [&](llvm::Instruction& at, Value* address, llvm::Type* type, bool write) {
    if (!llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(address))) all.push_back({&at, address, type, write});
  };
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& at : block) {
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&at)) add(at, load->getPointerOperand(), load->getType(), false);
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&at))
        add(at, store->getPointerOperand(), store->getValueOperand()->getType(), true);
    }
  }
  return all;
}

}  // namespace

std::unique_ptr<const DeviceOps> emulated_ops() { return std::make_unique<const EmulatedOps>(); }

// Atomic accesses order themselves: they are not reported.
void report_accesses(llvm::Module& module) {
  const llvm::DataLayout& layout = module.getDataLayout();
  for (llvm::Function& function : module) {
    if (!function.hasFnAttribute(kMark)) continue;
    std::uint64_t place = 0;
    for (const Touched& touched : accesses_of(function)) {
      if (touched.instruction->isAtomic()) continue;
      llvm::IRBuilder<> b(touched.instruction);
      auto* type = llvm::FunctionType::get(
          b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty(), b.getInt64Ty()}, false);
      b.CreateCall(
          type, function.getArg(kTouch),
          {function.getArg(kThread), touched.address, b.getInt64(layout.getTypeStoreSize(touched.type).getFixedValue()),
           b.getInt64(touched.write ? 1 : 0), b.getInt64(place++)});
    }
  }
}

}  // namespace polyte::codegen
