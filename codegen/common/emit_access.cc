// Loads and stores: contiguous, broadcast, strided or gathered lanes, masked or not; and register
// buffers, whose cells are SSA slots that mem2reg removes.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "codegen/common/emitter.h"
#include "support/error.h"

#include <llvm/IR/Intrinsics.h>

namespace polyte::codegen {

using Value = llvm::Value;

// Each access is in the scope of its buffer and not in those of the others (LLVM Language
// Reference, "noalias and alias.scope Metadata"): buffers never overlap, and LLVM may reorder
// accesses of different ones.
void FunctionEmitter::annotate(llvm::Instruction* instruction, const BufferSlot& slot) {
  if (slot.scope != nullptr) {
    instruction->setMetadata(llvm::LLVMContext::MD_alias_scope, slot.scope);
    instruction->setMetadata(llvm::LLVMContext::MD_noalias, slot.no_alias);
  }
  name_access(*instruction, slot);
}

void FunctionEmitter::name_access(llvm::Instruction& access, const BufferSlot& slot) {
  if (ops_ != nullptr) ops_->name_access(access, statement_, slot.name);
}

FunctionEmitter::Access FunctionEmitter::access(const std::string& buffer,
                                                const std::vector<ir::Index>& indices,
                                                const ir::Lanes& lanes) {
  const auto slot = buffers_.find(buffer);
  const std::string& kernel = context_.kernel.program.name;
  POLYTE_CHECK(slot != buffers_.end(), "kernel '" + kernel + "': unknown buffer '" + buffer + "'");
  POLYTE_CHECK(indices.size() == 1, "kernel '" + kernel + "': buffer '" + buffer + "' has " +
                                        std::to_string(indices.size()) +
                                        " subscripts, expected one (Flat form)");
  POLYTE_CHECK(slot->second.swizzle.none() || !lanes.is_masked(),
               "kernel '" + kernel + "': masked lanes of '" + buffer + "', which is swizzled");
  return {slot->second, indices.front(), lanes, lanes.strides.empty() ? 0 : lanes.strides.front()};
}

// ---- addresses

namespace {

bool varies_by_gather(const ir::Index& index) {
  return index.indirect != nullptr && index.indirect->lanes > 1;
}

}  // namespace

Value* FunctionEmitter::first_address(const Access& a) {
  if (!a.slot.swizzle.none()) return swizzled_address(a, 0);
  if (a.index.indirect == nullptr) return address(a.slot, a.index.affine);
  if (const auto open = by_level(a.index.indirect))
    return address(a.slot, plus(*open, by_level(a.index.affine)));
  Value* pointer = address(a.slot, a.index.affine);
  Value* offset = arithmetic_.cast(DType::I64, a.index.indirect->type, expr(a.index.indirect));
  return b_.CreateGEP(arithmetic_.memory_type(a.slot.dtype, 1), pointer, offset);
}

// For gathers and scatters: a vector of addresses, one per lane.
Value* FunctionEmitter::element_pointers(const Access& a) {
  Value* pointer = address(a.slot, a.index.affine);
  std::vector<llvm::Constant*> steps;
  for (int lane = 0; lane < a.lanes.count; ++lane) {
    steps.push_back(b_.getInt64(static_cast<std::uint64_t>(lane * a.stride)));
  }
  Value* offsets = llvm::ConstantVector::get(steps);
  if (a.index.indirect != nullptr) {
    Value* indirect = arithmetic_.cast(DType::I64, a.index.indirect->type, expr(a.index.indirect));
    offsets = b_.CreateAdd(offsets, widened(indirect, a.lanes.count));
  }
  return b_.CreateGEP(arithmetic_.memory_type(a.slot.dtype, 1), pointer, offsets);
}

// The address of each lane: without a gather, a constant offset from the first one.
std::vector<Value*> FunctionEmitter::each_pointer(const Access& a) {
  std::vector<Value*> pointers;
  if (!a.slot.swizzle.none()) {
    for (int lane = 0; lane < a.lanes.count; ++lane) pointers.push_back(swizzled_address(a, lane));
    return pointers;
  }
  const bool gather = varies_by_gather(a.index);
  Value* first = gather ? address(a.slot, a.index.affine) : first_address(a);
  Value* indirect =
      gather ? arithmetic_.cast(DType::I64, a.index.indirect->type, expr(a.index.indirect))
             : nullptr;
  llvm::Type* type = arithmetic_.memory_type(a.slot.dtype, 1);
  for (int lane = 0; lane < a.lanes.count; ++lane) {
    Value* pointer =
        b_.CreateGEP(type, first, b_.getInt64(static_cast<std::uint64_t>(lane * a.stride)));
    if (gather)
      pointer = b_.CreateGEP(type, pointer,
                             b_.CreateExtractElement(indirect, static_cast<std::uint64_t>(lane)));
    pointers.push_back(pointer);
  }
  return pointers;
}

// ---- loads

Value* FunctionEmitter::load(const Access& a) {
  if (a.slot.of_lanes) return load_lane_registers(a);
  if (!a.slot.cells.empty()) return load_cells(a);
  const int lanes = a.lanes.count;
  Value* active = mask(a.lanes);
  if (lanes > 1 && a.stride == 0 && !varies_by_gather(a.index)) {
    Value* scalar = load_lane_zero(a);
    Value* value = arithmetic_.splat(scalar, lanes);
    if (active == nullptr) return value;
    return b_.CreateSelect(active, value, llvm::Constant::getNullValue(value->getType()));
  }
  return arithmetic_.from_memory(a.slot.dtype, load_memory(a, active));
}

// One element for all lanes; read only where any lane is active.
Value* FunctionEmitter::load_lane_zero(const Access& a) {
  llvm::Type* type = arithmetic_.memory_type(a.slot.dtype, 1);
  const auto align = llvm::Align(static_cast<std::uint64_t>(size_in_bytes(a.slot.dtype)));
  if (!a.lanes.is_masked()) {
    Value* raw = annotated(b_.CreateAlignedLoad(type, first_address(a), align), a.slot);
    return arithmetic_.from_memory(a.slot.dtype, raw);
  }
  llvm::Type* vector = llvm::FixedVectorType::get(type, 1);
  const auto lanes = b_.getInt64(static_cast<std::uint64_t>(a.lanes.count));
  Value* begin = a.lanes.skipped ? affine(*a.lanes.skipped) : b_.getInt64(0);
  Value* end = a.lanes.active ? affine(*a.lanes.active) : lanes;
  if (a.lanes.skipped) {
    begin = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, begin, b_.getInt64(0));
    end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, lanes);
  }
  Value* any = b_.CreateICmpSGT(end, begin);
  Value* raw =
      annotated(b_.CreateMaskedLoad(vector, first_address(a), align, b_.CreateVectorSplat(1, any),
                                    llvm::Constant::getNullValue(vector)),
                a.slot);
  return arithmetic_.from_memory(a.slot.dtype, b_.CreateExtractElement(raw, std::uint64_t{0}));
}

