// Vectors of a GPU's thread. In memory: as many bytes at once as the address is known to be a
// multiple of, 16 at the most, else element by element. In registers: each element is one.
#include <algorithm>

#include "codegen/common/emitter.h"

namespace polyte::codegen {

using Value = llvm::Value;

namespace {

constexpr int kMostBytes = 16;  // of one access

// The vector's lanes [first, first + lanes) taken from `part`.
Value* inserted(llvm::IRBuilder<>& b, Value* vector, Value* part, int first, int lanes) {
  for (int lane = 0; lane < lanes; ++lane) {
    Value* one = lanes == 1 ? part : b.CreateExtractElement(part, static_cast<std::uint64_t>(lane));
    vector = b.CreateInsertElement(vector, one, static_cast<unsigned>(first + lane));
  }
  return vector;
}

Value* extracted(llvm::IRBuilder<>& b, Value* vector, int first, int lanes) {
  if (lanes == 1) return b.CreateExtractElement(vector, static_cast<std::uint64_t>(first));
  std::vector<int> from;
  for (int lane = 0; lane < lanes; ++lane) from.push_back(first + lane);
  return b.CreateShuffleVector(vector, from);
}

}  // namespace

// Elements that lie together, at a multiple of their bytes.
int FunctionEmitter::at_once(const Access& a) const {
  if (a.stride != 1 || (a.index.indirect != nullptr && a.index.indirect->lanes > 1)) return 1;
  const int size = size_in_bytes(a.slot.dtype);
  const int known = a.index.indirect != nullptr ? size : known_alignment(a.slot, a.index.affine);
  const std::int64_t lanes = std::max(1, std::min(known, kMostBytes) / size);
  return static_cast<int>(a.slot.swizzle.none() ? lanes : std::min(lanes, a.slot.swizzle.chunk));
}

// Pieces of at most `most` lanes, halved at the end until they fit. Each begins at a multiple of
// its own length from the first lane.
std::vector<FunctionEmitter::Part> FunctionEmitter::parts_of(const Access& a, int most) {
  std::vector<Part> parts;
  for (int first = 0, lanes = most; first < a.lanes.count; first += lanes) {
    while (lanes > a.lanes.count - first) lanes /= 2;
    parts.push_back({first, lanes, nullptr});
  }
  if (parts.size() == 1) {
    parts[0].pointer = first_address(a);
    return parts;
  }
  const std::vector<Value*> pointers = each_pointer(a);
  for (Part& part : parts) part.pointer = pointers[static_cast<std::size_t>(part.first)];
  return parts;
}

// linear ^ (linear / period % chunks * chunk), all powers of two; in 32 bits, which shared
// memory never exceeds.
Value* FunctionEmitter::swizzled_address(const Access& a, int lane) {
  const int size = size_in_bytes(a.slot.dtype);
  const ir::Swizzle& swizzle = a.slot.swizzle;
  Value* linear = affine(a.index.affine + lane * a.stride);
  if (a.index.indirect != nullptr) {
    Value* offset = arithmetic_.cast(DType::I64, a.index.indirect->type, expr(a.index.indirect));
    if (a.index.indirect->lanes > 1)
      offset = b_.CreateExtractElement(offset, static_cast<std::uint64_t>(lane));
    linear = b_.CreateAdd(linear, offset);
  }
  const auto number = [&](std::int64_t n) { return b_.getInt32(static_cast<std::uint32_t>(n)); };
  linear = b_.CreateTrunc(linear, b_.getInt32Ty());
  const std::int64_t chunks = ir::kSharedLine / size / swizzle.chunk;
  Value* row = b_.CreateAnd(b_.CreateUDiv(linear, number(swizzle.period)), number(chunks - 1));
  Value* place = b_.CreateXor(linear, b_.CreateMul(row, number(swizzle.chunk)));
  return b_.CreateGEP(arithmetic_.memory_type(a.slot.dtype, 1), a.slot.base,
                      b_.CreateZExt(place, b_.getInt64Ty()));
}

Value* FunctionEmitter::load_parts(const Access& a) {
  const int size = size_in_bytes(a.slot.dtype);
  Value* result = llvm::PoisonValue::get(arithmetic_.memory_type(a.slot.dtype, a.lanes.count));
  for (const Part& part : parts_of(a, at_once(a))) {
    const llvm::Align align(static_cast<std::uint64_t>(part.lanes * size));
    Value* one = annotated(b_.CreateAlignedLoad(arithmetic_.memory_type(a.slot.dtype, part.lanes),
                                                part.pointer, align),
                           a.slot);
    if (part.lanes == a.lanes.count) return one;
    result = inserted(b_, result, one, part.first, part.lanes);
  }
  return result;
}

void FunctionEmitter::store_parts(const Access& a, Value* value) {
  const int size = size_in_bytes(a.slot.dtype);
  for (const Part& part : parts_of(a, at_once(a))) {
    const llvm::Align align(static_cast<std::uint64_t>(part.lanes * size));
    Value* one = part.lanes == a.lanes.count ? value : extracted(b_, value, part.first, part.lanes);
    annotated(b_.CreateAlignedStore(one, part.pointer, align), a.slot);
  }
}

// False where its pieces are not 4, 8 or 16 bytes: an ordinary copy has landed before anybody
// waits for it.
bool FunctionEmitter::copy_async(const ir::Store& s, const Access& to) {
  const auto& load = std::get<ir::Load>(s.value->op);
  const Access from = access(load.buffer, load.indices, load.lanes);
  const int lanes = std::min(at_once(from), at_once(to)),
            bytes = lanes * size_in_bytes(to.slot.dtype);
  const bool is_even = from.lanes.count == to.lanes.count && to.lanes.count % lanes == 0;
  if (bytes < 4 || !is_even || load.lanes.is_masked() || s.lanes.is_masked()) return false;
  Value* is_given = load.guard.empty() ? nullptr : holds(load.guard);
  const std::vector<Part> reads = parts_of(from, lanes), writes = parts_of(to, lanes);
  for (std::size_t i = 0; i < reads.size(); ++i)
    ops_->name_copy(*ops_->copy_async(b_, writes[i].pointer, reads[i].pointer, bytes, is_given),
                    statement_, s.buffer, load.buffer);
  return true;
}

Value* FunctionEmitter::load_elements(const Access& a) {
  const std::int64_t first = a.index.affine.constant();
  check_written(a);
  if (a.lanes.count == 1 || a.stride == 0)
    return widened(load_cell(a.slot, first, 1), a.lanes.count);
  Value* result = llvm::PoisonValue::get(arithmetic_.value_type(a.slot.dtype, a.lanes.count));
  for (int lane = 0; lane < a.lanes.count; ++lane)
    result = inserted(b_, result, load_cell(a.slot, first + lane * a.stride, 1), lane, 1);
  return result;
}

void FunctionEmitter::store_elements(const Access& a, Value* value) {
  note_written(a);
  for (int lane = 0; lane < a.lanes.count; ++lane)
    b_.CreateStore(a.lanes.count == 1 ? value : extracted(b_, value, lane, 1),
                   a.slot.cells.at({a.index.affine.constant() + lane * a.stride, 1}));
}

}  // namespace polyte::codegen
