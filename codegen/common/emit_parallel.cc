// Parallel loops. The body becomes a function of its own that runs a range of iterations as one
// worker; what it needs of its surroundings (addresses, outer loop variables) travels in an array
// of 8-byte slots on the stack:
//
//   if (host && host->parallel_for) host->parallel_for(host->self, body, context, lower, upper);
//   else                            body(context, lower, upper, 0);
//
// Inside such a body a nested parallel loop is an ordinary loop.
#include <cstddef>

#include "codegen/common/emitter.h"
#include "support/kernel_abi.h"

namespace polyte::codegen {

using Value = llvm::Value;

namespace {

llvm::FunctionType* body_type(llvm::IRBuilder<>& b) {
  return llvm::FunctionType::get(
      b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty(), b.getInt64Ty()}, false);
}

}  // namespace

Value* FunctionEmitter::member_of_host(std::size_t offset, const char* name) {
  return b_.CreateLoad(b_.getPtrTy(), b_.CreateGEP(b_.getInt8Ty(), host_, b_.getInt64(offset)),
                       name);
}

void FunctionEmitter::emit_parallel(const ir::For& loop, Value* lower, Value* upper) {
  llvm::Function* body =
      make_function(context_, body_type(b_), llvm::GlobalValue::InternalLinkage,
                    context_.kernel.program.name + ".body" + std::to_string(context_.bodies++));
  std::vector<Value*> captured;
  emit_body(body, loop, captured);
  emit_when(b_.CreateICmpSLT(lower, upper), [&] { call_body(body, captured, lower, upper); });
}

// Emits the body function; `captured` receives the values of this function that it reads,
// in slot order.
void FunctionEmitter::emit_body(llvm::Function* body, const ir::For& loop,
                                std::vector<Value*>& captured) {
  FunctionEmitter inner(context_, body, true);
  const auto import = [&](Value* outside) -> Value* {
    if (llvm::isa<llvm::Constant>(outside)) return outside;
    Value* slot = inner.b_.CreateGEP(inner.b_.getInt64Ty(), body->getArg(0),
                                     inner.b_.getInt64(captured.size()));
    captured.push_back(outside);
    return inner.b_.CreateLoad(outside->getType(), slot);
  };
  for (const auto& [name, variable] : variables_)
    inner.variables_[name] = {import(variable.value), 0};
  for (const auto& [name, slot] : buffers_) {
    // Buffers in registers have no address. Nothing inside the loop accesses them, or they would be
    // in memory.
    if (slot.base == nullptr) continue;
    BufferSlot& copy = inner.buffers_[name] = slot;
    copy.base = import(slot.base);
  }
  inner.scratch_ = import(scratch_);
  inner.status_ = import(status_);
  const ScratchLayout& layout = context_.layout;
  Value* offset = inner.b_.CreateMul(
      body->getArg(3), b_.getInt64(static_cast<std::uint64_t>(layout.bytes_per_worker)));
  offset = inner.b_.CreateAdd(offset, b_.getInt64(static_cast<std::uint64_t>(layout.shared_bytes)));
  inner.slice_ = inner.b_.CreateGEP(b_.getInt8Ty(), inner.scratch_, offset, "slice");
  inner.open_level();
  inner.emit_loop(loop, body->getArg(1), body->getArg(2));
  inner.finish();
}

// Without a host, or with one that has no threads, the calling thread runs all iterations as worker
// 0.
void FunctionEmitter::call_body(llvm::Function* body, const std::vector<Value*>& captured,
                                Value* lower, Value* upper) {
  Value* slots =
      stack_memory(b_.getInt64Ty(), static_cast<std::int64_t>(captured.size()) + 1, 8, "context");
  for (std::size_t i = 0; i < captured.size(); ++i) {
    b_.CreateStore(captured[i], b_.CreateGEP(b_.getInt64Ty(), slots, b_.getInt64(i)));
  }
  auto& llvm_context = b_.getContext();
  llvm::BasicBlock* ask = llvm::BasicBlock::Create(llvm_context, "ask_host", function_);
  llvm::BasicBlock* threads = llvm::BasicBlock::Create(llvm_context, "parallel", function_);
  llvm::BasicBlock* serial = llvm::BasicBlock::Create(llvm_context, "serial", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(llvm_context, "done", function_);
  stream_fence();  // the workers see what was stored
  b_.CreateCondBr(b_.CreateIsNotNull(host_), ask, serial);
  b_.SetInsertPoint(ask);
  Value* parallel_for = member_of_host(offsetof(polyte_host, parallel_for), "parallel_for");
  b_.CreateCondBr(b_.CreateIsNotNull(parallel_for), threads, serial);
  b_.SetInsertPoint(threads);
  Value* self = member_of_host(offsetof(polyte_host, self), "self");
  auto* type = llvm::FunctionType::get(
      b_.getVoidTy(),
      {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty()}, false);
  b_.CreateCall(type, parallel_for, {self, body, slots, lower, upper});
  b_.CreateBr(done);
  b_.SetInsertPoint(serial);
  b_.CreateCall(body, {slots, lower, upper, b_.getInt64(0)});
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

}  // namespace polyte::codegen
