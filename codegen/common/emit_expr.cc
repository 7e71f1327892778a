#include "codegen/common/emitter.h"
#include "support/error.h"
#include "support/kernel_abi.h"

namespace polyte::codegen {

using Value = llvm::Value;

// Nodes are shared: one statement emits each of them once.
Value* FunctionEmitter::expr(const ir::Expr& e) {
  const auto found = emitted_.find(e.get());
  if (found != emitted_.end()) return found->second;
  Value* value = widened(compute(*e), e->lanes);
  emitted_[e.get()] = value;
  return value;
}

// A scalar operand stands for all lanes.
Value* FunctionEmitter::widened(Value* value, int lanes) {
  return value->getType()->isVectorTy() ? value : arithmetic_.splat(value, lanes);
}

Value* FunctionEmitter::compute(const ir::ExprNode& node) {
  const auto operand = [&](const ir::Expr& e) { return widened(expr(e), node.lanes); };
  return std::visit(
      [&](const auto& op) -> Value* {
        using Op = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<Op, ir::Literal>) {
          return arithmetic_.literal(node.type, op);
        } else if constexpr (std::is_same_v<Op, ir::IndexValue>) {
          return index_value(node, op);
        } else if constexpr (std::is_same_v<Op, ir::Load>) {
          if (Value* column = square_column(node)) return column;
          if (Value* vector = shifted(node)) return vector;
          if (Value* vector = stored(op)) return vector;
          return op.guard.empty() ? load(access(op.buffer, op.indices, op.lanes))
                                  : guarded_load(node, op);
        } else if constexpr (std::is_same_v<Op, ir::Unary>) {
          return arithmetic_.unary(op.op, node.type, operand(op.a));
        } else if constexpr (std::is_same_v<Op, ir::Binary>) {
          Value* a = operand(op.a);
          if (op.op == ir::BinaryOp::Within) return within(a, operand(op.b));
          return arithmetic_.binary(op.op, op.a->type, a, operand(op.b));
        } else if constexpr (std::is_same_v<Op, ir::Fma>) {
          Value* a = operand(op.a);
          Value* b = operand(op.b);
          return arithmetic_.fma(node.type, a, b, operand(op.c));
        } else if constexpr (std::is_same_v<Op, ir::Select>) {
          Value* condition = operand(op.condition);
          Value* a = operand(op.a);
          return b_.CreateSelect(condition, a, operand(op.b));
        } else if constexpr (std::is_same_v<Op, ir::Cast>) {
          return arithmetic_.cast(node.type, op.a->type, operand(op.a));
        } else if constexpr (std::is_same_v<Op, ir::LaneRead>) {
          POLYTE_CHECK(false, "a register of another lane within an expression");
          return nullptr;
        } else {
          static_assert(std::is_same_v<Op, ir::Broadcast>);
          return operand(op.a);
        }
      },
      node.op);
}

Value* FunctionEmitter::index_value(const ir::ExprNode& node, const ir::IndexValue& index) {
  Value* first = affine(index.value);
  const std::int64_t stride = index.lanes.strides.empty() ? 0 : index.lanes.strides.front();
  if (node.lanes == 1 || stride == 0) return arithmetic_.cast(node.type, DType::I64, first);
  // Integers wrap, so narrow lanes can be added after the cast; floats convert each exact index.
  const DType wide = is_integer(node.type) ? node.type : DType::I64;
  auto* type = llvm::cast<llvm::IntegerType>(arithmetic_.value_type(wide, 1));
  std::vector<llvm::Constant*> steps;
  for (int lane = 0; lane < node.lanes; ++lane) {
    const llvm::APInt step(64, static_cast<std::uint64_t>(lane * stride));
    steps.push_back(llvm::ConstantInt::get(type, step.trunc(type->getBitWidth())));
  }
  Value* start = arithmetic_.splat(arithmetic_.cast(wide, DType::I64, first), node.lanes);
  return arithmetic_.cast(node.type, wide, b_.CreateAdd(start, llvm::ConstantVector::get(steps)));
}

// a where 0 <= a < extent in all lanes; else 0, and the kernel will return POLYTE_OUT_OF_BOUNDS.
// One unsigned comparison tests both ends: a negative number is a very large one. The kernel goes
// on with place 0, so that it needs no way out of the middle of a parallel loop.
Value* FunctionEmitter::within(Value* a, Value* extent) {
  Value* inside = b_.CreateICmpULT(a, extent);
  Value* all = a->getType()->isVectorTy() ? b_.CreateAndReduce(inside) : inside;
  emit_when(b_.CreateNot(all), [&] {
    auto* note = b_.CreateStore(b_.getInt32(POLYTE_OUT_OF_BOUNDS), status_);
    note->setAlignment(llvm::Align(4));
    note->setAtomic(llvm::AtomicOrdering::Monotonic);
  });
  return b_.CreateSelect(inside, a, llvm::Constant::getNullValue(a->getType()));
}

// Branches around the read: what fails the guard may not be touched. What one branch has emitted
// does not dominate the other or the join, so the table of emitted values is set back after each.
Value* FunctionEmitter::guarded_load(const ir::ExprNode& node, const ir::Load& guarded) {
  Value* condition = holds(guarded.guard);
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (known->isOne()) return load(access(guarded.buffer, guarded.indices, guarded.lanes));
    return expr(guarded.otherwise);
  }
  auto& llvm_context = b_.getContext();
  llvm::BasicBlock* read = llvm::BasicBlock::Create(llvm_context, "read", function_);
  llvm::BasicBlock* outside = llvm::BasicBlock::Create(llvm_context, "outside", function_);
  llvm::BasicBlock* join = llvm::BasicBlock::Create(llvm_context, "join", function_);
  const auto before = emitted_;  // values of one branch do not exist in the other
  b_.CreateCondBr(condition, read, outside);
  b_.SetInsertPoint(read);
  Value* inside = widened(load(access(guarded.buffer, guarded.indices, guarded.lanes)), node.lanes);
  llvm::BasicBlock* read_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  emitted_ = before;
  b_.SetInsertPoint(outside);
  Value* otherwise = widened(expr(guarded.otherwise), node.lanes);
  llvm::BasicBlock* outside_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  emitted_ = before;
  b_.SetInsertPoint(join);
  llvm::PHINode* value = b_.CreatePHI(inside->getType(), 2, "guarded");
  value->addIncoming(inside, read_end);
  value->addIncoming(otherwise, outside_end);
  return value;
}

}  // namespace polyte::codegen
