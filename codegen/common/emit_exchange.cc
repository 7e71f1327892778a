// Registers that lanes of a warp read from each other: 32 bits at a time, two of them for a
// type of 64, narrower ones widened. Where registers are watched (by the emulator), a bit beside
// each says if it was ever written: it goes with what is exchanged, and is looked at where
// that is computed with.
#include <algorithm>

#include "codegen/common/emitter.h"
#include "support/error.h"

namespace polyte::codegen {

using Value = llvm::Value;

namespace {

constexpr unsigned kBits = 32;

// The value as words of 32 bits: two for 64 bits, the low word first.
std::vector<Value*> words_of(llvm::IRBuilder<>& b, Value* value) {
  const unsigned bits = value->getType()->getPrimitiveSizeInBits();
  Value* whole = b.CreateBitCast(value, b.getIntNTy(bits));
  if (bits <= kBits) return {b.CreateZExt(whole, b.getInt32Ty())};
  return {b.CreateTrunc(whole, b.getInt32Ty()),
          b.CreateTrunc(b.CreateLShr(whole, kBits), b.getInt32Ty())};
}

Value* value_of(llvm::IRBuilder<>& b, const std::vector<Value*>& words, llvm::Type* type) {
  const unsigned bits = type->getPrimitiveSizeInBits();
  if (bits <= kBits) return b.CreateBitCast(b.CreateTrunc(words[0], b.getIntNTy(bits)), type);
  Value* high = b.CreateShl(b.CreateZExt(words[1], b.getInt64Ty()), kBits);
  return b.CreateBitCast(b.CreateOr(b.CreateZExt(words[0], b.getInt64Ty()), high), type);
}

// The load that a store copies, from this lane or another one; null where it computes with it.
const ir::Load* moved_load(const ir::Store& store) {
  const auto* read = std::get_if<ir::LaneRead>(&store.value->op);
  const auto* load = std::get_if<ir::Load>(read != nullptr ? &read->load->op : &store.value->op);
  const bool is_plain = load != nullptr && load->guard.empty() && load->lanes.count == 1;
  return is_plain && (read != nullptr || store.origin.statement.empty()) ? load : nullptr;
}

}  // namespace

// Each time that the buffer begins, none of its elements is written yet.
void FunctionEmitter::watch_cells(BufferSlot& slot, const ir::Stmt& body) {
  if (ops_ == nullptr || !ops_->watches_registers()) return;
  bool is_exchanged = false;
  ir::for_each_stmt(body, [&](const ir::Stmt& s) {
    const auto* store = std::get_if<ir::Store>(&s->op);
    const ir::Load* load = store != nullptr ? moved_load(*store) : nullptr;
    if (load == nullptr) return;
    const bool is_read = std::holds_alternative<ir::LaneRead>(store->value->op);
    const auto from = buffers_.find(load->buffer);
    const bool is_watched = from != buffers_.end() && !from->second.written.empty();
    is_exchanged = is_exchanged || (is_read && load->buffer == slot.name) ||
                   ((is_read || is_watched) && store->buffer == slot.name);
  });
  if (!is_exchanged) return;
  for (const auto& [cell, memory] : slot.cells) {
    llvm::AllocaInst* bit = slot.written[cell.first] =
        stack_memory(b_.getInt1Ty(), 1, 0, slot.name + ".written");
    b_.CreateStore(b_.getFalse(), bit);
  }
}

void FunctionEmitter::note_written(const Access& a) {
  if (a.slot.written.empty()) return;
  for (int lane = 0; lane < a.lanes.count; ++lane)
    b_.CreateStore(b_.getTrue(), a.slot.written.at(a.index.affine.constant() + lane * a.stride));
}

void FunctionEmitter::check_written(const Access& a) {
  if (a.slot.written.empty()) return;
  for (int lane = 0; lane < a.lanes.count; ++lane) {
    llvm::AllocaInst* bit = a.slot.written.at(a.index.affine.constant() + lane * a.stride);
    ops_->use(b_, b_.CreateLoad(b_.getInt1Ty(), bit), statement_, a.slot.name);
  }
}

// A copy of another lane's register, or of one of its own to where those go. It may never have been
// written, for lanes that take part in the exchange and do not use the result.
bool FunctionEmitter::emit_move(const ir::Store& store) {
  const auto* read = std::get_if<ir::LaneRead>(&store.value->op);
  const ir::Load* load = moved_load(store);
  if (load == nullptr) return false;
  const Access from = access(load->buffer, load->indices, load->lanes);
  const Access to = access(store.buffer, store.indices, store.lanes);
  if (read == nullptr && (from.slot.written.empty() || to.slot.written.empty())) return false;
  POLYTE_CHECK(ops_ != nullptr && level_ == Level::Thread && !to.slot.cells.empty(),
               "kernel '" + context_.kernel.program.name +
                   "': lanes exchange registers where there are none");
  b_.CreateStore(moved(from, to, read), to.slot.cells.at({to.index.affine.constant(), 1}));
  return true;
}

// The value, and beside it the bit that says whether it was written: both come from the other lane.
// A value of 64 bits travels in two exchanges, whose bits are the same.
Value* FunctionEmitter::moved(const Access& from, const Access& to, const ir::LaneRead* read) {
  const auto bit = [&](const Access& a) { return a.slot.written.at(a.index.affine.constant()); };
  Value* own =
      from.slot.cells.empty() ? load(from) : load_cell(from.slot, from.index.affine.constant(), 1);
  Value* written = from.slot.written.empty()
                       ? b_.getTrue()
                       : static_cast<Value*>(b_.CreateLoad(b_.getInt1Ty(), bit(from)));
  if (read != nullptr) {
    std::vector<Value*> got;
    Value *lane = affine(read->lane), *others = nullptr;
    for (Value* word : words_of(b_, own)) {
      const DeviceOps::Register other = ops_->exchange(b_, {word, written}, lane);
      got.push_back(other.value);
      others = other.written;
    }
    own = value_of(b_, got, own->getType());
    written = others;
  }
  if (!to.slot.written.empty()) b_.CreateStore(written, bit(to));
  return own;
}

}  // namespace polyte::codegen
