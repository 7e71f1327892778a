// Stores of some lanes of a vector, as loops end with, and loads of what they have just stored.
//
// A processor does not hand a masked store's value to a load: that waits until the store has left
// for the cache. So where the statements side by side load what one of them has stored, the value
// is taken from its register,
//
//   y[64; 16 if 3] = v
//   s = s + y[64; 16 if 3]         s + (v in the lanes below 3, else 0)
//
// and where few lanes are known to be active, these are stored without a mask if the kernel loads
// the buffer at all: a load that begins behind them waits as well, for lanes that are masked off.
#include <algorithm>
#include <bit>
#include <numeric>

#include "codegen/common/emitter.h"

namespace polyte::codegen {

using Value = llvm::Value;

std::set<std::string> loaded_buffers(const ir::LoopProgram& program) {
  std::set<std::string> loaded;
  ir::for_each_expr(program.body, [&](const ir::Expr& e) {
    for (const ir::Load* load : ir::loads_of(e)) loaded.insert(load->buffer);
  });
  return loaded;
}

// A masked store waits for its mask, on some processors for ten cycles and more, where no register
// of masks is. Which lanes are active is known where a loop ends.
bool FunctionEmitter::stores_in_pieces(const Access& a) const {
  constexpr int kBitsWithMasks = 512, kFewPieces = 2;
  const int active = known_active(a.lanes);
  if (ops_ != nullptr || active <= 0) return false;
  return context_.machine.vector_bits < kBitsWithMasks ||
         (context_.loaded.contains(a.slot.name) &&
          std::popcount(static_cast<unsigned>(active)) <= kFewPieces);
}

// The first lanes as vectors of powers of two, the longest first: seven are four, two and one.
void FunctionEmitter::store_pieces(const Access& a, Value* value, Value* pointer) {
  const int active = known_active(a.lanes);
  const auto align = llvm::Align(static_cast<std::uint64_t>(size_in_bytes(a.slot.dtype)));
  llvm::Type* element = arithmetic_.memory_type(a.slot.dtype, 1);
  for (int done = 0; done < active;) {
    const auto count = static_cast<int>(std::bit_floor(static_cast<unsigned>(active - done)));
    std::vector<int> from(static_cast<std::size_t>(count));
    std::iota(from.begin(), from.end(), done);
    Value* piece = count == 1 ? b_.CreateExtractElement(value, static_cast<std::uint64_t>(done))
                              : b_.CreateShuffleVector(value, from);
    Value* at = b_.CreateGEP(element, pointer, b_.getInt64(static_cast<std::uint64_t>(done)));
    annotated(b_.CreateAlignedStore(piece, at, align), a.slot);
    done += count;
  }
}

namespace {

bool is_same(const ir::Lanes& a, const ir::Lanes& b) {
  return a.count == b.count && a.strides == b.strides && a.active == b.active &&
         a.skipped == b.skipped;
}

// Whether it is one place that is known here, of lanes side by side.
bool is_plain(const std::vector<ir::Index>& indices, const ir::Lanes& lanes) {
  return indices.size() == 1 && !indices[0].indirect &&
         (lanes.strides.empty() || lanes.strides[0] == 1);
}

}  // namespace

// What is kept of the same buffer is no longer there, unless the store is as far away as it is
// long. `value` null: it is not known.
void FunctionEmitter::note_stored(const ir::Store& s, Value* value) {
  if (!stored_) return;
  std::erase_if(*stored_, [&](const Stored& stored) {
    if (stored.buffer != s.buffer) return false;
    if (!is_plain(s.indices, s.lanes)) return true;
    const ir::Affine apart = s.indices[0].affine - stored.index;
    return !apart.is_constant() || apart.constant() < stored.lanes.count ||
           -apart.constant() < s.lanes.count;
  });
  if (value == nullptr || ops_ != nullptr || !s.lanes.is_masked() || !is_plain(s.indices, s.lanes))
    return;
  const BufferSlot& slot = buffers_.at(s.buffer);
  const bool is_exact =
      arithmetic_.memory_type(slot.dtype, 1) == arithmetic_.value_type(slot.dtype, 1);
  if (slot.cells.empty() && is_exact)
    stored_->push_back({s.buffer, s.indices[0].affine, s.lanes, value});
}

// The value of this load; null where none of the statements side by side has stored it.
Value* FunctionEmitter::stored(const ir::Load& load) {
  if (!stored_ || !load.guard.empty() || !is_plain(load.indices, load.lanes)) return nullptr;
  const auto found = std::ranges::find_if(*stored_, [&](const Stored& stored) {
    return stored.buffer == load.buffer && stored.index == load.indices[0].affine &&
           is_same(stored.lanes, load.lanes);
  });
  if (found == stored_->end()) return nullptr;
  Value* active = mask(load.lanes);  // null: all of them
  if (active == nullptr) return found->value;
  return b_.CreateSelect(active, found->value,
                         llvm::Constant::getNullValue(found->value->getType()));
}

}  // namespace polyte::codegen
