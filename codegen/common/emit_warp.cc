// Instructions of all lanes of a warp, and the registers that they take their operands from:
// buffers of lanes, whose flat subscript is 32 * element + lane. Each lane keeps its own elements,
// as many to a register as 32 bits hold.
#include <algorithm>

#include "codegen/common/emitter.h"
#include "ir/matrix_load.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::codegen {

using Value = llvm::Value;

namespace {

// Elements of a type that share a register.
int together_of(DType type) { return 4 / std::min(4, size_in_bytes(type)); }

bool is_multiple(const ir::Affine& e, std::int64_t of) {
  return e.constant() % of == 0 && std::ranges::all_of(e.terms(), [&](const ir::Term& term) {
           return term.coefficient % of == 0;
         });
}

}  // namespace

void FunctionEmitter::bind_lane_registers(BufferSlot& slot, const ir::LoopBuffer& buffer) {
  slot.of_lanes = true;
  const int together = together_of(buffer.dtype);
  const std::int64_t registers = checked_product(buffer.shape) / ir::kLanes / together;
  llvm::Type* type = together > 1 ? b_.getInt32Ty() : arithmetic_.value_type(buffer.dtype, 1);
  if (buffer.memory != ir::Memory::Register) {
    slot.base = stack_memory(type, registers, 0, buffer.name);
    return;
  }
  for (std::int64_t i = 0; i < registers; ++i) {
    llvm::AllocaInst* cell = slot.cells[{i, 1}] = stack_memory(type, 1, 0, buffer.name);
    // Parts of it are written one by one.
    if (together > 1) b_.CreateStore(llvm::Constant::getNullValue(type), cell);
  }
}

// The register that holds an element of this lane.
Value* FunctionEmitter::lane_register(const BufferSlot& slot, const ir::Affine& element) {
  const ir::Affine number = ir::floor_div(element, together_of(slot.dtype));
  if (slot.base != nullptr) {
    llvm::Type* type =
        together_of(slot.dtype) > 1 ? b_.getInt32Ty() : arithmetic_.value_type(slot.dtype, 1);
    return b_.CreateGEP(type, slot.base, affine(number));
  }
  const auto cell =
      number.is_constant() ? slot.cells.find({number.constant(), 1}) : slot.cells.end();
  POLYTE_CHECK(cell != slot.cells.end(), "kernel '" + context_.kernel.program.name + "': element " +
                                             to_string(element) + " of '" + slot.name +
                                             "' is no register");
  return cell->second;
}

namespace {

// From a subscript, which element of a lane's it is: 32 * element + lane, where the lane has to be
// this one. What another lane has is out of reach for a plain access.
ir::Affine element_of(const ir::Affine& subscript, const std::string& lane,
                      const std::string& buffer) {
  const ir::Affine rest = subscript - ir::Affine::symbol(lane);
  POLYTE_CHECK(!lane.empty() && is_multiple(rest, ir::kLanes),
               "subscript " + to_string(subscript) + " of '" + buffer + "' is another lane's");
  return ir::floor_div(rest, ir::kLanes);
}

}  // namespace

Value* FunctionEmitter::load_lane_registers(const Access& a) {
  const ir::Affine first = element_of(a.index.affine, lane_variable_, a.slot.name);
  const std::int64_t stride = a.stride / ir::kLanes;
  const int together = together_of(a.slot.dtype), lanes = a.lanes.count;
  if (together > 1 && lanes == together && stride == 1 && is_multiple(first, together)) {
    Value* whole = b_.CreateLoad(b_.getInt32Ty(), lane_register(a.slot, first));
    return arithmetic_.from_memory(
        a.slot.dtype, b_.CreateBitCast(whole, arithmetic_.memory_type(a.slot.dtype, lanes)));
  }
  Value* result = nullptr;
  for (int lane = 0; lane < lanes; ++lane) {
    const ir::Affine element = first + lane * stride;
    Value* from = lane_register(a.slot, element);
    Value* one = nullptr;
    if (together == 1) {
      one = b_.CreateLoad(arithmetic_.value_type(a.slot.dtype, 1), from);
    } else {
      const std::int64_t part = floor_mod(element.constant(), together);
      POLYTE_CHECK(is_multiple(element - part, together),
                   "which half of a register is read is not known");
      Value* bits =
          b_.CreateLShr(b_.CreateLoad(b_.getInt32Ty(), from),
                        static_cast<std::uint64_t>(part * 8 * size_in_bytes(a.slot.dtype)));
      one = arithmetic_.from_memory(a.slot.dtype,
                                    b_.CreateTrunc(bits, arithmetic_.memory_type(a.slot.dtype, 1)));
    }
    if (lanes == 1) return one;
    if (result == nullptr)
      result = llvm::PoisonValue::get(
          llvm::FixedVectorType::get(one->getType(), static_cast<unsigned>(lanes)));
    result = b_.CreateInsertElement(result, one, static_cast<std::uint64_t>(lane));
  }
  return result;
}