// From the cheapest form to the most expensive: one contiguous vector (masked or not); a few of
// them and shuffles, where lanes are near each other; a masked gather; one load per lane.
Value* FunctionEmitter::load_memory(const Access& a, Value* active) {
  const int lanes = a.lanes.count;
  if (ops_ != nullptr && lanes > 1 && active == nullptr) return load_parts(a);
  llvm::Type* type = arithmetic_.memory_type(a.slot.dtype, lanes);
  const int element = size_in_bytes(a.slot.dtype);
  if (lanes == 1 || (a.stride == 1 && !varies_by_gather(a.index))) {
    const int known =
        a.index.indirect != nullptr ? element : known_alignment(a.slot, a.index.affine);
    const llvm::Align align(static_cast<std::uint64_t>(known));
    Value* pointer = first_address(a);
    if (active == nullptr) return annotated(b_.CreateAlignedLoad(type, pointer, align), a.slot);
    llvm::Type* vector =
        llvm::FixedVectorType::get(type->getScalarType(), static_cast<unsigned>(lanes));
    Value* which = lanes == 1 ? b_.CreateVectorSplat(1, active) : active;
    Value* read = annotated(
        b_.CreateMaskedLoad(vector, pointer, align, which, llvm::Constant::getNullValue(vector)),
        a.slot);
    return lanes == 1 ? b_.CreateExtractElement(read, std::uint64_t{0}) : read;
  }
  const llvm::Align align(static_cast<std::uint64_t>(element));
  if (!varies_by_gather(a.index) && std::abs(a.stride) <= 4 &&
      (active == nullptr ? lanes >= 4 : spans_vectors(a)))
    return load_near_lanes(a, active);
  if (active != nullptr) {
    Value* zeros = llvm::Constant::getNullValue(type);
    return annotated(b_.CreateMaskedGather(type, element_pointers(a), align, active, zeros),
                     a.slot);
  }
  const auto pointers = each_pointer(a);
  Value* result = llvm::PoisonValue::get(type);
  for (int lane = 0; lane < lanes; ++lane) {
    Value* pointer = pointers[static_cast<std::size_t>(lane)];
    Value* one = annotated(b_.CreateAlignedLoad(type->getScalarType(), pointer, align), a.slot);
    result = b_.CreateInsertElement(result, one, static_cast<std::uint64_t>(lane));
  }
  return result;
}

