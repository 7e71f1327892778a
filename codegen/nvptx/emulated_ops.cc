// The device's code for a CPU. A kernel is a function of the thread that it emulates:
//
//   k(thread*, number, block x, y, z, shared, meet, touch, copy, group, multiply, load,
//     multiply shared, product group, fence products, exchange, use, arguments ...)
//                                        what is run
//   k.emulated(thread*, arguments*)      loads all that and calls it
#include <algorithm>
#include <cstddef>
#include <map>

#include "codegen/common/emitter.h"
#include "codegen/nvptx/moved_values.h"
#include "codegen/nvptx/nvptx_ops.h"
#include "support/kernel_abi.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

namespace polyte::codegen {
namespace {

using Value = llvm::Value;

// The parameters of a kernel, in order: loaded by its entry once, so that LLVM sees values that
// do not change, where loads from the thread's record could be thought to.
enum Place : unsigned {
  AtThread,
  AtNumber,
  AtBlockX,
  AtShared = AtBlockX + 3,
  AtMeet,
  AtTouch,
  AtCopy,
  AtGroup,
  AtMultiply,
  AtLoad,
  AtMultiplyShared,
  AtProductGroup,
  AtFenceProducts,
  AtExchange,
  AtUse,
  AtArguments
};
constexpr const char* kMark = "polyte-emulated";
constexpr const char *kAccess = "polyte.access", *kCounter = "polyte.counter",
                     *kCopied = "polyte.copied",
                     *kMatrices = "polyte.matrices";  // metadata

class EmulatedOps final : public DeviceOps {
 public:
  EmulatedOps() : DeviceOps({.global = 0, .shared = 0}) {}

  Kernel make_kernel(KernelContext& context, const std::string& name,
                     const std::vector<llvm::Type*>& arguments, std::int64_t) const override {
    llvm::LLVMContext& llvm_context = context.module.getContext();
    llvm::Type* const pointer = llvm::PointerType::getUnqual(llvm_context);
    llvm::Type* const number = llvm::Type::getInt64Ty(llvm_context);
    std::vector<llvm::Type*> all(AtArguments, pointer);
    std::fill(all.begin() + AtNumber, all.begin() + AtShared, number);
    all.insert(all.end(), arguments.begin(), arguments.end());
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(llvm_context), all, false);
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, context.module);
    function->addFnAttr(kMark);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    Kernel kernel{function, {}};
    for (unsigned i = 0; i < arguments.size(); ++i)
      kernel.arguments.push_back(function->getArg(AtArguments + i));
    return kernel;
  }