// Elements that fill a register are stored as one; a part of one is merged into the 32 bits that
// are there.
void FunctionEmitter::store_lane_registers(const Access& a, Value* value) {
  const ir::Affine first = element_of(a.index.affine, lane_variable_, a.slot.name);
  const std::int64_t stride = a.stride / ir::kLanes;
  const int together = together_of(a.slot.dtype), lanes = a.lanes.count,
            bits = 8 * size_in_bytes(a.slot.dtype);
  Value* raw = together > 1 ? arithmetic_.to_memory(a.slot.dtype, value) : value;
  if (together > 1 && lanes == together && stride == 1 && is_multiple(first, together)) {
    b_.CreateStore(b_.CreateBitCast(raw, b_.getInt32Ty()), lane_register(a.slot, first));
    return;
  }
  for (int lane = 0; lane < lanes; ++lane) {
    const ir::Affine element = first + lane * stride;
    Value* to = lane_register(a.slot, element);
    Value* one = lanes == 1 ? raw : b_.CreateExtractElement(raw, static_cast<std::uint64_t>(lane));
    if (together > 1) {
      const std::int64_t part = floor_mod(element.constant(), together);
      POLYTE_CHECK(is_multiple(element - part, together),
                   "which half of a register is written is not known");
      const auto shift = static_cast<std::uint64_t>(part * bits);
      const std::uint32_t mask = ((1U << static_cast<unsigned>(bits)) - 1U) << shift;
      Value* kept = b_.CreateAnd(b_.CreateLoad(b_.getInt32Ty(), to), b_.getInt32(~mask));
      one = b_.CreateOr(kept, b_.CreateShl(b_.CreateZExt(one, b_.getInt32Ty()), shift));
    }
    b_.CreateStore(one, to);
  }
}

// Where this lane's registers of an operand are: lane 0's elements say which; that the last lane's
// are the same ones is checked.
std::vector<Value*> FunctionEmitter::fragment_registers(const ir::Intrinsic& row,
                                                        const ir::WarpMatch& match,
                                                        std::size_t operand) {
  const BufferSlot& slot = buffers_.at(match.operands[operand].buffer);
  POLYTE_CHECK(slot.of_lanes,
               "'" + slot.name + "', an operand of " + row.name + ", is not in registers of lanes");
  const ir::Fragment& fragment = row.fragments[operand];
  const std::vector<std::size_t> loops = ir::loops_of_operand(row, operand);
  const ir::Affine& subscript = match.operands[operand].indices->front().affine;
  const auto at = [&](std::int64_t lane, std::int64_t reg) {
    ir::Bindings point;
    for (std::size_t i = 0; i < loops.size(); ++i)
      point[match.loops[loops[i]]] = ir::subscript_of(fragment, static_cast<int>(i), lane, reg);
    return ir::substitute(subscript, point);
  };
  std::vector<Value*> places;
  for (std::int64_t reg = 0; reg < ir::registers_of(fragment); reg += together_of(slot.dtype)) {
    const ir::Affine first = at(0, reg);
    POLYTE_CHECK(
        is_multiple(first, ir::kLanes) && at(ir::kLanes - 1, reg) == first + (ir::kLanes - 1),
        "'" + slot.name + "' is not spread over lanes as " + row.name + " has it");
    places.push_back(lane_register(slot, ir::floor_div(first, ir::kLanes)));
  }
  return places;
}