int known_active(const ir::Lanes& lanes) {
  if (lanes.skipped || (lanes.active && !lanes.active->is_constant())) return 0;
  return lanes.active
             ? static_cast<int>(std::min<std::int64_t>(lanes.active->constant(), lanes.count))
             : lanes.count;
}

// Whether masked lanes that stride are loaded as masked vectors: the processor has these, or whole
// vectors lie between the first active lane and the last.
bool FunctionEmitter::spans_vectors(const Access& a) const {
  const std::int64_t span = (known_active(a.lanes) - 1) * std::abs(a.stride) + 1;
  const bool has_masks = context_.machine.vector_bits >= 256 && size_in_bytes(a.slot.dtype) >= 4;
  return a.slot.swizzle.none() && a.index.indirect == nullptr && a.lanes.count >= 4 &&
         (span >= a.lanes.count || has_masks);
}

// Lanes up to 4 elements apart (or reversed): vectors that together span them, and shuffles.
// Nothing outside the span is read: the last vector ends with it. Masked lanes span less: vectors
// are as much shorter, or masked where that is known at run time.
Value* FunctionEmitter::load_near_lanes(const Access& a, Value* active) {
  const int lanes = a.lanes.count;
  const std::int64_t step = std::abs(a.stride);
  int count = known_active(a.lanes);
  const bool is_masked = (count - 1) * step + 1 < lanes;
  if (is_masked) count = lanes;
  const std::int64_t span = (count - 1) * step + 1;
  llvm::Type* element = arithmetic_.memory_type(a.slot.dtype, 1);
  llvm::Type* type = arithmetic_.memory_type(a.slot.dtype, lanes);
  const std::int64_t lowest = a.stride < 0 ? 1 - span : 0;
  Value* first = first_address(a);
  Value* result = nullptr;
  for (std::int64_t begin = 0, done = 0; done < span; begin += lanes) {
    const std::int64_t start = std::min(begin, span - lanes);
    Value* pointer =
        b_.CreateGEP(element, first, b_.getInt64(static_cast<std::uint64_t>(lowest + start)));
    Value* part = load_part(a, pointer, is_masked ? part_mask(a, start) : nullptr);
    std::vector<int> from;  // of `result`, then of `part`
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t position = a.stride < 0 ? (count - 1 - lane) * step : lane * step;
      const bool here = position >= done && position < start + lanes;
      from.push_back(here              ? static_cast<int>(lanes + position - start)
                     : position < done ? lane
                                       : -1);
    }
    result = b_.CreateShuffleVector(result == nullptr ? llvm::PoisonValue::get(type) : result, part,
                                    from);
    done = start + lanes;
  }
  if (active == nullptr || is_masked) return result;
  return b_.CreateSelect(active, result, llvm::Constant::getNullValue(type));
}

Value* FunctionEmitter::load_part(const Access& a, Value* pointer, Value* which) {
  llvm::Type* type = arithmetic_.memory_type(a.slot.dtype, a.lanes.count);
  const llvm::Align align(static_cast<std::uint64_t>(size_in_bytes(a.slot.dtype)));
  if (which == nullptr) return annotated(b_.CreateAlignedLoad(type, pointer, align), a.slot);
  return annotated(
      b_.CreateMaskedLoad(type, pointer, align, which, llvm::Constant::getNullValue(type)), a.slot);
}

// The mask of the vector that begins `start` elements behind the lowest lane: on between the active
// lanes at the ends, whatever lies between two of them.
Value* FunctionEmitter::part_mask(const Access& a, std::int64_t start) {
  const int lanes = a.lanes.count;
  const std::int64_t step = std::abs(a.stride);
  const auto number_at = [&](const ir::Affine& lane) {  // of elements before the lane
    return (a.stride < 0 ? lanes - 1 - lane : lane) * step - start;
  };
  ir::Lanes part{lanes, {1}, std::nullopt};
  std::optional<ir::Affine>&first = a.stride < 0 ? part.active : part.skipped,
  &last = a.stride < 0 ? part.skipped : part.active;
  const std::int64_t behind = a.stride < 0 ? 0 : 1;
  if (a.lanes.skipped) first = number_at(*a.lanes.skipped) + (1 - behind);
  if (a.lanes.active) last = number_at(*a.lanes.active - 1) + behind;
  return mask(part);
}