  // report_accesses fills in the two null pointers and the last operand.
  llvm::CallInst* copy_async(Builder& b, Value* to, Value* from, int bytes,
                             Value* is_given) const override {
    auto* type = llvm::FunctionType::get(b.getVoidTy(),
                                         {b.getPtrTy(), b.getPtrTy(), b.getPtrTy(), b.getPtrTy(),
                                          b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()},
                                         false);
    auto* none = llvm::ConstantPointerNull::get(b.getPtrTy());
    Value* all = b.getInt64(static_cast<std::uint64_t>(bytes));
    Value* given = is_given != nullptr ? b.CreateSelect(is_given, all, b.getInt64(0)) : all;
    return b.CreateCall(type, own(b, AtCopy), {own(b, AtThread), to, from, none, none, given, all});
  }
  void copy_group(Builder& b, const ir::CopyGroup& group) const override {
    auto* type = llvm::FunctionType::get(b.getVoidTy(),
                                         {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
    b.CreateCall(type, own(b, AtGroup),
                 {own(b, AtThread), b.getInt64(group.wait ? 1 : 0),
                  b.getInt64(static_cast<std::uint64_t>(group.pending))});
  }

  std::vector<Value*> multiply(Builder& b, const ir::Intrinsic& row, const std::vector<Value*>& a,
                               const std::vector<Value*>& other,
                               const std::vector<Value*>& c) const override {
    std::vector<Value*> operands = a;
    operands.insert(operands.end(), other.begin(), other.end());
    operands.insert(operands.end(), c.begin(), c.end());
    Value *in = stored(b, operands), *out = registers(b, c.size() * words_of(c.front()->getType()));
    auto* type = llvm::FunctionType::get(
        b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getPtrTy(), b.getPtrTy()}, false);
    b.CreateCall(type, own(b, AtMultiply),
                 {own(b, AtThread), b.CreateGlobalString(row.call.ptx), in, out});
    return loaded(b, out, c.size(), c.front()->getType());
  }

  std::vector<Value*> load_matrices(Builder& b, Value* row, int count, bool transposed,
                                    llvm::CallInst*& access) const override {
    Value* out = registers(b, static_cast<std::size_t>(count));
    auto* type =
        llvm::FunctionType::get(b.getVoidTy(),
                                {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty(),
                                 b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()},
                                false);
    access = b.CreateCall(type, own(b, AtLoad),
                          {own(b, AtThread), row, b.getInt64(static_cast<std::uint64_t>(count)),
                           b.getInt64(transposed ? 1 : 0), out,
                           llvm::ConstantPointerNull::get(b.getPtrTy()), b.getInt64(0)});
    access->setMetadata(kMatrices, llvm::MDNode::get(b.getContext(), {}));
    return loaded(b, out, static_cast<std::size_t>(count), b.getInt32Ty());
  }

  // As cvt.rna: to nearest, ties away from zero. Half a unit is added to the magnitude.
  Value* to_tf32(Builder& b, Value* value) const override {
    Value* bits = b.CreateBitCast(value, b.getInt32Ty());
    Value* kept = b.CreateAnd(b.CreateAdd(bits, b.getInt32(0x1000)), b.getInt32(0xffffe000));
    return b.CreateSelect(b.CreateFCmpUNO(value, value), b.getInt32(0x7fffe000), kept);
  }

  std::vector<Value*> multiply_shared(Builder& b, const ir::Intrinsic& row,
                                      const std::array<Value*, 2>& operands,
                                      const std::array<bool, 2>& across,
                                      const std::vector<Value*>& c) const override {
    Value *in = stored(b, c), *out = registers(b, c.size());
    auto* type =
        llvm::FunctionType::get(b.getVoidTy(),
                                {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty(),
                                 b.getInt64Ty(), b.getInt64Ty(), b.getPtrTy(), b.getPtrTy()},
                                false);
    b.CreateCall(
        type, own(b, AtMultiplyShared),
        {own(b, AtThread), b.CreateGlobalString(row.call.ptx), operands[0], operands[1],
         b.getInt64((across[0] ? 1U : 0U) + (across[1] ? 2U : 0U)), b.getInt64(c.size()), in, out});
    return loaded(b, out, c.size(), c.front()->getType());
  }
  std::vector<Value*> product_group(Builder& b, const ir::ProductGroup& group,
                                    const std::vector<Value*>& values) const override {
    Value *in = stored(b, values), *out = registers(b, values.size());
    auto* type = llvm::FunctionType::get(
        b.getVoidTy(),
        {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty(), b.getInt64Ty(), b.getPtrTy(), b.getPtrTy()},
        false);
    b.CreateCall(type, own(b, AtProductGroup),
                 {own(b, AtThread), b.getInt64(static_cast<std::uint64_t>(group.step)),
                  b.getInt64(static_cast<std::uint64_t>(group.pending)), b.getInt64(values.size()),
                  in, out});
    if (group.step != ir::ProductGroup::Step::Wait || values.empty()) return values;
    return loaded(b, out, values.size(), values.front()->getType());
  }
  void fence_products(Builder& b) const override {
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
    b.CreateCall(type, own(b, AtFenceProducts), {own(b, AtThread)});
  }
  Value* shared_address(Builder& b, Value* pointer) const override {
    Value* offset = b.CreatePtrDiff(b.getInt8Ty(), pointer, own(b, AtShared));
    return b.CreateTrunc(b.CreateAdd(offset, b.getInt64(POLYTE_EMULATED_SHARED)), b.getInt32Ty());
  }

  bool watches_registers() const override { return true; }
  // A value of 32 bits travels with its bit `written` as bit 32.
  Register exchange(Builder& b, const Register& own, Value* lane) const override {
    Value* written = b.CreateShl(b.CreateZExt(own.written, b.getInt64Ty()), 32);
    Value* brought = b.CreateOr(b.CreateZExt(own.value, b.getInt64Ty()), written);
    auto* type = llvm::FunctionType::get(b.getInt64Ty(),
                                         {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
    Value* got = b.CreateCall(type, EmulatedOps::own(b, AtExchange),
                              {EmulatedOps::own(b, AtThread), brought, lane});
    return {b.CreateTrunc(got, b.getInt32Ty()),
            b.CreateTrunc(b.CreateLShr(got, 32), b.getInt1Ty())};
  }
  void use(Builder& b, Value* written, const std::string& statement,
           const std::string& buffer) const override {
    auto* type = llvm::FunctionType::get(
        b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()}, false);
    llvm::CallInst* call =
        b.CreateCall(type, own(b, AtUse),
                     {own(b, AtThread), b.CreateGlobalString(statement),
                      b.CreateGlobalString(buffer), b.CreateZExt(written, b.getInt64Ty())});
    call->setOnlyReadsMemory();  // loads stay known across it, as on the GPU, where it is not
  }

  void name_copy(llvm::CallInst& copy, const std::string& statement, const std::string& to,
                 const std::string& from) const override {
    name_access(copy, statement, to);
    copy.setMetadata(kCopied, llvm::MDNode::get(copy.getContext(),
                                                {llvm::MDString::get(copy.getContext(), from)}));
  }
  void name_access(llvm::Instruction& access, const std::string& statement,
                   const std::string& buffer) const override {
    llvm::LLVMContext& context = access.getContext();
    access.setMetadata(
        kAccess, llvm::MDNode::get(
                     context, {llvm::MDString::get(context, statement.empty() ? buffer : statement),
                               llvm::MDString::get(context, buffer)}));
  }
  void mark_counter(llvm::PHINode& counter) const override {
    counter.setMetadata(kCounter, llvm::MDNode::get(counter.getContext(), {}));
  }

  Value* thread(Builder& b) const override { return own(b, AtNumber); }
  Value* block(Builder& b, int axis) const override {
    return own(b, AtBlockX + static_cast<unsigned>(axis));
  }
  Value* shared_memory(Builder& b) const override { return own(b, AtShared); }

  void barrier(Builder& b, bool of_warp) const override {
    auto* type = llvm::FunctionType::get(b.getVoidTy(),
                                         {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
    b.CreateCall(type, own(b, AtMeet),
                 {own(b, AtThread), b.getInt64(of_warp ? 1 : 0), b.getInt64(count_calls(b))});
  }

  llvm::Constant* emulated_entry(llvm::Module& module, const Kernel& kernel) const override {
    llvm::Function* const inner = kernel.function;
    llvm::IRBuilder<> b(module.getContext());
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()}, false);
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                            inner->getName() + ".emulated", module);
    b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function));
    Value* const thread = function->getArg(0);
    const auto member = [&](std::size_t offset, llvm::Type* of) {
      return b.CreateLoad(of, b.CreateGEP(b.getInt8Ty(), thread, b.getInt64(offset)));
    };
    std::vector<Value*> values = {thread,
                                  member(offsetof(polyte_emulated_thread, thread), b.getInt64Ty())};
    for (std::size_t axis = 0; axis < 3; ++axis)
      values.push_back(member(offsetof(polyte_emulated_thread, block) + 8 * axis, b.getInt64Ty()));
    for (const std::size_t offset :
         {offsetof(polyte_emulated_thread, shared), offsetof(polyte_emulated_thread, meet),
          offsetof(polyte_emulated_thread, touch), offsetof(polyte_emulated_thread, copy),
          offsetof(polyte_emulated_thread, group), offsetof(polyte_emulated_thread, multiply),
          offsetof(polyte_emulated_thread, load_matrices),
          offsetof(polyte_emulated_thread, multiply_shared),
          offsetof(polyte_emulated_thread, product_group),
          offsetof(polyte_emulated_thread, fence_products),
          offsetof(polyte_emulated_thread, exchange), offsetof(polyte_emulated_thread, use)})
      values.push_back(member(offset, b.getPtrTy()));
    for (unsigned i = AtArguments; i < inner->arg_size(); ++i) {
      Value* place = b.CreateGEP(b.getPtrTy(), function->getArg(1), b.getInt64(i - AtArguments));
      values.push_back(
          b.CreateLoad(inner->getArg(i)->getType(), b.CreateLoad(b.getPtrTy(), place)));
    }
    b.CreateCall(inner, values);
    b.CreateRetVoid();
    return function;
  }

 private:
  static Value* own(Builder& b, unsigned place) {
    return b.GetInsertBlock()->getParent()->getArg(place);
  }

  // Words of 32 bits, the emulator's registers: a longer value takes two.
  static std::size_t words_of(llvm::Type* type) { return type->getPrimitiveSizeInBits() / 32; }
  static Value* registers(Builder& b, std::size_t count) {
    llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
    Builder at_entry(&entry, entry.begin());
    return at_entry.CreateAlloca(b.getInt32Ty(), b.getInt64(count));
  }
  static Value* stored(Builder& b, const std::vector<Value*>& values) {
    const std::size_t words = values.empty() ? 1 : words_of(values.front()->getType());
    Value* all = registers(b, values.size() * words);
    for (std::size_t i = 0; i < values.size(); ++i)
      b.CreateAlignedStore(values[i], b.CreateGEP(b.getInt32Ty(), all, b.getInt64(i * words)),
                           llvm::Align(4));
    return all;
  }
  static std::vector<Value*> loaded(Builder& b, Value* registers, std::size_t count,
                                    llvm::Type* type) {
    std::vector<Value*> values;
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(b.CreateAlignedLoad(
          type, b.CreateGEP(b.getInt32Ty(), registers, b.getInt64(i * words_of(type))),
          llvm::Align(4)));
    return values;
  }

  // Number of the calls into the emulator so far in the function's text: no two barriers have the
  // same.
  static std::uint64_t count_calls(Builder& b) {
    std::uint64_t count = 0;
    for (const llvm::BasicBlock& block : *b.GetInsertBlock()->getParent())
      for (const llvm::Instruction& instruction : block)
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
          count += call->isIndirectCall() ? 1 : 0;
    return count;
  }
};

