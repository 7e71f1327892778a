#include <algorithm>
#include <functional>

#include "codegen/common/emitter.h"
#include "support/checked.h"
#include "support/error.h"

#include <llvm/IR/Intrinsics.h>

namespace polyte::codegen {

using Value = llvm::Value;

void FunctionEmitter::emit(const ir::Stmt& s) {
  if (ops_ != nullptr && emit_alone(s)) return;
  std::visit(
      [&](const auto& op) {
        using Op = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<Op, ir::Store>) {
          emit_store(op);
        } else if constexpr (std::is_same_v<Op, ir::Block>) {
          emit_block(op);
        } else if constexpr (std::is_same_v<Op, ir::For>) {
          emit_for(op);
        } else if constexpr (std::is_same_v<Op, ir::If>) {
          emit_if(op);
        } else if constexpr (std::is_same_v<Op, ir::Alloc>) {
          emit_alloc(op);
        } else if constexpr (std::is_same_v<Op, ir::Prefetch>) {
          emit_prefetch(op);
        } else if constexpr (std::is_same_v<Op, ir::Tensorized>) {
          emit_tensorized(op);
        } else if constexpr (std::is_same_v<Op, ir::CopyGroup>) {
          emit_copy_group(op);
        } else if constexpr (std::is_same_v<Op, ir::ProductGroup>) {
          emit_product_group(op);
        } else if constexpr (std::is_same_v<Op, ir::Barrier>) {
          emit_barrier(op);
        } else {
          static_assert(std::is_same_v<Op, ir::Fence>);
          if (ops_ == nullptr)  // the device's assembler schedules loads itself
            b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent,
                           llvm::SyncScope::SingleThread);
        }
      },
      s->op);
}

// Stores side by side may load together what they share; fences between steps of a reduction do not
// part them.
void FunctionEmitter::emit_block(const ir::Block& block) {
  const auto is_store = [](const ir::Stmt& s) {
    return std::holds_alternative<ir::Store>(s->op) || std::holds_alternative<ir::Fence>(s->op);
  };
  if (ops_ != nullptr) find_product_registers(block);
  for (auto at = block.body.begin(); at != block.body.end();) {
    const auto end = std::find_if_not(at, block.body.end(), is_store);
    if (end == at) {
      emit(*at++);
      continue;
    }
    find_squares({at, end});
    find_combs({at, end});
    find_shifted({at, end});
    stored_.emplace();
    for (; at != end; ++at) emit(*at);
    columns_.clear();
    shifted_.clear();
    teeth_.clear();
    stored_.reset();
  }
}

void FunctionEmitter::emit_store(const ir::Store& s) {
  emitted_.clear();
  if (ops_ != nullptr) statement_ = s.origin.statement.empty() ? s.buffer : s.origin.statement;
  if (s.atomic && (in_parallel_ || ops_ != nullptr)) {
    note_stored(s, nullptr);
    return emit_atomic(s);
  }
  if (emit_move(s)) return note_stored(s, nullptr);
  if (s.async && ops_ != nullptr && copy_async(s, access(s.buffer, s.indices, s.lanes))) return;
  Value* value = widened(expr(s.value), s.lanes.count);
  note_stored(s, value);
  if (store_tooth(s, value)) return;
  Access to = access(s.buffer, s.indices, s.lanes);
  if (s.nontemporal) to.stream = &s.buffer;
  store(to, value);
}

// Continues in a block that was made before the blocks in front of it.
void FunctionEmitter::start(llvm::BasicBlock* block) {
  function_->insert(function_->end(), block);
  b_.SetInsertPoint(block);
}

// ---- loops

void FunctionEmitter::emit_for(const ir::For& loop) {
  if (loop.kind == ir::LoopKind::Block) return emit_launch(loop);
  POLYTE_CHECK(!ir::is_expanded(loop.kind), "kernel '" + context_.kernel.program.name +
                                                "': loop '" + loop.var + "' is a " +
                                                to_string(loop.kind) + " loop, expected Flat form");
  Value *lower = largest(loop.lower), *upper = smallest(loop.upper);
  if (ir::is_of_threads(loop.kind)) {
    emit_threads(loop, lower, upper);
  } else if (loop.kind == ir::LoopKind::Parallel && !in_parallel_) {
    emit_parallel(loop, lower, upper);
  } else {
    emit_loop(loop, lower, upper);
  }
}