// ---- stores

void FunctionEmitter::store(const Access& a, Value* value) {
  if (a.slot.of_lanes) return store_lane_registers(a, value);
  if (!a.slot.cells.empty()) return store_cells(a, value);
  Value* active = mask(a.lanes);
  store_memory(a, arithmetic_.to_memory(a.slot.dtype, value), active);
}

// The forms of `load_memory`, but for near lanes: a store may not touch what lies between.
void FunctionEmitter::store_memory(const Access& a, Value* value, Value* active) {
  const int lanes = a.lanes.count;
  if (ops_ != nullptr && lanes > 1 && active == nullptr) return store_parts(a, value);
  const int element = size_in_bytes(a.slot.dtype);
  if (lanes == 1 || (a.stride == 1 && !varies_by_gather(a.index))) {
    const int known =
        a.index.indirect != nullptr ? element : known_alignment(a.slot, a.index.affine);
    const llvm::Align align(static_cast<std::uint64_t>(known));
    Value* pointer = first_address(a);
    if (active == nullptr) {
      if (stream_where_aligned(a, value, pointer)) return;
      stream(annotated(b_.CreateAlignedStore(value, pointer, align), a.slot), a);
    } else if (stores_in_pieces(a)) {
      store_pieces(a, value, pointer);
    } else {
      Value* which = lanes == 1 ? b_.CreateVectorSplat(1, active) : active;
      Value* data = lanes == 1 ? b_.CreateVectorSplat(1, value) : value;
      annotated(b_.CreateMaskedStore(data, pointer, align, which), a.slot);
    }
    return;
  }
  if (a.stride == -1 && a.slot.swizzle.none() && !varies_by_gather(a.index))
    return store_reversed(a, value, active);
  const llvm::Align align(static_cast<std::uint64_t>(element));
  if (active != nullptr) {
    annotated(b_.CreateMaskedScatter(value, element_pointers(a), align, active), a.slot);
    return;
  }
  const auto pointers = each_pointer(a);
  for (int lane = 0; lane < lanes; ++lane) {
    Value* pointer = pointers[static_cast<std::size_t>(lane)];
    Value* one = b_.CreateExtractElement(value, static_cast<std::uint64_t>(lane));
    annotated(b_.CreateAlignedStore(one, pointer, align), a.slot);
  }
}

// Lanes side by side in descending order: reversed and stored as one vector, so that a load of the
// same lanes is served by this store.
void FunctionEmitter::store_reversed(const Access& a, Value* value, Value* active) {
  const int lanes = a.lanes.count;
  const llvm::Align align(static_cast<std::uint64_t>(size_in_bytes(a.slot.dtype)));
  const auto lowest = b_.getInt64(static_cast<std::uint64_t>(std::int64_t{1} - lanes));
  Value* pointer = b_.CreateGEP(arithmetic_.memory_type(a.slot.dtype, 1), first_address(a), lowest);
  Value* reversed = b_.CreateVectorReverse(value);
  if (active == nullptr)
    annotated(b_.CreateAlignedStore(reversed, pointer, align), a.slot);
  else
    annotated(b_.CreateMaskedStore(reversed, pointer, align, part_mask(a, 0)), a.slot);
}

namespace {

bool is_vector(const ir::Lanes& lanes) {
  return lanes.count > 1 && (lanes.count & (lanes.count - 1)) == 0;
}

}  // namespace

// Whole vectors of the machine at addresses that are multiples of their size; others are ordinary
// stores. So are the shorter ones at a row's end, aligned or not: both kinds in one line are
// slower than either.
void FunctionEmitter::stream(llvm::StoreInst* store, const Access& a) {
  if (a.stream == nullptr) return;
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(a.lanes.count) * size_in_bytes(a.slot.dtype);
  std::string& why_not =
      context_.streams.try_emplace(*a.stream, "its elements are stored one by one").first->second;
  if (!is_vector(a.lanes) || 8 * bytes < static_cast<std::uint64_t>(context_.machine.vector_bits))
    return;
  if (store->getAlign().value() < std::min<std::uint64_t>(bytes, 64)) {
    if (!why_not.empty()) why_not = "its vectors are not known to be aligned";
    return;
  }
  why_not.clear();
  auto* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(b_.getContext(), one));
}

