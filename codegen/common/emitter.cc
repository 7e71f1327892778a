#include "codegen/common/emitter.h"

#include "support/error.h"

#include <llvm/IR/MDBuilder.h>

namespace polyte::codegen {

using Value = llvm::Value;

// The two widths keep vectors of 512 bits whole on x86 processors whose tuning prefers 256: LLVM
// would split them in halves otherwise.
llvm::Function* make_function(KernelContext& context, llvm::FunctionType* type,
                              llvm::GlobalValue::LinkageTypes linkage, const std::string& name) {
  llvm::Function* function = llvm::Function::Create(type, linkage, name, context.module);
  const Machine& machine = context.machine;
  const std::string width = std::to_string(machine.vector_bits);
  function->addFnAttr("target-cpu", machine.cpu);
  function->addFnAttr("target-features", feature_string(machine));
  function->addFnAttr("prefer-vector-width", width);
  function->addFnAttr("min-legal-vector-width", width);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  return function;
}

FunctionEmitter::FunctionEmitter(KernelContext& context, llvm::Function* function, bool in_parallel)
    : context_(context),
      function_(function),
      b_(context.module.getContext()),
      arithmetic_(b_, context.instructions),
      in_parallel_(in_parallel) {
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function_));
}

void FunctionEmitter::bind_interface(Value* buffers) {
  const Kernel& kernel = context_.kernel;
  std::uint64_t position = 0;
  for (const ir::Buffer& buffer : kernel.program.buffers) {
    BufferSlot slot;
    slot.name = buffer.name;
    slot.dtype = buffer.dtype;
    slot.alignment = known_alignment_of(kernel, position, context_.device != nullptr);
    Value* place = b_.CreateGEP(b_.getPtrTy(), buffers, b_.getInt64(position++));
    slot.base = b_.CreateLoad(b_.getPtrTy(), place, buffer.name);
    annotate_scope(slot, buffer.name);
    buffers_[buffer.name] = std::move(slot);
  }
  if (!kernel.program.params.empty())
    bind_params(b_.CreateGEP(b_.getPtrTy(), buffers, b_.getInt64(position)));
}

// The sizes that the caller chose: one number per parameter, in an array behind the last pointer.
void FunctionEmitter::bind_params(Value* place) {
  Value* sizes = b_.CreateLoad(b_.getPtrTy(), place, "sizes");
  std::uint64_t position = 0;
  for (const std::string& param : context_.kernel.program.params) {
    Value* size = b_.CreateGEP(b_.getInt64Ty(), sizes, b_.getInt64(position++));
    variables_[param] = {b_.CreateLoad(b_.getInt64Ty(), size, param), 0};
  }
}

void FunctionEmitter::set_workspace(Value* scratch, Value* host) {
  scratch_ = slice_ = scratch;
  host_ = host;
  status_ = stack_memory(b_.getInt32Ty(), 1, 4, "status");
  b_.CreateStore(b_.getInt32(0), status_);
}

// Markers have no users, so that they can be erased.
void FunctionEmitter::finish() {
  stream_fence();
  if (in_parallel_ || ops_ != nullptr) {
    b_.CreateRetVoid();
  } else {
    b_.CreateRet(b_.CreateLoad(b_.getInt32Ty(), status_));
  }
  for (llvm::Instruction* marker : markers_) marker->eraseFromParent();
}

namespace {

// One alias scope a buffer, or one for those that may be the same memory: accesses to different
// scopes never overlap. Sees whether a store is to be streamed.
void make_scopes(KernelContext& context) {
  llvm::MDBuilder metadata(context.module.getContext());
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain(context.kernel.program.name);
  const auto add = [&](const std::string& name) {
    const bool fresh =
        context.scopes.emplace(name, metadata.createAnonymousAliasScope(domain, name)).second;
    POLYTE_CHECK(fresh,
                 "kernel '" + context.kernel.program.name + "': two buffers named '" + name + "'");
  };
  const std::vector<ir::Buffer>& interface = context.kernel.program.buffers;
  for (const ir::Buffer& buffer : interface) add(buffer.name);
  for (const auto& [result, operand] : context.kernel.in_place) {
    llvm::MDNode* const one = context.scopes.at(interface.at(operand).name);
    llvm::MDNode* const other = context.scopes.at(interface.at(result).name);
    for (auto& [name, scope] : context.scopes) scope = scope == other ? one : scope;
  }
  ir::for_each_stmt(context.kernel.program.body, [&](const ir::Stmt& s) {
    const auto* store = std::get_if<ir::Store>(&s->op);
    context.has_streams = context.has_streams || (store != nullptr && store->nontemporal);
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) add(alloc->buffer.name);
  });
}

}  // namespace

void emit_kernel(KernelContext& context) {
  const ir::LoopProgram& program = context.kernel.program;
  make_scopes(context);
  llvm::LLVMContext& llvm_context = context.module.getContext();
  auto* pointer = llvm::PointerType::getUnqual(llvm_context);
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(llvm_context),
                                       {pointer, pointer, pointer}, false);
  llvm::Function* function =
      make_function(context, type, llvm::GlobalValue::ExternalLinkage, program.name);
  FunctionEmitter emitter(context, function, false);
  emitter.bind_interface(function->getArg(0));
  emitter.set_workspace(function->getArg(1), function->getArg(2));
  if (context.device != nullptr) emitter.need_device();
  emitter.open_level();
  emitter.emit(program.body);
  emitter.finish();
  for (const auto& [buffer, why_not] : context.streams) {
    if (!why_not.empty())
      context.notes.push_back("stores to '" + buffer + "' go through the caches: " + why_not);
  }
}

}  // namespace polyte::codegen
