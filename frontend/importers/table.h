// The importer's table: which adapter imports an operator from which opset on. A family of
// operators is a file with its adapters and their rows.
//
//    {"Clip", 6, import_clip_6},       opsets 6 to 10: bounds are attributes
//    {"Clip", 11, import_clip_11},     from 11 on: bounds are inputs
#pragma once

#include <span>
#include <string_view>

#include "frontend/importers/context.h"

namespace polyte::frontend {

using Adapter = void (*)(NodeContext& context);

struct Row {
  std::string_view op;
  int since;  // the first opset with this meaning; the row with the greatest since <= opset counts
  Adapter adapter;
  std::string_view restrictions = {};  // for `polyte ops`
};

// Of what decides a shape, or takes part in training only.
inline constexpr std::string_view kConstant =
    "what decides the shape is a constant or given with --value";
inline constexpr std::string_view kInference = "inference only";

// nullptr where the operator is not there, or not yet at this opset.
const Row* find_row(std::string_view op, std::int64_t opset);

// Rows of one family each, at the end of the file of that name; an operator's rows are in
// the order of `since`.
using Rows = std::span<const Row>;
Rows elementwise_rows();
Rows constants_rows();
Rows movement_rows();
Rows slicing_rows();
Rows reductions_rows();
Rows contractions_rows();
Rows normalization_rows();
Rows resize_rows();
Rows indexing_rows();
Rows losses_rows();
Rows quantization_rows();
Rows recurrent_rows();
Rows grid_sample_rows();
Rows control_flow_rows();
Rows signal_rows();

// The graph's operator of the same name; InternalError if there is none.
OpKind kind_of(const NodeContext& context);

}  // namespace polyte::frontend
