#include "graph/passes/block_scans.h"

namespace polyte::graph {

namespace {

constexpr std::int64_t kRows = 64;           // side by side: chains of eight, for eight cores
constexpr std::int64_t kFewRows = 16;        // more are left alone
constexpr std::int64_t kWorthBlocks = 4096;  // elements of an axis
// Elements: rows that lie a multiple of this apart share one set of the cache, as 4 KiB of f32 are
// one way of a first-level cache of 64 sets of 64 bytes. One line less sends them to sets of their
// own.
constexpr std::int64_t kPage = 1024;
constexpr std::int64_t kLine = 16;

std::int64_t block_of(const TensorType& type, std::int64_t extent) {
  if (type.dtype == DType::F16 || type.dtype == DType::BF16 || extent < kWorthBlocks) return 0;
  const std::int64_t rows = element_count(type.shape) / extent;
  if (rows == 0 || rows >= kFewRows) return 0;
  const std::int64_t block = extent / (kRows / rows);
  return block % kPage == 0 ? block - kLine : block;
}

}  // namespace

PassResult block_scans(Graph& graph) {
  PassResult result;
  for (Node& node : graph.nodes) {
    auto* scan = std::get_if<CumSumAttributes>(&node.attributes);
    if (!scan || scan->block > 0) continue;
    const TensorType& type = graph.value(node.inputs[0]).type;
    scan->block = block_of(type, type.shape[static_cast<std::size_t>(scan->axis)]);
    if (scan->block > 0) ++result.rewrites;
  }
  return result;
}

}  // namespace polyte::graph