// Rotated: one test before the loop (none where the bounds are known), one at its end. The
// increment cannot overflow (nsw), as the counter is below `upper` there.
void FunctionEmitter::emit_loop(const ir::For& loop, Value* lower, Value* upper) {
  const auto* known_lower = llvm::dyn_cast<llvm::ConstantInt>(lower);
  const auto* known_upper = llvm::dyn_cast<llvm::ConstantInt>(upper);
  bool surely_runs = false;
  if (known_lower != nullptr && known_upper != nullptr) {
    const std::int64_t trips =
        checked_sub(known_upper->getSExtValue(), known_lower->getSExtValue());
    if (trips <= 0) return;
    if (trips == 1) {
      variables_[loop.var] = {lower, 0};
      emit(loop.body);
      variables_.erase(loop.var);
      return;
    }
    surely_runs = true;
  }
  llvm::BasicBlock* preheader = llvm::BasicBlock::Create(b_.getContext(), "enter", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(b_.getContext(), loop.var, function_);
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(b_.getContext(), "exit");
  if (surely_runs) {
    b_.CreateBr(preheader);
  } else {
    b_.CreateCondBr(b_.CreateICmpSLT(lower, upper), preheader, exit);
  }
  b_.SetInsertPoint(preheader);
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  llvm::PHINode* counter = b_.CreatePHI(b_.getInt64Ty(), 2, loop.var);
  counter->addIncoming(lower, preheader);
  if (ops_ != nullptr) ops_->mark_counter(*counter);
  open_level();
  variables_[loop.var] = {counter, static_cast<int>(levels_.size()) - 1};
  emit(loop.body);
  Value* next = b_.CreateAdd(counter, b_.getInt64(1), "", false, true);
  counter->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, upper), body, exit);
  variables_.erase(loop.var);
  close_level();
  start(exit);
}

// ---- conditions

void FunctionEmitter::emit_when(Value* condition, const std::function<void()>& body) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (known->isOne()) body();
    return;
  }
  llvm::BasicBlock* then = llvm::BasicBlock::Create(b_.getContext(), "then", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(b_.getContext(), "after");
  b_.CreateCondBr(condition, then, after);
  b_.SetInsertPoint(then);
  body();
  b_.CreateBr(after);
  start(after);
}

// The run-time condition may read memory: it is evaluated only where the affine ones hold.
void FunctionEmitter::emit_if(const ir::If& branch) {
  const auto inner = [&] {
    if (branch.condition == nullptr) return emit(branch.body);
    emitted_.clear();
    emit_when(expr(branch.condition), [&] { emit(branch.body); });
  };
  Value* condition = holds(branch.conditions);
  if (condition == nullptr) return inner();
  emit_when(condition, inner);
}

// ---- allocations

void FunctionEmitter::emit_alloc(const ir::Alloc& alloc) {
  const std::string& name = alloc.buffer.name;
  const BufferSlot& slot = buffers_[name] = make_slot(alloc);
  forget_cells(slot);
  emit(alloc.body);
  buffers_.erase(name);
}

// Registers hold nothing where their buffer begins, and LLVM has to be told. Otherwise the values
// of the iteration before stay alive around the loop, next to those in use, as far as LLVM can see
// from `if k.o >= 1 load; if k.o == 0 zeros`.
void FunctionEmitter::forget_cells(const BufferSlot& slot) {
  // The emulator tells what was never written.
  if (ops_ != nullptr && ops_->watches_registers()) return;
  for (const auto& [cell, memory] : slot.cells)
    b_.CreateStore(llvm::PoisonValue::get(memory->getAllocatedType()), memory);
}