void FunctionEmitter::stream_fence() {
  if (context_.has_streams) context_.instructions.fence_streams(b_);
}

// A caller's buffer may begin anywhere: if (base % 64 == 0) a store past the caches, else an
// ordinary one. Only where the place in the buffer is a multiple of the vector.
bool FunctionEmitter::stream_where_aligned(const Access& a, Value* value, Value* pointer) {
  const int bytes = a.lanes.count * size_in_bytes(a.slot.dtype), needed = std::min(bytes, 64);
  if (a.stream == nullptr || !is_vector(a.lanes) || a.index.indirect != nullptr ||
      a.slot.alignment >= needed)
    return false;
  BufferSlot aligned = a.slot;
  aligned.alignment = 64;
  if (known_alignment(aligned, a.index.affine) < needed) return false;
  Value* low = b_.CreateAnd(b_.CreatePtrToInt(a.slot.base, b_.getInt64Ty()), b_.getInt64(63));
  llvm::BasicBlock* past = llvm::BasicBlock::Create(b_.getContext(), "past_caches", function_);
  llvm::BasicBlock* through =
      llvm::BasicBlock::Create(b_.getContext(), "through_caches", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(b_.getContext(), "stored");
  b_.CreateCondBr(b_.CreateICmpEQ(low, b_.getInt64(0)), past, through);
  b_.SetInsertPoint(past);
  stream(annotated(
             b_.CreateAlignedStore(value, pointer, llvm::Align(static_cast<std::uint64_t>(needed))),
             a.slot),
         a);
  b_.CreateBr(after);
  b_.SetInsertPoint(through);
  const llvm::Align own(static_cast<std::uint64_t>(known_alignment(a.slot, a.index.affine)));
  annotated(b_.CreateAlignedStore(value, pointer, own), a.slot);
  b_.CreateBr(after);
  start(after);
  return true;
}

// The address may lie outside the buffer: it is computed without a promise (a GEP that is not
// `inbounds`), and a prefetch never faults. LLVM's locality 3 is level 1, the nearest; 1 is level
// 3.
void FunctionEmitter::emit_prefetch(const ir::Prefetch& prefetch) {
  const Access a = access(prefetch.buffer, prefetch.indices, {});
  if (!a.slot.cells.empty()) return;
  Value* pointer = first_address(a);
  const std::uint32_t locality = static_cast<std::uint32_t>(4 - prefetch.level);
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                     {pointer, b_.getInt32(0), b_.getInt32(locality), b_.getInt32(1)});
}

// ---- register buffers: the cell is found by its first element; a load may take part of its lanes

Value* FunctionEmitter::load_cell(const BufferSlot& slot, std::int64_t first, int lanes) {
  const auto found = std::prev(slot.cells.upper_bound({first, std::numeric_limits<int>::max()}));
  Value* value = b_.CreateLoad(found->second->getAllocatedType(), found->second);
  const auto& [begin, whole] = found->first;
  if (whole == lanes) return value;
  if (lanes == 1) return b_.CreateExtractElement(value, static_cast<std::uint64_t>(first - begin));
  std::vector<int> from;
  for (int lane = 0; lane < lanes; ++lane) from.push_back(static_cast<int>(first - begin) + lane);
  return b_.CreateShuffleVector(value, from);
}

Value* FunctionEmitter::load_cells(const Access& a) {
  const int lanes = a.lanes.count;
  if (ops_ != nullptr) return load_elements(a);
  Value* value =
      widened(load_cell(a.slot, a.index.affine.constant(), a.stride == 0 ? 1 : lanes), lanes);
  Value* active = mask(a.lanes);
  if (active == nullptr) return value;
  return b_.CreateSelect(active, value, llvm::Constant::getNullValue(value->getType()));
}

// SSA has no partial writes: a masked store to a cell is a select between the new value and the
// old.
void FunctionEmitter::store_cells(const Access& a, Value* value) {
  if (ops_ != nullptr) return store_elements(a, value);
  llvm::AllocaInst* cell = a.slot.cells.at({a.index.affine.constant(), a.lanes.count});
  Value* active = mask(a.lanes);
  if (active != nullptr) {
    value = b_.CreateSelect(active, value, b_.CreateLoad(cell->getAllocatedType(), cell));
  }
  b_.CreateStore(value, cell);
}

}  // namespace polyte::codegen