struct Touched {
  llvm::Instruction* instruction;
  Value* address;
  llvm::Type* type;
  std::int64_t alignment;
  int write;           // as in polyte_access
  bool moved = false;  // a load
};

// Accesses to memory that other threads see, and to the thread's own memory where it may hold
// copies of elements that were never written.
std::vector<Touched> accesses_of(llvm::Function& function, const MovedValues& moved) {
  std::vector<Touched> all;
  const auto add = [&](auto& at, llvm::Type* type, int write) {
    const Value* object = llvm::getUnderlyingObject(at.getPointerOperand());
    if (llvm::isa<llvm::AllocaInst>(object) && !moved.is_followed(object)) return;
    all.push_back({&at, at.getPointerOperand(), type,
                   static_cast<std::int64_t>(at.getAlign().value()), write, moved.is_moved(at)});
  };
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& at : block) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&at);
      // An atomic load is only the first look of a loop around an exchange.
      if (load != nullptr && !load->isAtomic()) add(*load, load->getType(), 0);
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&at))
        add(*store, store->getValueOperand()->getType(), 1);
      if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&at))
        add(*update, update->getType(), POLYTE_ATOMIC);
      if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&at))
        add(*exchange, exchange->getNewValOperand()->getType(), POLYTE_ATOMIC);
    }
  }
  return all;
}

