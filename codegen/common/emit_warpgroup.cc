// Instructions of a warpgroup, whose operands lie in shared memory: descriptors of them, and the
// groups that they are awaited by. Each warp of the group brings the same descriptors, those of the
// group's first one.
#include <algorithm>

#include "codegen/common/emitter.h"
#include "ir/shared_matrix.h"
#include "support/error.h"

namespace polyte::codegen {

using Value = llvm::Value;

namespace {

// Of what a descriptor holds, the lowest 4 bits are left out.
constexpr std::uint64_t kAddressMask = 0x3ffff;

}  // namespace

// The address is computed for the group's first warp, whose number is a multiple of 4: for the time
// of that the variable of the loop of warps stands for it.
Value* FunctionEmitter::matrix_descriptor(const ir::Intrinsic& row, const ir::WarpMatch& match,
                                          std::size_t operand, bool& across) {
  const BufferSlot& slot = buffers_.at(match.operands[operand].buffer);
  const ir::Affine& subscript = match.operands[operand].indices->front().affine;
  const std::vector<std::size_t> loops = ir::loops_of_operand(row, operand);
  const std::size_t sum = operand == 0 ? 1 : 0;  // a[i, k], b[k, j]
  const auto at = [&](std::int64_t i, std::int64_t k) {
    return ir::substitute(subscript,
                          {{match.loops[loops[1 - sum]], i}, {match.loops[loops[sum]], k}});
  };
  const ir::Affine first = at(0, 0);
  const std::int64_t bytes = size_in_bytes(slot.dtype);
  const auto matrix = ir::shared_matrix(match.extents[loops[1 - sum]], match.extents[loops[sum]],
                                        bytes, [&](std::int64_t i, std::int64_t k) {
                                          const ir::Affine distance = at(i, k) - first;
                                          return distance.is_constant() ? distance.constant() : -1;
                                        });
  POLYTE_CHECK(matrix && slot.swizzle == ir::matrix_swizzle(bytes),
               "'" + slot.name + "' does not lie in shared memory as " + row.name + " has it");
  across = matrix->across;
  const Variable own = variables_.at(warp_variable_);
  {
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(levels_[static_cast<std::size_t>(own.level)].marker);
    Value* group =
        b_.CreateAnd(own.value, b_.getInt64(~static_cast<std::uint64_t>(ir::kWarpsOfGroup - 1)));
    variables_[warp_variable_].value = group;
  }
  Value* begin = ops_->shared_address(b_, address(slot, first));
  variables_[warp_variable_] = own;
  Value* bits = b_.CreateLShr(
      b_.CreateAnd(b_.CreateZExt(begin, b_.getInt64Ty()), b_.getInt64(kAddressMask)), 4);
  return b_.CreateOr(bits, b_.getInt64(ir::descriptor_bits(*matrix)));
}

void FunctionEmitter::emit_warpgroup_instruction(const ir::Intrinsic& row,
                                                 const ir::WarpMatch& match) {
  std::array<bool, 2> across{};
  std::array<Value*, 2> operands{};
  for (std::size_t n = 0; n < 2; ++n) operands[n] = matrix_descriptor(row, match, n, across[n]);
  const std::vector<Value*> places = fragment_registers(row, match, 2);
  std::vector<Value*> sums;
  llvm::Type* type = arithmetic_.value_type(row.program.buffers[2].dtype, 1);
  for (Value* place : places) sums.push_back(b_.CreateLoad(type, place));
  const std::vector<Value*> result = ops_->multiply_shared(b_, row, operands, across, sums);
  for (std::size_t i = 0; i < result.size(); ++i) b_.CreateStore(result[i], places[i]);
}

// The registers of the products that stand beside it.
void FunctionEmitter::emit_product_group(const ir::ProductGroup& group) {
  POLYTE_CHECK(ops_ != nullptr && level_ == Level::Warp,
               "products are awaited where a warp is not whole");
  std::vector<Value*> values;
  for (const auto& [place, type] : product_registers_) values.push_back(b_.CreateLoad(type, place));
  const std::vector<Value*> after = ops_->product_group(b_, group, values);
  for (std::size_t i = 0; i < after.size(); ++i)
    b_.CreateStore(after[i], product_registers_[i].first);
}

void FunctionEmitter::find_product_registers(const ir::Block& block) {
  std::vector<std::pair<Value*, llvm::Type*>> found;
  for (const ir::Stmt& s : block.body) {
    const auto* tensorized = std::get_if<ir::Tensorized>(&s->op);
    const ir::Intrinsic* row = tensorized ? ir::find_intrinsic(tensorized->intrinsic) : nullptr;
    if (row == nullptr || row->scope != ir::Scope::Warpgroup) continue;
    const auto match = ir::match_warp(*row, tensorized->body);
    POLYTE_CHECK(match, row->name + ": " + (match ? "" : match.error().difference));
    for (Value* place : fragment_registers(*row, *match, 2)) {
      const std::pair entry{place, arithmetic_.value_type(row->program.buffers[2].dtype, 1)};
      if (std::ranges::find(found, entry) == found.end()) found.push_back(entry);
    }
  }
  if (!found.empty()) product_registers_ = std::move(found);
}

}  // namespace polyte::codegen