FunctionEmitter::BufferSlot FunctionEmitter::make_slot(const ir::Alloc& alloc) {
  const ir::LoopBuffer& buffer = alloc.buffer;
  BufferSlot slot;
  slot.name = buffer.name;
  slot.dtype = buffer.dtype;
  slot.alignment = kScratchAlignment;
  if (buffer.of_lanes) {
    bind_lane_registers(slot, buffer);
    return slot;
  }
  if (buffer.memory == ir::Memory::Register) {
    bind_cells(slot, buffer, alloc.body);
    watch_cells(slot, alloc.body);
    if (!slot.cells.empty()) return slot;
  }
  if (buffer.memory == ir::Memory::Shared) {
    POLYTE_CHECK(ops_ != nullptr,
                 "kernel '" + context_.kernel.program.name + "': shared memory outside of blocks");
    slot.alignment = static_cast<int>(kSharedAlignment);
    slot.swizzle = buffer.swizzle;
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(levels_.front().marker);
    slot.base = b_.CreateGEP(b_.getInt8Ty(), shared_memory(),
                             b_.getInt64(launch_->offsets.at(buffer.name)), buffer.name);
  } else if (buffer.memory == ir::Memory::Heap) {
    // At the function's head: addresses of its elements are computed at the head of the level
    // that binds them.
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(levels_.front().marker);
    const auto offset = static_cast<std::uint64_t>(context_.layout.offsets.at(buffer.name));
    slot.base = b_.CreateGEP(b_.getInt8Ty(), in_parallel_ ? slice_ : scratch_, b_.getInt64(offset),
                             buffer.name);
  } else {
    slot.base = stack_memory(arithmetic_.memory_type(buffer.dtype, 1),
                             checked_product(buffer.shape), kScratchAlignment, buffer.name);
  }
  annotate_scope(slot, buffer.name);
  return slot;
}

// The beginning of the block's shared memory, aligned as the launch asks.
llvm::Value* FunctionEmitter::shared_memory() {
  Value* begin = ops_->shared_memory(b_);
  if (launch_->shared_alignment == kSharedAlignment) return begin;
  const auto low_bits = static_cast<std::uint32_t>(launch_->shared_alignment - 1);
  Value* to_next =
      b_.CreateAnd(b_.CreateNeg(ops_->shared_address(b_, begin)), b_.getInt32(low_bits));
  return b_.CreateGEP(b_.getInt8Ty(), begin, b_.CreateZExt(to_next, b_.getInt64Ty()));
}

// Every other scope is listed, but for those of buffers that may be the same memory (`in_place`),
// which share one.
void FunctionEmitter::annotate_scope(BufferSlot& slot, const std::string& name) {
  slot.scope = llvm::MDNode::get(b_.getContext(), {context_.scopes.at(name)});
  std::vector<llvm::Metadata*> others;
  for (const auto& [other, scope] : context_.scopes) {
    if (scope != context_.scopes.at(name)) others.push_back(scope);
  }
  slot.no_alias = llvm::MDNode::get(b_.getContext(), others);
}

// In the entry block, wherever it is needed: there an alloca is part of the frame and can become an
// SSA value (mem2reg); in a loop it would take stack in each iteration.
llvm::AllocaInst* FunctionEmitter::stack_memory(llvm::Type* type, std::int64_t count, int alignment,
                                                const std::string& name) {
  const llvm::IRBuilderBase::InsertPointGuard guard(b_);
  llvm::BasicBlock& entry = function_->getEntryBlock();
  b_.SetInsertPoint(&entry, entry.begin());
  llvm::Value* size = count == 1 ? nullptr : b_.getInt64(static_cast<std::uint64_t>(count));
  llvm::AllocaInst* memory = b_.CreateAlloca(type, size, name);
  if (alignment > 0) memory->setAlignment(llvm::Align(static_cast<std::uint64_t>(alignment)));
  return memory;
}

namespace {

// Elements [first, first + lanes) that one access touches as a unit.
using Cell = std::pair<std::int64_t, int>;

// The accesses to a register buffer, if each names fixed elements; else the subscript that
// does not.
class CellFinder {
 public:
  // `by_element`: each element is a cell.
  CellFinder(const std::string& buffer, bool in_parallel, bool by_element)
      : buffer_(buffer), in_parallel_(in_parallel), by_element_(by_element) {}
  std::vector<Cell> cells, read;  // written or read; read only, some of them twice
  std::string problem;