// The value that tells one execution of a block from another: of the counters of the loops around
// it, outside * odd + counter, modulo 2^64. A hash: that two executions of different counters agree
// by accident is possible, and unlikely.
class Iterations {
 public:
  explicit Iterations(llvm::Function& function) : tree_(function), loops_(tree_) {}

  Value* at(llvm::BasicBlock& block) {
    llvm::Loop* loop = loops_.getLoopFor(&block);
    return loop != nullptr ? within(*loop)
                           : llvm::ConstantInt::get(llvm::Type::getInt64Ty(block.getContext()),
                                                    std::uint64_t{0});
  }

 private:
  llvm::DominatorTree tree_;
  llvm::LoopInfo loops_;
  std::map<llvm::Loop*, Value*> known_;

  Value* within(llvm::Loop& loop) {
    Value*& value = known_[&loop];
    if (value != nullptr) return value;
    llvm::IRBuilder<> b(loop.getHeader(), loop.getHeader()->getFirstInsertionPt());
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    Value* outside =
        loop.getParentLoop() != nullptr ? within(*loop.getParentLoop()) : b.getInt64(0);
    for (llvm::PHINode& phi : loop.getHeader()->phis())
      if (phi.hasMetadata(kCounter))
        value = b.CreateAdd(b.CreateMul(outside, b.getInt64(kOdd)), &phi);
    if (value == nullptr) value = outside;  // tries again until it succeeds
    return value;
  }
};

