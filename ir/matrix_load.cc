#include "ir/matrix_load.h"

#include "ir/intrinsics.h"

namespace polyte::ir {
namespace {

// The loop `for v in 0..extent`, or null.
const For* loop_of(const Stmt& s, std::int64_t extent) {
  const auto* loop = std::get_if<For>(&s->op);
  const bool is_plain = loop && loop->kind == LoopKind::Serial && loop->lower.size() == 1 &&
                        loop->upper.size() == 1 && loop->lower[0] == Affine(0) &&
                        loop->upper[0] == Affine(extent);
  return is_plain ? loop : nullptr;
}

}  // namespace

std::string matrix_load_name(int count, bool transposed) {
  return "ldmatrix_x" + std::to_string(count) + (transposed ? "_trans" : "");
}

std::optional<MatrixLoad> matrix_load_of(const Tensorized& tensorized) {
  MatrixLoad result;
  for (const int count : {2, 4})
    for (const bool transposed : {false, true})
      if (tensorized.intrinsic == matrix_load_name(count, transposed)) {
        result.count = count;
        result.transposed = transposed;
      }
  if (result.count == 0) return std::nullopt;
  // The nest has the shape that matrix_load.h shows: matrices, rows, elements, one store of one
  // load. The subscripts are not looked at here.
  const For* matrix = loop_of(tensorized.body, result.count);
  const For* row = matrix ? loop_of(matrix->body, kMatrixRows) : nullptr;
  if (!row) return std::nullopt;
  const auto* inner = std::get_if<For>(&row->body->op);
  result.store = inner ? std::get_if<Store>(&inner->body->op) : nullptr;
  result.load = result.store ? std::get_if<Load>(&result.store->value->op) : nullptr;
  if (!result.load ||
      !loop_of(row->body, kMatrixRowBytes / size_in_bytes(result.store->value->type)))
    return std::nullopt;
  // The instruction reads all 16 bytes of every row; it has no mask.
  if (!result.load->guard.empty()) return std::nullopt;
  result.matrix = matrix->var;
  result.row = row->var;
  result.element = inner->var;
  return result;
}

bool is_of_warp(const Tensorized& tensorized) {
  const Intrinsic* row = find_intrinsic(tensorized.intrinsic);
  return row ? is_of_warps(row->scope) : matrix_load_of(tensorized).has_value();
}

bool is_of_warp(const Stmt& s) {
  const auto* tensorized = std::get_if<Tensorized>(&s->op);
  return tensorized && is_of_warp(*tensorized);
}

}  // namespace polyte::ir
