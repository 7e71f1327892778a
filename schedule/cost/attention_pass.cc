#include "schedule/cost/attention_pass.h"

#include <algorithm>
#include <bit>

#include "schedule/cost/warp_product.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kFewestKeys = 16;    // that are worth a pass over tiles of them
constexpr std::int64_t kMostColumns = 128;  // whose sums fit the registers of a block
constexpr std::int64_t kBytes = 4;          // of a number of the threads' own units
constexpr std::int64_t kTensorBytes = 2;    // of one that tensor cores take
// Numbers behind rows in shared memory, for vectors without conflicts.
constexpr std::int64_t kPad = 4;

const std::string& written(const ir::Statement& s) { return s.writes[0].buffer; }

std::optional<Decline> why_no_f32(const ir::Program& program,
                                  const std::vector<std::string>& tensors) {
  for (const std::string& tensor : tensors)
    if (program.buffer(tensor).dtype != DType::F32) return Decline{tensor + " is not f32"};
  return std::nullopt;
}

std::optional<Decline> why_no_pass(const SoftmaxProduct& form, const AttentionSizes& sizes) {
  if (sizes.keys < kFewestKeys) return Decline{"keys are few"};
  if (std::max(sizes.columns, sizes.steps) > kMostColumns)
    return Decline{"rows of the operands are long"};
  if (!form.share && form.after.empty()) return Decline{"the sums themselves are a result"};
  return std::nullopt;
}

// The instruction of a warp that computes `sum` with these loops as its rows, columns and terms, 16
// x 8 x 16 at a time; null: there is none.
const ir::Intrinsic* instruction(const ir::Program& program, const ir::Statement& sum,
                                 const std::string& row, const std::string& lane,
                                 const std::string& step, const Machine& machine) {
  using Tile = WarpAttentionTile;
  for (const WarpProduct& each : warp_products(program, sum, machine, false))
    if (each.instruction->scope == ir::Scope::Warp && each.row.loop == row &&
        each.lane.loop == lane && each.step.loop == step && each.row.tile == Tile::kRows &&
        each.lane.tile == Tile::kColumns && each.step.tile == Tile::kSteps)
      return each.instruction;
  return nullptr;
}

}  // namespace

std::optional<Decline> why_not_by_threads(const ir::Program& program, const SoftmaxProduct& form,
                                          const AttentionSizes& sizes) {
  std::vector<std::string> tensors;
  for (const ir::Statement* s : form.all()) tensors.push_back(written(*s));
  for (const ir::Load* load : {form.queries, form.keys, form.values})
    tensors.push_back(load->buffer);
  if (auto declined = why_no_f32(program, tensors)) return declined;
  return why_no_pass(form, sizes);
}

Result<WarpAttention> find_warp_attention(const ir::Program& program, const SoftmaxProduct& form,
                                          const AttentionSizes& sizes, const Machine& machine) {
  // The first product leaves its sums in the registers of the warp, in the instruction's layout;
  // the softmax reads scores by rows from shared memory. A definition has to stand between to move
  // them.
  if (form.made_of_scores.empty())
    return Decline{"nothing is made of " + written(*form.scores) + " before its maximum"};
  std::vector<std::string> sums;
  for (const ir::Statement* s : {form.scores, form.maximum, form.total, form.product})
    sums.push_back(written(*s));
  if (form.share) sums.push_back(written(*form.weight));
  if (const auto declined = why_no_f32(program, sums)) return *declined;
  const WarpAttention found{
      instruction(program, *form.scores, form.row, form.key, form.step, machine),
      instruction(program, *form.product, form.row, form.column, form.key, machine),
      size_in_bytes(program.buffer(written(*form.made_of_scores.back())).dtype)};
  for (const auto& [sum, by] :
       {std::pair{form.scores, found.of_scores}, {form.product, found.of_product}})
    if (!by)
      return Decline{"no instruction of a warp computes " + sum->name +
                     " in tiles of 16 rows, 8 columns, 16 terms"};
  if (const auto declined = why_no_pass(form, sizes)) return *declined;
  if (sizes.steps % WarpAttentionTile::kSteps != 0)
    return Decline{"steps of a score are no multiple of 16"};
  if (sizes.columns % WarpAttentionTile::kColumns != 0)
    return Decline{"columns of the result are no multiple of 8"};
  // Copies take chunks of 16 bytes along the last dimension of each operand; along a batch a tile
  // has one element only.
  for (const ir::Load* load : {form.queries, form.keys, form.values})
    if (std::ranges::find(form.batch, *load->indices.back().affine.as_symbol()) != form.batch.end())
      return Decline{"rows of " + load->buffer + " lie along a batch, not in chunks of 16 bytes"};
  return found;
}

// Queries [step, row]; `depth` tiles of keys [step, key] and values [key, column]; weights
// [key, row]; the parts of maximum and total, one per lane and row; and of each row the maximum,
// the one before and the total.
std::int64_t AttentionTile::shared_bytes(const AttentionSizes& s) const {
  const std::int64_t column = rows + kPad;
  const std::int64_t tile = s.steps * (keys + 1) + keys * (s.columns + kPad);
  return kBytes * (s.steps * column + depth * tile + keys * column + 2 * lanes * column + 3 * rows);
}

// The same for warps, without parts (these stay in registers), but with the scores themselves in
// rows with a chunk of padding.
std::int64_t WarpAttentionTile::shared_bytes(const AttentionSizes& s,
                                             std::int64_t score_bytes) const {
  const std::int64_t operands =
      rows * (s.steps + kChunk) + depth * keys * (s.steps + s.columns + 2 * kChunk);
  return kTensorBytes * (operands + rows * keys) + score_bytes * rows * (keys + kChunk) +
         3 * kBytes * rows;
}

// An even number of chunks per row would begin every row in the same few banks: one more makes it
// odd. Swizzling does the same without room, where chunk numbers can be xor-ed (powers of two).
ChunkedRow chunked_row(std::int64_t row) {
  if (std::has_single_bit(static_cast<std::uint64_t>(row))) return {true, 0};
  return {false, row / WarpAttentionTile::kChunk % 2 == 0 ? WarpAttentionTile::kChunk : 0};
}

}  // namespace polyte::schedule
