#include "frontend/importers/table.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "support/error.h"

namespace polyte::frontend {

namespace {

bool before(const Row& a, const Row& b) {
  return a.op < b.op || (a.op == b.op && a.since < b.since);
}

// All rows, sorted by operator, then by since-version. Versions that only widened the types
// share a row.
const std::vector<Row>& table() {
  static const std::vector<Row> sorted = [] {
    std::vector<Row> rows;
    for (const Rows family :
         {elementwise_rows(), constants_rows(), movement_rows(), slicing_rows(), reductions_rows(),
          contractions_rows(), normalization_rows(), resize_rows(), indexing_rows(), losses_rows(),
          quantization_rows(), recurrent_rows(), grid_sample_rows(), control_flow_rows(),
          signal_rows()})
      rows.insert(rows.end(), family.begin(), family.end());
    std::ranges::sort(rows, before);
    const auto twice = std::ranges::adjacent_find(rows, std::not_fn(before));
    POLYTE_CHECK(twice == rows.end(), std::string(twice->op) + " has two rows of one opset");
    return rows;
  }();
  return sorted;
}

}  // namespace

const Row* find_row(std::string_view op, std::int64_t opset) {
  const Row* found = nullptr;
  for (const Row& row : table()) {
    // Rows of an operator are in order of `since`, so the last one that fits is the newest.
    if (row.op == op && row.since <= opset) found = &row;
  }
  return found;
}

OpKind kind_of(const NodeContext& context) {
  for (const graph::OpInfo& row : graph::all_operators()) {
    if (row.name == context.node().op_type()) return row.kind;
  }
  POLYTE_CHECK(false, "no operator of the graph is called " + context.node().op_type());
  return OpKind::Identity;
}

std::vector<OperatorSupport> supported_operators() {
  std::vector<OperatorSupport> rows;
  for (const Row& row : table()) {
    // Rows that differ only in their adapter are one line of `polyte ops`.
    const bool continues = !rows.empty() && rows.back().op == row.op;
    if (continues && rows.back().restrictions == row.restrictions) continue;
    if (continues) rows.back().until = row.since - 1;
    rows.push_back({std::string(row.op), row.since, kGreatestOpset, std::string(row.restrictions)});
  }
  return rows;
}

}  // namespace polyte::frontend