// Loads are reported before stores, as a moved load's report gives the mask that a store's report
// takes.
class Reporter {
 public:
  explicit Reporter(llvm::Module& module) : module_(module), b_(module.getContext()) {}

  void report(llvm::Function& function, const AccessNames& names) {
    Iterations iterations(function);
    MovedValues moved(function);
    std::map<const llvm::Instruction*, llvm::Constant*> accesses;
    const std::vector<Touched> all = accesses_of(function, moved);
    const std::vector<MovedValues::Use> uses = moved.uses();
    std::int64_t place = 0;
    for (const Touched& touched : all)
      accesses[touched.instruction] =
          description(touched, name_of(touched.instruction, names), place++);
    const auto touch = [&](llvm::Instruction* before, Value* address, llvm::Constant* access,
                           Value* undefined) {
      Value* iteration = iterations.at(*before->getParent());
      b_.SetInsertPoint(before);
      auto* type = llvm::FunctionType::get(
          b_.getInt64Ty(),
          {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty()}, false);
      return b_.CreateCall(type, function.getArg(AtTouch),
                           {function.getArg(AtThread), address, access, iteration,
                            undefined != nullptr ? undefined : b_.getInt64(0)});
    };
    for (const Touched& touched : all) {
      if (touched.write != 0) continue;
      Value* mask =
          touch(touched.instruction, touched.address, accesses[touched.instruction], nullptr);
      if (touched.moved) moved.set_mask(*touched.instruction, mask);
    }
    for (const Touched& touched : all) {
      if (touched.write == 0) continue;
      auto* store = llvm::dyn_cast<llvm::StoreInst>(touched.instruction);
      touch(touched.instruction, touched.address, accesses[touched.instruction],
            store != nullptr ? moved.mask(store->getValueOperand()) : nullptr);
    }
    for (const MovedValues::Use& use : uses)
      touch(use.user, llvm::ConstantPointerNull::get(b_.getPtrTy()), accesses[use.origin],
            moved.mask(use.value));
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& at : block)
        if (at.hasMetadata(kCopied)) {
          fill(llvm::cast<llvm::CallInst>(at), names, iterations, place);
        } else if (at.hasMetadata(kMatrices)) {
          fill_load(llvm::cast<llvm::CallInst>(at), names, iterations, place);
        }
  }

 private:
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  std::map<std::string, llvm::Constant*> texts_;

  static AccessName name_of(const llvm::Instruction* instruction, const AccessNames& names) {
    const auto found = std::ranges::find_if(names, [&](const AccessName& name) {
      return static_cast<const Value*>(name.instruction) == instruction;
    });
    return found != names.end() ? *found : AccessName{};
  }

  // The two descriptions of one copy: what it writes in shared memory, and what it reads. Both
  // are of its number of bytes, as a copy has no element type.
  void fill(llvm::CallInst& copy, const AccessNames& names, Iterations& iterations,
            std::int64_t& place) {
    const auto bytes = llvm::cast<llvm::ConstantInt>(copy.getArgOperand(6))->getSExtValue();
    llvm::Type* type = llvm::FixedVectorType::get(b_.getInt8Ty(), static_cast<unsigned>(bytes));
    AccessName name = name_of(&copy, names);
    copy.setArgOperand(3, description({&copy, nullptr, type, bytes, 1}, name, place++));
    name.buffer = llvm::cast<llvm::MDString>(copy.getMetadata(kCopied)->getOperand(0))->getString();
    copy.setArgOperand(4, description({&copy, nullptr, type, bytes, 0, true}, name, place++));
    copy.setArgOperand(6, iterations.at(*copy.getParent()));
  }

  void fill_load(llvm::CallInst& load, const AccessNames& names, Iterations& iterations,
                 std::int64_t& place) {
    llvm::Type* type =
        llvm::FixedVectorType::get(b_.getInt8Ty(), static_cast<unsigned>(ir::kMatrixRowBytes));
    load.setArgOperand(5, description({&load, nullptr, type, ir::kMatrixRowBytes, 0},
                                      name_of(&load, names), place++));
    load.setArgOperand(6, iterations.at(*load.getParent()));
  }

  llvm::Constant* text(const std::string& words) {
    llvm::Constant*& known = texts_[words];
    if (known == nullptr)
      known = constant(llvm::ConstantDataArray::getString(module_.getContext(), words));
    return known;
  }
  llvm::Constant* constant(llvm::Constant* data) {
    return new llvm::GlobalVariable(module_, data->getType(), true,  // NOLINT
                                    llvm::GlobalValue::PrivateLinkage, data);
  }

  // A polyte_access.
  llvm::Constant* description(const Touched& touched, const AccessName& name, std::int64_t place) {
    const auto number = [&](std::int64_t n) { return b_.getInt64(static_cast<std::uint64_t>(n)); };
    const auto bytes = static_cast<std::int64_t>(
        module_.getDataLayout().getTypeStoreSize(touched.type).getFixedValue());
    return constant(llvm::ConstantStruct::getAnon(
        {text(name.statement), text(name.buffer), number(place), number(bytes),
         number(touched.alignment), number(touched.write),
         number(std::max<std::int64_t>(1, bytes / std::max(1U, mask_lanes(touched.type)))),
         number(touched.moved ? 1 : 0)}));
  }
};

}  // namespace

std::unique_ptr<const DeviceOps> emulated_ops() { return std::make_unique<const EmulatedOps>(); }

AccessNames access_names(llvm::Module& module) {
  AccessNames names;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& at : block)
        if (const llvm::MDNode* node = at.getMetadata(kAccess))
          names.push_back({&at, llvm::cast<llvm::MDString>(node->getOperand(0))->getString().str(),
                           llvm::cast<llvm::MDString>(node->getOperand(1))->getString().str()});
  return names;
}

void report_accesses(llvm::Module& module, const AccessNames& names) {
  Reporter reporter(module);
  for (llvm::Function& function : module)
    if (function.hasFnAttribute(kMark)) reporter.report(function, names);
}

}  // namespace polyte::codegen
