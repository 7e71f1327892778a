// One instruction of the catalogue for a whole point nest. Its operands are vectors of what the
// row's Program has in a row: read element after element, or one group of elements for all lanes.
#include "codegen/common/emitter.h"
#include "ir/matrix_load.h"
#include "support/checked.h"
#include "support/error.h"

#include <llvm/IR/Intrinsics.h>

namespace polyte::codegen {

using Value = llvm::Value;

namespace {

std::int64_t elements_of(const ir::Buffer& buffer) {
  return checked_product(ir::constant_shape(buffer));
}

// The elements that differ: the rest of the vector repeats them.
std::int64_t period_of(const ir::OperandTile& tile) {
  std::int64_t period = 1;
  for (const ir::OperandTile::Dimension& dimension : tile.dimensions)
    if (dimension.steps.front() != 0) period = checked_mul(period, dimension.extent);
  return period;
}

const ir::Lanes& one_after_the_other(ir::Lanes& lanes, std::int64_t count) {
  lanes.count = static_cast<int>(count);
  if (count > 1) lanes.strides = {1};
  return lanes;
}

}  // namespace

// Everything the operand holds, as one vector (a scalar where that is one element). A group that
// repeats is splat as one integer of its size: 4 bytes for all lanes of a vpdpbusd are a broadcast
// of 32 bits, which AVX-512 instructions can take from memory.
Value* FunctionEmitter::operand(const ir::OperandTile& tile, std::int64_t elements) {
  const std::int64_t period = period_of(tile);
  ir::Lanes lanes;
  Value* group = load(access(tile.buffer, tile.first, one_after_the_other(lanes, period)));
  if (period == elements) return group;
  if (period == 1) return arithmetic_.splat(group, static_cast<int>(elements));
  const auto bits = static_cast<unsigned>(8 * period * size_in_bytes(tile.dtype));
  Value* whole = b_.CreateBitCast(group, b_.getIntNTy(bits));
  Value* repeated = b_.CreateVectorSplat(static_cast<unsigned>(elements / period), whole);
  return b_.CreateBitCast(repeated, arithmetic_.value_type(tile.dtype, static_cast<int>(elements)));
}

namespace {

// The operands in the call's order, as the types that LLVM declares: the intrinsics of VNNI take
// vectors of i32 for what the row has as bytes.
Value* call(llvm::IRBuilder<>& b, const ir::Intrinsic& row, const std::map<char, Value*>& operands,
            llvm::Module& module) {
  const llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(row.call.llvm);
  POLYTE_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no '" + row.call.llvm + "'");
  std::vector<Value*> arguments;
  for (const char operand : row.call.arguments) arguments.push_back(operands.at(operand));
  std::vector<llvm::Type*> overloads;
  if (llvm::Intrinsic::isOverloaded(id)) overloads = {arguments.front()->getType()};
  llvm::Function* function = llvm::Intrinsic::getDeclaration(&module, id, overloads);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    arguments[i] = b.CreateBitCast(
        arguments[i], function->getFunctionType()->getParamType(static_cast<unsigned>(i)));
  return b.CreateCall(function, arguments);
}

}  // namespace

void FunctionEmitter::emit_tensorized(const ir::Tensorized& tensorized) {
  emitted_.clear();
  if (ir::is_of_warp(tensorized)) return emit_warp_instruction(tensorized);
  const ir::Intrinsic& row = *ir::find_intrinsic(tensorized.intrinsic);
  const std::string& kernel = context_.kernel.program.name;
  const auto one = [](const std::string&) { return std::vector<std::optional<std::int64_t>>{1}; };
  const auto tiles = ir::match(row, tensorized.body, one);
  POLYTE_CHECK(tiles, "kernel '" + kernel + "': " + row.name + ": " +
                          (tiles ? "" : tiles.error().difference));
  std::map<char, Value*> operands;
  for (std::size_t i = 0; i < tiles->size(); ++i) {
    const ir::Buffer& buffer = row.program.buffers[i];
    operands[buffer.name.front()] = operand((*tiles)[i], elements_of(buffer));
  }
  Value* before = operands.at('c');
  const DType type = row.program.buffers.back().dtype;
  Value* result = row.call.llvm == "llvm.fma"
                      ? arithmetic_.fma(type, operands.at('a'), operands.at('b'), before)
                      : call(b_, row, operands, context_.module);
  if (row.call.adds) result = b_.CreateAdd(before, b_.CreateBitCast(result, before->getType()));
  ir::Lanes lanes;
  const ir::OperandTile& c = tiles->back();
  store(access(c.buffer, c.first,
               one_after_the_other(lanes, elements_of(row.program.buffers.back()))),
        result);
}

}  // namespace polyte::codegen