void FunctionEmitter::emit_warp_instruction(const ir::Tensorized& tensorized) {
  POLYTE_CHECK(ops_ != nullptr && level_ == Level::Warp, "kernel '" + context_.kernel.program.name +
                                                             "': " + tensorized.intrinsic +
                                                             " where a warp is not whole");
  if (const auto matrices = ir::matrix_load_of(tensorized)) return emit_matrix_load(*matrices);
  const ir::Intrinsic& row = *ir::find_intrinsic(tensorized.intrinsic);
  const auto match = ir::match_warp(row, tensorized.body);
  POLYTE_CHECK(match, row.name + ": " + (match ? "" : match.error().difference));
  if (row.scope == ir::Scope::Warpgroup) return emit_warpgroup_instruction(row, *match);
  std::vector<std::vector<Value*>> operands, places;
  for (std::size_t n = 0; n < match->operands.size(); ++n) {
    places.push_back(fragment_registers(row, *match, n));
    operands.emplace_back();
    const DType dtype = row.program.buffers[n].dtype;
    const bool is_rounded = n + 1 != match->operands.size() && dtype == DType::F32,
               is_alone = together_of(dtype) == 1;
    for (Value* place : places.back()) {
      Value* value =
          b_.CreateLoad(is_alone ? arithmetic_.value_type(dtype, 1) : b_.getInt32Ty(), place);
      operands.back().push_back(is_rounded ? ops_->to_tf32(b_, value) : value);
    }
  }
  const std::vector<Value*> result = ops_->multiply(b_, row, operands[0], operands[1], operands[2]);
  for (std::size_t i = 0; i < result.size(); ++i) b_.CreateStore(result[i], places.back()[i]);
}

// ldmatrix takes from lane 8*i + r the address of row r of matrix i (PTX ISA, "ldmatrix"). With two
// matrices the addresses of lanes 16 to 31 are ignored; they repeat those of the first, so that
// they are addresses of the buffer all the same. Where the loops say that element (r, e) goes is
// compared with where the instruction puts it by the corners: lane 4 * 7 = 28 has the last row.
void FunctionEmitter::emit_matrix_load(const ir::MatrixLoad& matrices) {
  const ir::Store& store = *matrices.store;
  const ir::Load& from = *matrices.load;
  {
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);  // what lanes differ in is computed once
    b_.SetInsertPoint(levels_.front().marker);
    Value* matrix = b_.CreateAnd(b_.CreateLShr(thread_, 3),
                                 b_.getInt64(static_cast<std::uint64_t>(matrices.count - 1)));
    variables_[matrices.matrix] = {matrix, 0};
    variables_[matrices.row] = {b_.CreateAnd(thread_, b_.getInt64(7)), 0};
  }
  statement_ = ir::matrix_load_name(matrices.count, matrices.transposed);
  const std::vector<ir::Index> begin = {
      ir::substitute(from.indices.front().affine, {{matrices.element, 0}})};
  const ir::Lanes one;
  const Access row = access(from.buffer, begin, one);
  llvm::CallInst* call = nullptr;
  const std::vector<Value*> loaded =
      ops_->load_matrices(b_, first_address(row), matrices.count, matrices.transposed, call);
  annotate(call, row.slot);
  variables_.erase(matrices.matrix);
  variables_.erase(matrices.row);
  const BufferSlot& to = buffers_.at(store.buffer);
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    const auto at = [&](std::int64_t r, std::int64_t e) {
      return ir::substitute(store.indices.front().affine,
                            {{matrices.matrix, static_cast<std::int64_t>(i)},
                             {matrices.row, r},
                             {matrices.element, e}});
    };
    const ir::Affine first = at(0, 0);
    const bool is_placed =
        is_multiple(first, ir::kLanes) && (matrices.transposed ? at(0, 7) : at(7, 0)) == first + 28;
    POLYTE_CHECK(is_placed, "'" + to.name + "' is not filled as ldmatrix fills registers");
    llvm::Type* type =
        together_of(to.dtype) > 1 ? b_.getInt32Ty() : arithmetic_.value_type(to.dtype, 1);
    b_.CreateStore(b_.CreateBitCast(loaded[i], type),
                   lane_register(to, ir::floor_div(first, ir::kLanes)));
  }
}

}  // namespace polyte::codegen