  void visit(const ir::Stmt& s, bool parallel) {
    const auto on_expr = [&](const ir::Expr& e) {
      if (e == nullptr) return;
      ir::for_each_node(e, [&](const ir::ExprNode& node) {
        const auto* load = std::get_if<ir::Load>(&node.op);
        if (load != nullptr && load->buffer == buffer_)
          add(load->indices, load->lanes, parallel, false);
      });
    };
    if (const auto* store = std::get_if<ir::Store>(&s->op)) {
      if (store->buffer == buffer_) add(store->indices, store->lanes, parallel, true);
      on_expr(store->value);
      for (const ir::Index& index : store->indices) on_expr(index.indirect);
    } else if (const auto* block = std::get_if<ir::Block>(&s->op)) {
      for (const ir::Stmt& child : block->body) visit(child, parallel);
    } else if (const auto* loop = std::get_if<ir::For>(&s->op)) {
      visit(loop->body, parallel || (loop->kind == ir::LoopKind::Parallel && !in_parallel_));
    } else if (const auto* branch = std::get_if<ir::If>(&s->op)) {
      on_expr(branch->condition);
      visit(branch->body, parallel);
    } else if (const auto* alloc = std::get_if<ir::Alloc>(&s->op)) {
      visit(alloc->body, parallel);
    } else if (const auto* tensorized = std::get_if<ir::Tensorized>(&s->op)) {
      visit(*tensorized, parallel);
    }
  }

 private:
  void visit(const ir::Tensorized& tensorized, bool parallel) {
    const auto tiles = ir::tiles_of(tensorized);
    for (std::size_t i = 0; tiles && i < tiles->size(); ++i) {
      const ir::OperandTile& tile = (*tiles)[i];
      if (tile.buffer != buffer_) continue;
      const auto lanes = ir::lanes_of(tile);
      if (lanes) add(tile.first, *lanes, parallel, i == 0);
      if (!lanes) problem = "'" + tensorized.intrinsic + "' takes more than a row of it at once";
    }
  }

  const std::string& buffer_;
  bool in_parallel_;  // then nested parallel loops are ordinary ones
  bool by_element_;

  void add(const std::vector<ir::Index>& indices, const ir::Lanes& lanes, bool parallel,
           bool is_store) {
    const std::int64_t stride = lanes.strides.empty() ? 0 : lanes.strides.front();
    const ir::Index& index = indices.front();
    if (parallel) {
      problem = "it is used inside a parallel loop that it does not belong to";
    } else if (index.indirect != nullptr || !index.affine.is_constant()) {
      problem = "its subscript " + to_string(index.affine) + " is not constant";
    } else if (by_element_) {
      for (int lane = 0; lane < lanes.count; ++lane)
        cells.emplace_back(index.affine.constant() + lane * stride, 1);
    } else if (lanes.count > 1 && stride != 1 && (stride != 0 || is_store)) {
      problem = "its lanes are " + std::to_string(stride) + " elements apart";
    } else {
      (is_store ? cells : read)
          .emplace_back(index.affine.constant(), stride == 0 ? 1 : lanes.count);
    }
  }
};

// A read of part of a cell that is written needs no cell of its own.
void add_reads(std::vector<Cell>& cells, const std::vector<Cell>& read) {
  const std::vector<Cell> written = cells;
  for (const Cell& part : read) {
    const bool is_part = std::ranges::any_of(written, [&](const Cell& cell) {
      return cell.first <= part.first && part.first + part.second <= cell.first + cell.second;
    });
    if (!is_part) cells.push_back(part);
  }
}

bool overlap(const std::vector<Cell>& sorted) {
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].first < sorted[i - 1].first + sorted[i - 1].second) return true;
  }
  return false;
}

}  // namespace

// One slot per cell. Cells that overlap, or subscripts that vary, leave the buffer in memory;
// that is noted.
void FunctionEmitter::bind_cells(BufferSlot& slot, const ir::LoopBuffer& buffer,
                                 const ir::Stmt& body) {
  CellFinder finder(buffer.name, in_parallel_, ops_ != nullptr);
  finder.visit(body, false);
  add_reads(finder.cells, finder.read);
  std::ranges::sort(finder.cells);
  finder.cells.erase(std::ranges::unique(finder.cells).begin(), finder.cells.end());
  if (finder.problem.empty() && overlap(finder.cells))
    finder.problem = "its accesses overlap in part";
  if (!finder.problem.empty()) {
    context_.notes.push_back("register buffer '" + buffer.name +
                             "' lives on the stack: " + finder.problem);
    return;
  }
  for (const Cell& cell : finder.cells) {
    slot.cells[cell] =
        stack_memory(arithmetic_.value_type(buffer.dtype, cell.second), 1, 0, buffer.name);
  }
}

}  // namespace polyte::codegen
