// Atomic updates: one instruction for integers, else a loop that reads, combines and exchanges
// until nobody else has written in between. Relaxed: the end of the parallel loop orders what
// follows it. Only threads need it: a kernel's serial part stores plainly.
#include <optional>

#include "codegen/common/emitter.h"

namespace polyte::codegen {

using Value = llvm::Value;

namespace {

constexpr auto kRelaxed = llvm::AtomicOrdering::Monotonic;

bool is_element(const ir::Expr& e, const std::string& buffer) {
  const auto* load = std::get_if<ir::Load>(&e->op);
  return load != nullptr && load->buffer == buffer;
}

std::optional<llvm::AtomicRMWInst::BinOp> instruction_for(ir::BinaryOp op, DType type) {
  const bool is_signed = is_signed_integer(type);
  switch (op) {
    case ir::BinaryOp::Add:
      return llvm::AtomicRMWInst::Add;
    case ir::BinaryOp::And:
      return llvm::AtomicRMWInst::And;
    case ir::BinaryOp::Or:
      return llvm::AtomicRMWInst::Or;
    case ir::BinaryOp::Min:
      return is_signed ? llvm::AtomicRMWInst::Min : llvm::AtomicRMWInst::UMin;
    case ir::BinaryOp::Max:
      return is_signed ? llvm::AtomicRMWInst::Max : llvm::AtomicRMWInst::UMax;
    default:
      return std::nullopt;
  }
}

}  // namespace

void FunctionEmitter::emit_atomic(const ir::Store& s) {
  const Access target = access(s.buffer, s.indices, s.lanes);
  const DType type = target.slot.dtype;
  const llvm::Align align(static_cast<std::uint64_t>(size_in_bytes(type)));
  Value* pointer = first_address(target);
  const auto* binary = std::get_if<ir::Binary>(&s.value->op);
  if (binary != nullptr && !is_float(type) && is_element(binary->a, s.buffer)) {
    if (const auto op = instruction_for(binary->op, type)) {
      name_access(*b_.CreateAtomicRMW(*op, pointer, expr(binary->b), align, kRelaxed), target.slot);
      return;
    }
  }
  llvm::Type* bits = b_.getIntNTy(static_cast<unsigned>(8 * size_in_bytes(type)));
  llvm::LoadInst* first = b_.CreateAlignedLoad(bits, pointer, align);
  first->setAtomic(kRelaxed);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* attempt = llvm::BasicBlock::Create(b_.getContext(), "attempt", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(b_.getContext(), "exchanged");
  b_.CreateBr(attempt);
  b_.SetInsertPoint(attempt);
  llvm::PHINode* current = b_.CreatePHI(bits, 2, "current");
  current->addIncoming(first, before);
  emitted_.clear();
  Value* element = b_.CreateBitCast(current, arithmetic_.memory_type(type, 1));
  ir::for_each_node(s.value, [&](const ir::ExprNode& node) {
    const auto* load = std::get_if<ir::Load>(&node.op);
    if (load != nullptr && load->buffer == s.buffer)
      emitted_[&node] = arithmetic_.from_memory(type, element);
  });
  Value* next = b_.CreateBitCast(arithmetic_.to_memory(type, expr(s.value)), bits);
  llvm::AtomicCmpXchgInst* exchange =
      b_.CreateAtomicCmpXchg(pointer, current, next, align, kRelaxed, kRelaxed);
  name_access(*exchange, target.slot);
  current->addIncoming(b_.CreateExtractValue(exchange, 0), b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(exchange, 1), done, attempt);
  start(done);
}

}  // namespace polyte::codegen
